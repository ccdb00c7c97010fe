package backbone

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/engine"
)

// Names of options in a specification.
const (
	optTrunkEnd = "trunk-end"
	optPixels   = "pixels"
	optMomentum = "bn-momentum"
	optCountPad = "count-pad"

	optEps        = "eps"
	optGELU       = "gelu"
	optPositions  = "positions"
	optGrid       = "grid"
	optProjection = "proj"
)

// options are the parsed ones. Zero values stand for defaults.
type options struct {
	trunkEnd string
	pixels   string
	momentum float32
	realOnly bool // average pools leave padding out of the mean
	vit      vitOptions
}

// parseOptions reads "name=value,name=value". Every backbone has pixels.
func parseOptions(text string, allowed []string) (options, error) {
	var o options
	if text == "" {
		return o, nil
	}
	allowed = append([]string{optPixels}, allowed...)
	seen := map[string]bool{}
	for _, part := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return o, fmt.Errorf("option %q is not name=value", part)
		}
		if !slices.Contains(allowed, key) {
			return o, fmt.Errorf("unknown option %q (there is: %s)", key, strings.Join(allowed, ", "))
		}
		if seen[key] {
			return o, fmt.Errorf("option %s is given twice", key)
		}
		seen[key] = true
		if err := o.set(key, value); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *options) set(key, value string) error {
	switch key {
	case optTrunkEnd:
		o.trunkEnd = value
	case optPixels:
		if _, ok := pixelRange(value); !ok {
			return fmt.Errorf("%s=%s (there is: %s)", key, value, strings.Join(PixelRanges(), ", "))
		}
		o.pixels = value
	case optMomentum:
		m, err := strconv.ParseFloat(value, 32)
		if err != nil || !(m > 0 && m <= 1) {
			return fmt.Errorf("%s=%s is not a share above 0 and at most 1", key, value)
		}
		o.momentum = float32(m)
	case optCountPad:
		count, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s=%s is neither true nor false", key, value)
		}
		o.realOnly = !count
	default:
		return o.vit.set(key, value)
	}
	return nil
}

// geluForms are the values of the option gelu.
func geluForms() map[string]engine.GELUForm {
	return map[string]engine.GELUForm{"erf": engine.GELUErf, "tanh": engine.GELUTanh, "quick": engine.GELUQuick}
}

func (o *vitOptions) set(key, value string) error {
	switch key {
	case optEps:
		eps, err := strconv.ParseFloat(value, 32)
		if err != nil || !(eps > 0 && eps < 1) {
			return fmt.Errorf("%s=%s is not a number above 0 and below 1", key, value)
		}
		o.eps = float32(eps)
	case optGELU:
		form, ok := geluForms()[value]
		if !ok {
			return fmt.Errorf("%s=%s (there is: %s)", key, value, strings.Join(slices.Sorted(maps.Keys(geluForms())), ", "))
		}
		o.gelu = &form
	case optPositions:
		o.positions = Positions(value)
		return o.positions.check()
	case optGrid:
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > maxGrid {
			return fmt.Errorf("%s=%s is not a side of the table of positions from 1 to %d, or 0 for that of the pictures", key, value, maxGrid)
		}
		o.grid = &n
	case optProjection:
		with, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s=%s is neither true nor false", key, value)
		}
		o.noProjection = !with
	}
	return nil
}

// maxGrid is the largest side of a table of positions: one of 16 pixels a patch has it at
// the largest pictures, of 4096.
const maxGrid = 256

// WithOption returns a specification with one more option.
func WithOption(spec, name, value string) string {
	separator := ":"
	if strings.Contains(spec, ":") {
		separator = ","
	}
	return spec + separator + name + "=" + value
}

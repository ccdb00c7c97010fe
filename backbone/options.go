package backbone

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Names of options in a specification.
const (
	optTrunkEnd = "trunk-end"
	optPixels   = "pixels"
	optMomentum = "bn-momentum"
	optCountPad = "count-pad"
)

// options are the parsed ones. Zero values stand for defaults.
type options struct {
	trunkEnd string
	pixels   string
	momentum float32
	realOnly bool // average pools leave padding out of the mean
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
	}
	return nil
}

// WithOption returns a specification with one more option.
func WithOption(spec, name, value string) string {
	separator := ":"
	if strings.Contains(spec, ":") {
		separator = ","
	}
	return spec + separator + name + "=" + value
}

package losses

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/metric"
)

// setting describes one named parameter of a loss for one metric.
type setting struct {
	name, meaning string
	kind          settingKind
	standard      float64 // default, of a choice its index
	interval
	choices []string
}

type settingKind uint8

const (
	real   settingKind = iota
	count              // a whole number
	level              // a position on the scale of the loss's values
	gap                // a difference of two such positions
	choice             // one of several words
	toggle             // yes or no
)

// yardstick converts margins that are given in units of the metric.
type yardstick struct {
	metric metric.Metric
	c      float64
	view   View
}

// at returns the loss's value for unit vectors that are chord apart.
func (y yardstick) at(chord float64) float64 {
	x := y.view.Value(y.metric.SphereValue(chord, y.c))
	if math.Abs(x) < 1e-12 {
		return 0 // the root of 2, squared, is not 2
	}
	return x
}

// ends returns the metric's values at distance 0, at D0 and at the bound, which
// for a cosine is that of opposite vectors.
func (y yardstick) ends() (zero, unrelated, bound float64) {
	zero, unrelated, bound = y.metric.SphereValue(0, y.c), y.metric.UnrelatedValue(y.c), y.metric.Bound()
	if y.metric.Similarity() {
		bound = y.metric.SphereValue(2, y.c)
	}
	return zero, unrelated, bound
}

// span returns the smallest and the largest value that the loss can see; a dot
// product of embeddings of any length is unbounded.
func (y yardstick) span() (low, high float64) {
	if y.metric.Kind == metric.Dot {
		if y.view.active && !y.view.similarity {
			return 0, math.Inf(1)
		}
		return math.Inf(-1), math.Inf(1)
	}
	zero, _, bound := y.ends()
	low, high = y.view.Value(zero), y.view.Value(bound)
	return min(low, high), max(low, high)
}

// parse reads a margin: a number in the loss's own unit, or a number followed
// by B (the metric's bound), D0 (its value between unrelated embeddings) or
// sphere (a distance between unit vectors, carried over to the metric).
func (y yardstick) parse(text string, kind settingKind) (float64, error) {
	number, unit := text, ""
	for _, suffix := range []string{"sphere", "D0", "B"} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = strings.TrimSpace(rest), suffix
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || x-x != 0 {
		return 0, fmt.Errorf("%q is no margin: want a number such as 0.3, or one in units of the metric such as 0.4B, 0.5D0 or 0.7sphere", text)
	}
	zero, unrelated, bound := y.ends()
	var value float64
	switch unit {
	case "":
		return x, nil
	case "B":
		if math.IsInf(bound, 0) {
			return 0, fmt.Errorf("%q: %v has no bound B; use D0 or a number", text, y.metric)
		}
		value = zero + x*(bound-zero)
	case "D0":
		value = zero + x*(unrelated-zero)
	case "sphere":
		if x < 0 || x > 2 {
			return 0, fmt.Errorf("%q: unit vectors are between 0 and 2 apart", text)
		}
		value = y.metric.SphereValue(x, y.c)
	}
	if kind == gap {
		return math.Abs(y.view.Value(value) - y.view.Value(zero)), nil
	}
	return y.view.Value(value), nil
}

// format writes a number by its first four digits, a whole one by all.
func format(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// defaultText is the default as a user would write it.
func (s setting) defaultText() string {
	switch s.kind {
	case choice:
		return s.choices[int(s.standard)]
	case toggle:
		return strconv.FormatBool(s.standard != 0)
	}
	return format(s.standard)
}

// rangeText says which values are allowed.
func (s setting) rangeText() string {
	switch s.kind {
	case choice:
		return strings.Join(s.choices, " | ")
	case toggle:
		return "true | false"
	}
	return s.text(s.name)
}

// read turns text into a number, for a choice into its index.
func (s setting) read(text string, y yardstick) (float64, error) {
	switch s.kind {
	case choice:
		if i := slices.Index(s.choices, text); i >= 0 {
			return float64(i), nil
		}
		return 0, fmt.Errorf("%q, want %s", text, s.rangeText())
	case toggle:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return 0, fmt.Errorf("%q, want true or false", text)
		}
		if b {
			return 1, nil
		}
		return 0, nil
	case level, gap:
		x, err := y.parse(text, s.kind)
		if err != nil {
			return 0, err
		}
		return x, s.inside(x)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x-x != 0 {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if s.kind == count && x != math.Trunc(x) {
		return 0, fmt.Errorf("%s, want a whole number", text)
	}
	return x, s.inside(x)
}

func (s setting) inside(x float64) error {
	if s.holds(x) {
		return nil
	}
	return fmt.Errorf("%s, want %s", format(x), s.rangeText())
}

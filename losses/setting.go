package losses

import (
	"fmt"
	"maps"
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

// interval is where a number may lie.
type interval struct {
	low, high float64
	openLow   bool // low itself is refused
	openHigh  bool
}

// holds reports whether x lies in the interval; NaN and infinity lie in
// none.
func (i interval) holds(x float64) bool {
	if math.IsInf(x, 0) {
		return false
	}
	return (x > i.low || x == i.low && !i.openLow) && (x < i.high || x == i.high && !i.openHigh)
}

// text says which values of the named number lie in the interval.
func (i interval) text(name string) string {
	low, high := "", ""
	if !math.IsInf(i.low, -1) {
		low = format(i.low) + " <= "
		if i.openLow {
			low = format(i.low) + " < "
		}
	}
	if !math.IsInf(i.high, 1) {
		high = " <= " + format(i.high)
		if i.openHigh {
			high = " < " + format(i.high)
		}
	}
	if low == "" && high == "" {
		return "any number"
	}
	return low + name + high
}

// positive is a number above 0 of any size.
func positive(name, meaning string, standard float64) setting {
	return between(name, meaning, standard, 0, math.Inf(1), true, true)
}

// between is a number in an interval.
func between(name, meaning string, standard, low, high float64, openLow, openHigh bool) setting {
	return setting{name: name, meaning: meaning, kind: real, standard: standard,
		interval: interval{low: low, high: high, openLow: openLow, openHigh: openHigh}}
}

// whole is a whole number from low to high.
func whole(name, meaning string, standard, low, high int) setting {
	return setting{name: name, meaning: meaning, kind: count, standard: float64(standard),
		interval: interval{low: float64(low), high: float64(high)}}
}

// oneOf is a choice among words, the first by default.
func oneOf(name, meaning string, choices ...string) setting {
	return setting{name: name, meaning: meaning, kind: choice, choices: choices}
}

// yesNo is a toggle.
func yesNo(name, meaning string, standard bool) setting {
	s := setting{name: name, meaning: meaning, kind: toggle}
	if standard {
		s.standard = 1
	}
	return s
}

// reductionSetting is the parameter that every loss with a choice of reductions
// has.
func reductionSetting() setting {
	return oneOf("reduction", "mean over terms above 0, over all terms, or over anchors", "nonzero", "mean", "anchor")
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

// readValues reads parameters where they are given, else takes the defaults.
func readValues(settings []setting, params map[string]string, y yardstick) (values, error) {
	v := values{at: map[string]float64{}, settings: settings}
	names := make([]string, len(settings))
	for k, s := range settings {
		v.at[s.name] = s.standard
		names[k] = s.name
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		k := slices.Index(names, name)
		switch {
		case k < 0 && len(names) == 0:
			return v, fmt.Errorf("unknown parameter %q, there is none", name)
		case k < 0:
			return v, fmt.Errorf("unknown parameter %q, want one of %s", name, strings.Join(names, ", "))
		}
		x, err := settings[k].read(params[name], y)
		if err != nil {
			return v, fmt.Errorf("%s = %w", name, err)
		}
		v.at[name] = x
	}
	return v, nil
}

func paramInfos(settings []setting) []ParamInfo {
	var infos []ParamInfo
	for _, s := range settings {
		infos = append(infos, ParamInfo{
			Name: s.name, Meaning: s.meaning, Default: s.defaultText(), Range: s.rangeText(),
			Margin: s.kind == level || s.kind == gap,
		})
	}
	return infos
}

// values holds a loss's parameters by name.
type values struct {
	at       map[string]float64
	settings []setting
	classes  int
	dim      int
}

func (v values) real(name string) float64 { return v.at[name] }
func (v values) int(name string) int      { return int(v.at[name]) }
func (v values) on(name string) bool      { return v.at[name] != 0 }

func (v values) word(name string) string {
	k := slices.IndexFunc(v.settings, func(s setting) bool { return s.name == name })
	return v.settings[k].choices[v.int(name)]
}

func (v values) reduction() Reduction { return Reduction(v.int("reduction")) }

// maxClasses is the largest number of classes: float32, in which a graph holds labels,
// counts no further.
const maxClasses = 1 << 24

// perClass returns the number of classes for a loss that cannot do without.
func (v values) perClass() (int, error) {
	if v.classes < 1 || v.classes > maxClasses {
		return 0, fmt.Errorf("Options.Classes: number of classes is %d, want the number of training classes", v.classes)
	}
	return v.classes, nil
}

// dimension returns the dimension of the embedding for what cannot do without.
func (v values) dimension() (int, error) {
	if v.dim < 2 {
		return 0, fmt.Errorf("Options.Dim: dimension of the embedding is %d, want 2 or more", v.dim)
	}
	return v.dim, nil
}

// format writes a number by its first four digits, a whole one by all.
func format(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// yardstick converts margins that are given in units of the metric.
type yardstick struct {
	metric metric.Metric
	c      float64
	view   View
}

// raw is the yardstick of a loss that is written in the metric's own values.
func raw(o Options) yardstick { return yardstick{o.Metric, o.Scale, View{}} }

func onSquared(o Options) yardstick {
	return yardstick{o.Metric, o.Scale, AsSquared(o.Metric, o.Scale)}
}

func onSimilarity(o Options) yardstick {
	return yardstick{o.Metric, o.Scale, AsSimilarity(o.Metric, o.Scale)}
}

func onSphere(o Options) yardstick {
	return yardstick{o.Metric, o.Scale, AsSphere(o.Metric, o.Scale)}
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

// level is a margin that is a position: anything that the metric can reach.
func (y yardstick) level(name, meaning string, standard float64) setting {
	low, high := y.span()
	return setting{name: name, meaning: meaning, kind: level, standard: standard, interval: interval{low: low, high: high}}
}

// gap is a margin that is a difference: above 0 and within reach.
func (y yardstick) gap(name, meaning string, standard float64) setting {
	low, high := y.span()
	return setting{name: name, meaning: meaning, kind: gap, standard: standard,
		interval: interval{high: high - low, openLow: true, openHigh: true}}
}

// unit is the gap between equal and unrelated embeddings.
func (y yardstick) unit() float64 { return math.Abs(y.at(math.Sqrt2) - y.at(0)) }

// ordered refuses margins of which the first, that of positives, does not ask
// for a closer pair than the second, that of negatives.
func (y yardstick) ordered(near string, u float64, far string, v float64) error {
	low, high := y.span()
	if y.view.Similarity(y.metric.Similarity()) {
		if u > v {
			return nil
		}
		return fmt.Errorf("%s = %s, %s = %s, want %s <= %s < %s <= %s", near, format(u), far, format(v), format(low), far, near, format(high))
	}
	if u < v {
		return nil
	}
	return fmt.Errorf("%s = %s, %s = %s, want %s <= %s < %s <= %s", near, format(u), far, format(v), format(low), near, far, format(high))
}

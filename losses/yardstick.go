package losses

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/metric"
)

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

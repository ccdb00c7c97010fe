package losses

import (
	"fmt"
	"math"
)

// constructor is a row of the table of losses.
type constructor struct {
	name string
	make func(Options) entry
}

// catalogue is the one table of losses by name, in the order in which a user
// should meet them. Each function is beside the loss that it makes.
func catalogue() []constructor {
	return []constructor{
		{"contrastive", contrastiveEntry},
		{"triplet", tripletEntry},
		{"npairs", npairsEntry},
		{"proxy-anchor", proxyAnchorEntry},
		{"multi-similarity", multiSimilarityEntry},
		{"ntxent", ntXentEntry},
		{"supcon", supConEntry},
		{"pairwise-cross-entropy", pairwiseCrossEntropyEntry},
		{"circle", circleEntry},
		{"lifted", liftedEntry},
		{"generalized-lifted", generalizedLiftedEntry},
		{"margin", marginEntry},
		{"angular", angularEntry},
		{"quadruplet", quadrupletEntry},
		{"fastap", fastAPEntry},
		{"histogram", histogramEntry},
		{"nca", ncaEntry},
		{"proxy-nca", proxyNCAEntry},
		{"soft-triple", softTripleEntry},
		{"normalized-softmax", normalizedSoftmaxEntry},
		{"softmax", softmaxEntry},
		{"cosface", cosFaceEntry},
		{"arcface", arcFaceEntry},
		{"center", centerEntry},
		{"triplet-bound", tripletBoundEntry},
		{"spread-out", spreadOutEntry},
	}
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

func (v values) reduction() Reduction { return Reduction(v.int("reduction")) }

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

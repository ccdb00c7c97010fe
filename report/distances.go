package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/vernier-ml/vernier/eval"
)

// distances draws distances inside and between classes, and verification.
func (m *maker) distances() error {
	pairs, err := eval.SamplePairs(m.e.Embeddings, m.e.Model.Spec.Metric, eval.PairOptions{Max: m.opt.Pairs, Seed: m.seed, Workers: m.opt.Workers})
	if err != nil {
		return err
	}
	const bins = 60
	h, err := pairs.Histogram(bins)
	if err != nil {
		return err
	}
	s := section{ID: "distances", Title: "Distances and verification"}
	s.Figures = append(s.Figures, captioned{m.histogram(h), fmt.Sprintf("Distances of %s pairs inside classes and %s between classes, each kind as a share of its own",
		counted(len(pairs.Intra), pairs.AllIntra), counted(len(pairs.Inter), pairs.AllInter))})
	if len(pairs.Intra) > 0 && len(pairs.Inter) > 0 {
		roc, err := pairs.ROC()
		if err != nil {
			return err
		}
		s.Figures = append(s.Figures, captioned{m.roc(roc), "Share of same pairs accepted over share of different pairs accepted (ROC)"})
		s.Figures = append(s.Figures, captioned{m.det(roc), "Detection error trade-off (DET): both errors on the scale of normal deviates"})
	}
	m.charts = append(m.charts, s)
	return nil
}

func counted(n int, all bool) string {
	if all {
		return "all " + strconv.Itoa(n)
	}
	return strconv.Itoa(n) + " drawn"
}

func (m *maker) histogram(h *eval.Histogram) figure {
	shares := func(counts []int) []float64 {
		total := 0
		for _, n := range counts {
			total += n
		}
		var s []float64
		for _, n := range counts {
			s = append(s, float64(n)/float64(max(total, 1)))
		}
		return s
	}
	intra, inter := shares(h.Intra), shares(h.Inter)
	_, top := bounds(slices.Concat(intra, inter))
	c := newChart("Histogram of distances", "inside and between classes", linear("distance ("+m.Distance+")", h.Edges[0], h.Edges[len(h.Edges)-1]), linear("share of pairs", 0, top))
	steps := func(class, name string, shares []float64) {
		var x, low, high []float64
		for i, v := range shares {
			x, low, high = append(x, h.Edges[i], h.Edges[i+1]), append(low, 0, 0), append(high, v, v)
		}
		c.area(class, name, x, low, high)
	}
	steps("s0", "inside classes", intra)
	steps("s1", "between classes", inter)
	if m.Threshold != nil {
		c.vertical("best", fmt.Sprintf("threshold %.4g (%s)", m.Threshold.Distance, m.Threshold.Rule), m.Threshold.Distance)
	}
	return c.done()
}

const curvePoints = 300

func (m *maker) roc(r *eval.ROC) figure {
	eer, _ := r.EER()
	c := newChart("ROC curve", fmt.Sprintf("area %.4f, equal error rate %.2f%%", r.AUC(), 100*eer),
		linear("false acceptance rate (FAR)", 0, 1), linear("true acceptance rate (TAR)", 0, 1))
	var points []point
	for _, p := range r.Curve(curvePoints) {
		points = append(points, point{x: p.FAR, y: p.TAR})
	}
	c.line("s0", fmt.Sprintf("AUC %.4f, EER %.2f%%", r.AUC(), 100*eer), points)
	c.line("chance", "chance", []point{{x: 0, y: 0}, {x: 1, y: 1}})
	return c.done()
}

func (m *maker) det(r *eval.ROC) figure {
	deviate := func(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
	low, high := 1e-3, 0.5
	var points []point
	for _, p := range r.Curve(curvePoints) {
		if frr := 1 - p.TAR; p.FAR > 0 && p.FAR < 1 && frr > 0 && frr < 1 {
			points = append(points, point{x: p.FAR, y: frr})
			low, high = min(low, p.FAR, frr), max(high, p.FAR, frr)
		}
	}
	rates := func(label string) axis {
		a := axis{label: label, low: low, high: high, scale: deviate}
		for _, rate := range []float64{1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95} {
			if rate >= low && rate <= high {
				a.ticks = append(a.ticks, tick{rate, strconv.FormatFloat(100*rate, 'g', -1, 64) + "%"})
			}
		}
		return a
	}
	eer, _ := r.EER()
	c := newChart("DET curve", fmt.Sprintf("equal error rate %.2f%%", 100*eer), rates("false acceptance rate (FAR)"), rates("false rejection rate (FRR)"))
	c.line("s0", "errors", points)
	c.line("chance", "equal errors", []point{{x: low, y: low}, {x: high, y: high}})
	return c.done()
}

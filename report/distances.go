package report

import (
	"fmt"
	"strconv"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/plot"
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
	histogram := plot.Histogram{Title: "Distances inside and between classes", Histogram: h}
	if t := m.Threshold; t != nil {
		histogram.Mark = &plot.Mark{Name: fmt.Sprintf("threshold %.4g (%s)", t.Distance, t.Rule), X: t.Distance}
	}
	if err := s.add(histogram, fmt.Sprintf("Distances of %s pairs inside classes and %s between classes, each kind as a share of its own",
		counted(len(pairs.Intra), pairs.AllIntra), counted(len(pairs.Inter), pairs.AllInter))); err != nil {
		return err
	}
	if len(pairs.Intra) > 0 && len(pairs.Inter) > 0 {
		roc, err := pairs.ROC()
		if err != nil {
			return err
		}
		names, curves := []string{m.Split}, []*eval.ROC{roc}
		if err := s.add(plot.ROC{Metric: m.Distance, Names: names, Curves: curves}, "Share of same pairs accepted over share of different pairs accepted (ROC)"); err != nil {
			return err
		}
		if err := s.add(plot.DET{Metric: m.Distance, Names: names, Curves: curves}, "Detection error trade-off (DET): both errors on the scale of normal deviates"); err != nil {
			return err
		}
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

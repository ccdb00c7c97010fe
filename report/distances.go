package report

import (
	"fmt"
	"strconv"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/eval/plot"
)

// distances draws distances inside and between classes, and verification, of each set.
func distances(makers []*maker) error {
	s := section{ID: "distances", Title: "Distances and verification"}
	by := makers[0].Distance
	var names []string
	var curves []*eval.ROC
	for _, m := range makers {
		x, _, groups := m.s.sides.Both()
		pairs, err := eval.SamplePairs(x, m.s.metric, eval.PairOptions{Max: m.opt.Pairs, Seed: m.seed, Groups: groups, Workers: m.opt.Workers})
		if err != nil {
			return err
		}
		const bins = 60
		h, err := pairs.Histogram(bins)
		if err != nil {
			return err
		}
		title, of := "Distances inside and between classes", ""
		if len(makers) > 1 {
			title, of = title+": "+m.name, " ("+m.name+")"
		}
		histogram := plot.Histogram{Title: title, Histogram: h}
		if t := m.Threshold; t != nil {
			histogram.Mark = &plot.Mark{Name: fmt.Sprintf("threshold %.4g (%s)", t.Distance, t.Rule), X: t.Distance}
		}
		if err := s.add(histogram, fmt.Sprintf("Distances of %s pairs inside classes and %s between classes, each kind as a share of its own%s",
			counted(len(pairs.Intra), pairs.AllIntra), counted(len(pairs.Inter), pairs.AllInter), of)); err != nil {
			return err
		}
		if len(pairs.Intra) == 0 || len(pairs.Inter) == 0 {
			continue
		}
		roc, err := pairs.ROC()
		if err != nil {
			return err
		}
		if names, curves = append(names, m.name), append(curves, roc); eval.DistanceName(m.s.metric) != by {
			by = "each set's metric"
		}
	}
	if len(curves) > 0 {
		if err := s.add(plot.ROC{Metric: by, Names: names, Curves: curves}, "Share of same pairs accepted over share of different pairs accepted (ROC)"); err != nil {
			return err
		}
		if err := s.add(plot.DET{Metric: by, Names: names, Curves: curves}, "Detection error trade-off (DET): both errors on the scale of normal deviates"); err != nil {
			return err
		}
	}
	makers[0].charts = append(makers[0].charts, s)
	return nil
}

func counted(n int, all bool) string {
	if all {
		return "all " + strconv.Itoa(n)
	}
	return strconv.Itoa(n) + " drawn"
}

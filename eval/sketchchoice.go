package eval

import (
	"math"
	"slices"

	"github.com/vernier-ml/vernier/metric"
)

// cuts say which keys of a query must be distinguished from which: the right rows
// from all others, or the k nearest from the rest.
type cuts struct {
	right     func(query int) []int32
	firstOnly bool
	nearest   int
}

const (
	// pairCost is what one distance costs beside a term of the product for it.
	pairCost = 16
	// fewPairs are searched faster than a sketch is made.
	fewPairs      = 1 << 22
	sampleQueries = 48
	sampleRows    = 1024
)

// chooseSketch returns the sketch that makes the search cheapest, or nil if none
// does: more terms cost more, and leave fewer distances open. It counts these for a
// sample of queries and rows.
func chooseSketch(o order, eng rowEngine, queries, gallery *Embeddings, opt SearchOptions, c cuts) (*sketch, error) {
	if o.kernel.Kind != metric.BRM || o.kernel.P != 2 || opt.terms < 0 || opt.terms == 0 && queries.N*gallery.N < fewPairs {
		return nil, nil
	}
	k := opt.kept.kernelOf(o.metric, opt.workers(), queries, gallery)
	if k == nil {
		return nil, nil
	}
	if opt.terms > 0 {
		return k.sketch(o.metric, opt.terms), nil
	}
	gaps, err := c.sample(o, eng, queries, gallery, opt.workers())
	if err != nil {
		return nil, err
	}
	var best *sketch
	least := float64(pairCost)
	for terms := 1; terms <= maxTerms && float64(terms) < least; terms++ {
		s := k.sketch(o.metric, terms)
		if cost := float64(terms) + pairCost*gaps.open(s.slack); cost < least {
			best, least = s, cost
		}
	}
	return best, nil
}

// gaps are, for pairs of a sample, how far their keys are from the nearest cut: a
// pair stays open if that is less than the bound.
type gaps []float64

func (g gaps) open(bound float64) float64 {
	at, _ := slices.BinarySearch(g, bound)
	return float64(at) / float64(len(g))
}

func (c cuts) sample(o order, eng rowEngine, queries, gallery *Embeddings, workers int) (gaps, error) {
	rows := make([]int32, min(sampleRows, gallery.N))
	for i := range rows {
		rows[i] = int32(i * gallery.N / len(rows))
	}
	n := min(sampleQueries, queries.N)
	of := make([][]float64, n)
	err := parallel(workers, n, func(_, i int) (err error) {
		of[i], err = c.gapsOf(o, eng, i*queries.N/n, rows, queries, gallery)
		return err
	})
	g := slices.Concat(of...)
	slices.Sort(g)
	return g, err
}

func (c cuts) gapsOf(o order, eng rowEngine, q int, rows []int32, queries, gallery *Embeddings) ([]float64, error) {
	values := func(index []int32) ([]float32, error) {
		v := make([]float32, len(index))
		return v, eng.RowValues(v, queries.Row(q), gallery.X, index, o.kernel)
	}
	keys, err := values(rows)
	if err != nil {
		return nil, err
	}
	var at []float32
	if c.right != nil {
		if at, err = values(c.right(q)); err != nil {
			return nil, err
		}
		slices.Sort(at)
		if len(at) > 0 && at[0] == 0 && len(at) > 1 {
			at = at[1:] // the query itself
		}
		if c.firstOnly {
			at = at[:min(1, len(at))]
		}
	} else {
		sorted := slices.Sorted(slices.Values(keys))
		at = sorted[min(c.nearest*len(rows)/gallery.N, len(rows)-1):][:1]
	}
	g := make([]float64, len(keys))
	for i, key := range keys {
		g[i] = math.Inf(1)
		for _, cut := range at {
			d := float64(key) - float64(cut)
			if c.right == nil {
				d = max(d, 0) / 2 // the nearest are computed, and the cut is known as well as the key
			}
			g[i] = math.Min(g[i], math.Abs(d))
		}
	}
	return g, nil
}

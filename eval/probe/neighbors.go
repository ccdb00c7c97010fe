package probe

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// Temperature of the weighted vote in Wu et al. 2018, Sect. 3.4.
const Temperature = 0.07

// Neighbors classifies every query by its k nearest rows of the bank, for each k of ks: by
// their votes, and by votes of weight exp(s/Temperature), s being metric.Likeness (Wu et
// al. 2018, Unsupervised feature learning via non-parametric instance discrimination,
// Sect. 3.4, where s is a cosine). Of classes with equal votes the one of the nearest row
// counts. A k beyond the bank's size takes all of it. Both sides need labels.
func Neighbors(ctx context.Context, eng eval.Engine, bank, queries *eval.Embeddings, m metric.Metric, ks []int, opt eval.SearchOptions) ([]eval.VoteFigures, error) {
	if err := checkSides(bank, queries); err != nil {
		return nil, err
	}
	largest := 0
	for _, k := range ks {
		if k < 1 {
			return nil, fmt.Errorf("probe: %d neighbors, want 1 or more", k)
		}
		largest = max(largest, min(k, bank.N))
	}
	if largest == 0 {
		return nil, nil
	}
	list, err := eval.Neighbors(ctx, eng, queries, bank, m, largest, opt)
	if err != nil {
		return nil, err
	}
	figures := make([]eval.VoteFigures, len(ks))
	likeness := make([]float64, largest)
	var count tally
	for q := range queries.N {
		index, _ := list.Of(q)
		for n, i := range index {
			likeness[n] = m.Likeness(queries.Row(q), bank.Row(int(i)))
		}
		for f, k := range ks {
			near := index[:min(k, len(index))]
			if count.vote(near, bank.Labels, func(int) float64 { return 1 }) == queries.Labels[q] {
				figures[f].Percent++
			}
			// Only differences of likeness count: the nearest is subtracted, and nothing
			// overflows.
			weight := func(n int) float64 { return math.Exp((likeness[n] - likeness[0]) / Temperature) }
			if count.vote(near, bank.Labels, weight) == queries.Labels[q] {
				figures[f].Weighted++
			}
		}
	}
	for f, k := range ks {
		figures[f].K = k
		figures[f].Percent *= 100 / float64(queries.N)
		figures[f].Weighted *= 100 / float64(queries.N)
	}
	return figures, nil
}

// tally counts the votes of classes, in the order in which they come.
type tally struct {
	labels []int
	votes  []float64
}

// vote returns the label with the largest sum of weights; of equal ones the nearest row's.
func (t *tally) vote(near []int32, labels []int, weight func(n int) float64) int {
	t.labels, t.votes = t.labels[:0], t.votes[:0]
	for n, i := range near {
		at := slices.Index(t.labels, labels[i])
		if at < 0 {
			at = len(t.labels)
			t.labels, t.votes = append(t.labels, labels[i]), append(t.votes, 0)
		}
		t.votes[at] += weight(n)
	}
	best := 0
	for c, v := range t.votes {
		if v > t.votes[best] {
			best = c
		}
	}
	return t.labels[best]
}

// checkSides checks what both classifiers are given.
func checkSides(bank, queries *eval.Embeddings) error {
	if err := bank.ValidateLabeled(); err != nil {
		return fmt.Errorf("probe: the bank: %w", err)
	}
	if err := queries.ValidateLabeled(); err != nil {
		return fmt.Errorf("probe: the queries: %w", err)
	}
	if bank.H != queries.H {
		return fmt.Errorf("probe: a bank of rows of %d numbers, queries of %d: both must come from one model", bank.H, queries.H)
	}
	return nil
}

package linear

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/eval"
)

// Verify learns a metric with each candidate from the training rows of one split
// and returns its ROC curve on pairs of test rows, the same for all: pairs
// similar and as many dissimilar ones. Of opt the number of trials is not used.
func Verify(ctx context.Context, t *Table, learners []Candidate, pairs int, opt Trials) ([]*eval.ROC, error) {
	if err := opt.defaults(); err != nil {
		return nil, err
	}
	s, err := newTrial(t, opt, opt.Seed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	similar, dissimilar, err := SamplePairs(s.truth, pairs, opt.Seed)
	if err != nil {
		return nil, fmt.Errorf("%s, test rows: %w", t.Name, err)
	}
	y := make([]int, 2*pairs)
	for k := range y {
		y[k] = 1
		if k >= pairs {
			y[k] = -1
		}
	}
	all := append(similar, dissimilar...)
	out := make([]*eval.ROC, len(learners))
	for i, l := range learners {
		r, err := l.Make(Env{Seed: opt.Seed, Engine: opt.Engine}).Fit(ctx, &Problem{X: s.train, Labels: s.labels, Classes: s.classes})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		if out[i], err = r.ROC(s.test, all, y); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	return out, nil
}

package probe

import (
	"context"
	"math"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// Options say what Measure measures.
type Options struct {
	Ks     []int   // of votes; nil for none
	Linear bool    // a linear classifier, too
	Share  float64 // of the rows of every class for the bank; 0 means one half
	Seed   uint64
	// Search bounds the search for neighbors. Its Self and Groups do not count.
	Search eval.SearchOptions
	// Progress, if set, is called with the iterations of the linear classifier.
	Progress func(done, total int)
}

// Measure measures labeled rows. With a nil bank Divide makes bank and queries of them;
// else all of rows are queries. Alignment and uniformity are of both together.
func Measure(ctx context.Context, eng eval.Engine, rows, bank *eval.Embeddings, m metric.Metric, opt Options) (*eval.ProbeFigures, error) {
	queries, all := rows, rows
	if bank == nil {
		if err := rows.ValidateLabeled(); err != nil {
			return nil, err
		}
		if opt.Share == 0 {
			opt.Share = 0.5
		}
		in, out, err := Divide(rows.Labels, opt.Share, opt.Seed)
		if err != nil {
			return nil, err
		}
		bank, queries = rows.Select(in), rows.Select(out)
	} else {
		if err := checkSides(bank, rows); err != nil {
			return nil, err
		}
		all = &eval.Embeddings{X: append(rows.X[:len(rows.X):len(rows.X)], bank.X...), N: rows.N + bank.N, H: rows.H, Labels: append(rows.Labels[:rows.N:rows.N], bank.Labels...)}
	}
	_, distinct := eval.Compact(bank.Labels)
	f := &eval.ProbeFigures{Bank: bank.N, Queries: queries.N, Classes: len(distinct)}
	opt.Search.Self, opt.Search.Groups = nil, nil
	var err error
	if f.Votes, err = Neighbors(ctx, eng, bank, queries, m, opt.Ks, opt.Search); err != nil {
		return nil, err
	}
	alignment, uniformity, err := Sphere(all, opt.Seed)
	if err != nil {
		return nil, err
	}
	if f.Uniformity = uniformity; !math.IsNaN(alignment) {
		f.Alignment = &alignment
	}
	if !opt.Linear {
		return f, nil
	}
	l, err := FitLinear(ctx, bank, LinearOptions{Progress: opt.Progress})
	if err != nil {
		return nil, err
	}
	guess, err := l.Classify(queries)
	if err != nil {
		return nil, err
	}
	right := 0
	for i, label := range guess {
		if label == queries.Labels[i] {
			right++
		}
	}
	f.Linear = &eval.LinearFigures{Percent: 100 * float64(right) / float64(queries.N), Loss: l.Loss, Iterations: l.Iterations, Converged: l.Converged}
	return f, nil
}

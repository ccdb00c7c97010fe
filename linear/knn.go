package linear

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// KNN classifies by the K nearest training rows in a learned metric. Equal
// distances go to the lower training row, equal votes to the smallest label.
type KNN struct {
	K      int // 0 means 5; all rows where there are fewer
	Engine Engine
}

// Predict returns a label for each row of test. train and test are rows as the
// metric was learned on, (n, d) and (m, d).
func (k KNN) Predict(ctx context.Context, r *Result, train *mat.Dense, labels []int, test *mat.Dense) ([]int, error) {
	return k.predict(ctx, r, train, labels, test, false)
}

func (k KNN) predict(ctx context.Context, r *Result, train *mat.Dense, labels []int, test *mat.Dense, self bool) ([]int, error) {
	n, _ := train.Dims()
	if len(labels) != n {
		return nil, fmt.Errorf("%d labels for %d training rows", len(labels), n)
	}
	if slices.Contains(labels, Unknown) {
		return nil, fmt.Errorf("training row %d has no label", slices.Index(labels, Unknown))
	}
	count := k.K
	if count < 0 {
		return nil, fmt.Errorf("%d neighbors", count)
	}
	if count == 0 {
		count = 5
	}
	others := n
	if self {
		others--
	}
	count = min(count, others)
	near, err := neighbors(ctx, k.Engine, r, train, test, count, self)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(near)/count)
	votes := make([]int, count)
	for i := range out {
		for j, t := range near[i*count : (i+1)*count] {
			votes[j] = labels[t]
		}
		out[i] = majority(votes)
	}
	return out, nil
}

// LeaveOneOut returns a label for each row from the K nearest other rows.
func (k KNN) LeaveOneOut(ctx context.Context, r *Result, x *mat.Dense, labels []int) ([]int, error) {
	return k.predict(ctx, r, x, labels, x, true)
}

// Error returns the share of test rows that Predict gets wrong.
func (k KNN) Error(ctx context.Context, r *Result, train *mat.Dense, labels []int, test *mat.Dense, truth []int) (float64, error) {
	got, err := k.Predict(ctx, r, train, labels, test)
	if err != nil {
		return 0, err
	}
	if len(truth) != len(got) {
		return 0, fmt.Errorf("%d labels for %d test rows", len(truth), len(got))
	}
	wrong := 0
	for i, y := range got {
		if y != truth[i] {
			wrong++
		}
	}
	return float64(wrong) / float64(len(got)), nil
}

// majority returns the most frequent label, the smallest among equals.
func majority(votes []int) int {
	slices.Sort(votes)
	best, most := votes[0], 0
	for i := 0; i < len(votes); {
		j := i
		for j < len(votes) && votes[j] == votes[i] {
			j++
		}
		if j-i > most {
			best, most = votes[i], j-i
		}
		i = j
	}
	return best
}

// Neighbors returns the k nearest training rows of each test row in the learned
// metric, (m, k), nearest first, the lower row first among equals. With an
// engine the search is eval.Neighbors, in the order of float64 distances of
// transformed rows rounded to float32; without, brute force in float64.
func Neighbors(ctx context.Context, eng Engine, r *Result, train, test *mat.Dense, k int) ([]int32, error) {
	return neighbors(ctx, eng, r, train, test, k, false)
}

// neighbors leaves row i of train out for row i of test if self is set.
func neighbors(ctx context.Context, eng Engine, r *Result, train, test *mat.Dense, k int, self bool) ([]int32, error) {
	zt, err := r.Transform(train)
	if err != nil {
		return nil, fmt.Errorf("training %w", err)
	}
	zq, err := r.Transform(test)
	if err != nil {
		return nil, fmt.Errorf("test %w", err)
	}
	n, h := zt.Dims()
	m, _ := zq.Dims()
	if k < 1 || k > n {
		return nil, fmt.Errorf("%d neighbors of %d training rows", k, n)
	}
	if eng == nil {
		return bruteForce(ctx, r.Metric, zt, zq, k, self)
	}
	var opt eval.SearchOptions
	if self {
		opt.Self = eval.LeaveOneOut(n)
	}
	list, err := eval.Neighbors(ctx, eng, &eval.Embeddings{X: narrow(zq), N: m, H: h}, &eval.Embeddings{X: narrow(zt), N: n, H: h}, r.Metric, k, opt)
	if err != nil {
		return nil, err
	}
	return list.Index, nil
}

func bruteForce(ctx context.Context, by metric.Metric, train, test *mat.Dense, k int, self bool) ([]int32, error) {
	n, _ := train.Dims()
	m, _ := test.Dims()
	out := make([]int32, m*k)
	inParts(m, func(_, lo, hi int) {
		dist := make([]float64, n)
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			q := test.RawRowView(i)
			for j := range dist {
				if by.Kind == metric.Euclidean {
					dist[j] = squared(q, train.RawRowView(j))
				} else {
					dist[j] = by.Value64(q, train.RawRowView(j))
				}
			}
			skip := -1
			if self {
				skip = i
			}
			for c, j := range nearest(dist, k, skip) {
				out[i*k+c] = int32(j)
			}
		}
	})
	return out, ctx.Err()
}

package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Interval is a confidence interval.
type Interval struct{ Low, High float64 }

// BootstrapOptions say how intervals are drawn.
type BootstrapOptions struct {
	Resamples int     // 0 means 1000
	Level     float64 // 0 means 0.95
	Seed      uint64
	// Queries resamples single queries. The default resamples whole classes,
	// because queries of one class are not independent: an interval over
	// queries is too narrow for the question how other classes would do.
	Queries bool
}

const (
	defaultResamples = 1000
	defaultLevel     = 0.95
)

// RecallInterval is the percentile bootstrap interval (Efron 1979) of RecallAt,
// in percent.
func (r *Retrieval) RecallInterval(k int, opt BootstrapOptions) (Interval, error) {
	return r.Bootstrap(opt, func(q int) (float64, bool) {
		rank := r.FirstRank[q]
		if rank >= 1 && rank <= k {
			return 100, true
		}
		return 0, true
	})
}

// MAPAtRInterval is the interval of MAP@R over the queries that are not lone.
func (r *Retrieval) MAPAtRInterval(opt BootstrapOptions) (Interval, error) {
	if r.AveragePrecisionAtR == nil {
		return Interval{}, fmt.Errorf("eval: MAP@R was not computed: FirstOnly was set")
	}
	return r.Bootstrap(opt, func(q int) (float64, bool) { return r.AveragePrecisionAtR[q], r.FirstRank[q] > 0 })
}

// Bootstrap is the percentile interval of the mean of any figure of a query;
// queries that do not count are left out.
func (r *Retrieval) Bootstrap(opt BootstrapOptions, figure func(query int) (value float64, counts bool)) (Interval, error) {
	if opt.Resamples == 0 {
		opt.Resamples = defaultResamples
	}
	if opt.Level == 0 {
		opt.Level = defaultLevel
	}
	if opt.Resamples < 1 || !(opt.Level > 0 && opt.Level < 1) {
		return Interval{}, fmt.Errorf("eval: bootstrap of %d resamples at level %v: want at least 1, and a level between 0 and 1", opt.Resamples, opt.Level)
	}
	group := r.labels
	if opt.Queries {
		group = LeaveOneOut(r.Queries())
	}
	of, groups := Compact(group)
	sums, counts := make([]float64, len(groups)), make([]float64, len(groups))
	for q, g := range of {
		if v, ok := figure(q); ok {
			sums[g] += v
			counts[g]++
		}
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 2))
	var means []float64
	for range opt.Resamples {
		var sum, n float64
		for range groups {
			g := rng.IntN(len(groups))
			sum, n = sum+sums[g], n+counts[g]
		}
		if n > 0 {
			means = append(means, sum/n)
		}
	}
	if len(means) == 0 {
		nan := math.NaN()
		return Interval{nan, nan}, nil
	}
	slices.Sort(means)
	tail := (1 - opt.Level) / 2
	return Interval{Quantile(means, tail), Quantile(means, 1-tail)}, nil
}

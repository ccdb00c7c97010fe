package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
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

// Difference is a figure of one retrieval less that of another, of the same queries.
type Difference struct {
	Mean float64 `json:"difference"` // over queries
	// Low and High bound it with 95% confidence: a bootstrap over classes.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// P is of a two-sided paired t-test over the means of classes.
	P float64 `json:"p"`
}

// CompareRecall compares Recall@K of two retrievals, in points of percent, and
// CompareMAPAtR their MAP@R, from 0 to 1 and without lone queries. Both are of
// the same queries in the same order, with the same labels.
func CompareRecall(a, b *Retrieval, k int, opt BootstrapOptions) (Difference, error) {
	hit := func(r *Retrieval, q int) float64 {
		if rank := r.FirstRank[q]; rank >= 1 && rank <= k {
			return 100
		}
		return 0
	}
	return compare(a, b, opt, func(q int) (float64, bool) { return hit(a, q) - hit(b, q), true })
}

// CompareMAPAtR is described with CompareRecall.
func CompareMAPAtR(a, b *Retrieval, opt BootstrapOptions) (Difference, error) {
	if a.AveragePrecisionAtR == nil || b.AveragePrecisionAtR == nil {
		return Difference{}, fmt.Errorf("eval: MAP@R was not computed: FirstOnly was set")
	}
	return compare(a, b, opt, func(q int) (float64, bool) {
		return a.AveragePrecisionAtR[q] - b.AveragePrecisionAtR[q], a.FirstRank[q] > 0 && b.FirstRank[q] > 0
	})
}

func compare(a, b *Retrieval, opt BootstrapOptions, figure func(q int) (float64, bool)) (d Difference, err error) {
	if a.Queries() != b.Queries() {
		return d, fmt.Errorf("eval: %d and %d queries cannot be paired", a.Queries(), b.Queries())
	}
	for q, label := range a.labels {
		if b.labels[q] != label {
			return d, fmt.Errorf("eval: query %d has label %d and %d: the queries are not the same", q, label, b.labels[q])
		}
	}
	in, err := a.Bootstrap(opt, figure)
	if err != nil {
		return d, err
	}
	of, classes := Compact(a.labels)
	sums, counts := make([]float64, len(classes)), make([]float64, len(classes))
	var sum, n float64
	for q, c := range of {
		if v, ok := figure(q); ok {
			sums[c], counts[c] = sums[c]+v, counts[c]+1
			sum, n = sum+v, n+1
		}
	}
	var means []float64
	for c, s := range sums {
		if counts[c] > 0 {
			means = append(means, s/counts[c])
		}
	}
	_, p, err := PairedT(means, make([]float64, len(means)))
	return Difference{sum / max(n, 1), in.Low, in.High, p}, err
}

// PairedT is Student's paired t-test of a and b, figures of the same trials: t
// of the mean difference a - b with n-1 degrees of freedom, and the two-sided
// probability p of at least such a t if there were no difference. Without any
// difference t is 0 and p is 1; with the same difference in every trial t is
// infinite and p is 0.
//
// Trials that share data, as random splits of one table do, make the test
// somewhat too ready to see a difference.
func PairedT(a, b []float64) (t, p float64, err error) {
	n := len(a)
	if n != len(b) || n < 2 {
		return 0, 0, fmt.Errorf("a paired t-test needs equal numbers of figures, at least 2; there are %d and %d", n, len(b))
	}
	diff := make([]float64, n)
	for i := range a {
		diff[i] = a[i] - b[i]
	}
	mean, std := stat.MeanStdDev(diff, nil)
	if std == 0 {
		if mean == 0 {
			return 0, 1, nil
		}
		return math.Copysign(math.Inf(1), mean), 0, nil
	}
	t = mean / (std / math.Sqrt(float64(n)))
	dist := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	return t, 2 * dist.CDF(-math.Abs(t)), nil
}

package eval

import "fmt"

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

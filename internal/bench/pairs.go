package bench

import (
	"context"
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// pairwise times the matrix of distances of a batch of 256 to 256 other rows of
// 512 numbers, forward and back. Operations are those of as many matrix products:
// one forward, one for each gradient.
func pairwise() Benchmark {
	const n, h = 256, 512
	b := Benchmark{Name: "brm-pairwise", Text: fmt.Sprintf("distances %d x %d x %d, forward and back", n, n, h)}
	add := func(name string, m metric.Metric) {
		b.Cases = append(b.Cases, Case{Name: name, start: func(_ context.Context, eng engine.Engine, _ int) (*work, error) {
			d := draw(eng)
			x, y, dist, dd := d.tensor(n, h), d.tensor(n, h), d.tensor(n, n), d.tensor(n, n)
			dx, dy := d.tensor(n, h), d.tensor(n, h)
			return &work{flops: 6 * float64(n) * float64(n) * float64(h), run: inTurn(
				func() error { return eng.Pairwise(dist, x, y, m) },
				func() error { return eng.PairwiseGrad(dx, dy, dd, dist, x, y, m) },
			)}, d.err
		}})
	}
	b.Cases = append(b.Cases, Case{Name: EuclideanForward, start: func(_ context.Context, eng engine.Engine, _ int) (*work, error) {
		d := draw(eng)
		x, y, dist := d.tensor(n, h), d.tensor(n, h), d.tensor(n, n)
		return &work{flops: 2 * float64(n) * float64(n) * float64(h), run: func() error {
			return eng.Pairwise(dist, x, y, metric.Metric{Kind: metric.Euclidean})
		}}, d.err
	}})
	add("euclidean", metric.Metric{Kind: metric.Euclidean})
	for r := metric.Sigmoid; r <= metric.ISRU; r++ {
		for p := 1; p <= 2; p++ {
			m := metric.Metric{Kind: metric.BRM, Restriction: r, P: p}
			if r == metric.ISRU {
				m.Omega = 1
			}
			add(fmt.Sprintf("%v-p%d", r, p), m)
		}
	}
	return b
}

// EuclideanForward is the case of brm-pairwise in terms of which the others are
// given.
const EuclideanForward = "euclidean-forward"

// search times exact search: the 10 nearest of 20,000 rows of 512 numbers for
// each of 500 queries.
func search() Benchmark {
	const queries, rows, h, k = 500, 20000, 512, 10
	b := Benchmark{Name: "search", Text: fmt.Sprintf("exact search: %d nearest of %d rows of %d numbers, %d queries", k, rows, h, queries)}
	for _, m := range []metric.Metric{{Kind: metric.Cosine}, {Kind: metric.Euclidean}, {Kind: metric.BRM, P: 2}} {
		b.Cases = append(b.Cases, Case{Name: m.Kind.String(), start: func(ctx context.Context, eng engine.Engine, _ int) (*work, error) {
			d := draw(eng)
			set := func(n int) *eval.Embeddings {
				x := make([]float32, n*h)
				for i := range x {
					x[i] = float32(d.rng.NormFloat64())
				}
				return &eval.Embeddings{X: x, N: n, H: h}
			}
			q, gallery := set(queries), set(rows)
			return &work{queries: queries, flops: 2 * float64(queries) * float64(rows) * h, run: func() error {
				_, err := eval.Neighbors(ctx, eng, q, gallery, m, k, eval.SearchOptions{})
				return err
			}}, d.err
		}})
	}
	return b
}

// sop times what takes all pairs of the test images of Stanford Online Products,
// with a tenth of its 60,502 images as queries: their nearest neighbors, and the
// ranks of all images of their classes, of which there are about five each.
func sop() Benchmark {
	const queries, rows, h, each = 6050, 60502, 512, 5
	b := Benchmark{Name: "sop-search", Text: fmt.Sprintf("the nearest of %d rows of %d numbers (the test images of SOP), or all ranks, %d queries; minutes on a CPU", rows, h, queries)}
	m := metric.Metric{Kind: metric.BRM, P: 2}
	opt := eval.SearchOptions{Self: eval.LeaveOneOut(queries)}
	add := func(name string, run func(ctx context.Context, eng engine.Engine, q, gallery *eval.Embeddings) error) {
		b.Cases = append(b.Cases, Case{Name: name, start: func(ctx context.Context, eng engine.Engine, _ int) (*work, error) {
			d := draw(eng)
			gallery := &eval.Embeddings{X: make([]float32, rows*h), N: rows, H: h, Labels: make([]int, rows)}
			center := make([]float64, h)
			for i := range rows {
				for c := range h {
					if i%each == 0 {
						center[c] = d.rng.NormFloat64()
					}
					gallery.X[i*h+c] = float32(center[c] + 1.5*d.rng.NormFloat64())
				}
				gallery.Labels[i] = i / each
			}
			q := &eval.Embeddings{X: gallery.X[:queries*h], N: queries, H: h, Labels: gallery.Labels[:queries]}
			return &work{queries: queries, flops: 2 * queries * float64(rows) * h, run: func() error { return run(ctx, eng, q, gallery) }}, d.err
		}})
	}
	add("brm", func(ctx context.Context, eng engine.Engine, q, gallery *eval.Embeddings) error {
		_, err := eval.Neighbors(ctx, eng, q, gallery, m, 1, opt)
		return err
	})
	add("brm-ranks", func(ctx context.Context, eng engine.Engine, q, gallery *eval.Embeddings) error {
		_, err := eval.Retrieve(ctx, eng, q, gallery, m, eval.RetrievalOptions{SearchOptions: opt})
		return err
	})
	return b
}

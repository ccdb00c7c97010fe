package eval

import (
	"fmt"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// randomRows are n rows of h numbers.
func randomRows(n, h int) *Embeddings {
	rng := seeded(17)
	e := &Embeddings{X: make([]float32, n*h), N: n, H: h}
	for i := range e.X {
		e.X[i] = float32(rng.NormFloat64())
	}
	return e
}

// BenchmarkSearcher searches a gallery that is prepared: one query, and 64 at a time. The
// last is 500 queries of a gallery that is not, as faiss's IndexFlatL2 with add and search.
func BenchmarkSearcher(b *testing.B) {
	for _, size := range [][2]int{{60502, 512}, {1_000_000, 128}} {
		e := randomRows(size[0], size[1])
		for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {P: 2}} {
			s, err := NewSearcher(benchmarkEngine(b), e, m)
			if err != nil {
				b.Fatal(err)
			}
			for _, n := range []int{1, 64} {
				queries := e.Select(LeaveOneOut(n))
				b.Run(fmt.Sprintf("rows=%dx%d/%v/queries=%d", e.N, e.H, m, n), func(b *testing.B) {
					for b.Loop() {
						if _, err := s.Nearest(b.Context(), queries, 10, SearchOptions{}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
	e := randomRows(20000, 512)
	queries := e.Select(LeaveOneOut(500))
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {P: 2}} {
		b.Run(fmt.Sprintf("rows=20000x512/%v/queries=500,prepare", m), func(b *testing.B) {
			eng := benchmarkEngine(b)
			for b.Loop() {
				s, err := NewSearcher(eng, e, m)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Nearest(b.Context(), queries, 10, SearchOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

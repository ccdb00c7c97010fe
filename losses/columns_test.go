package losses

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// Pair losses on a batch with further columns, of which one is a row's own item
// of an earlier time: the gradient is that of the value, and nothing depends on
// the older self.
func TestFurtherColumnsTakePartAndAnOlderSelfDoesNot(t *testing.T) {
	const rows, cols = 5, 9
	rng := rand.New(rand.NewPCG(8, 8))
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}} {
		for _, name := range ofMatrices() {
			l, err := New(name, Options{Metric: m, Classes: 3, Dim: 4})
			if err != nil {
				t.Fatal(err)
			}
			if l.Columns() == Classes || NeedsSquare(l) || draws(l) {
				continue
			}
			x := &Matrix{Rows: rows, Cols: cols, V: make([]float64, rows*cols), Similarity: m.Similarity(), SelfColumns: true,
				RowLabels: []int{0, 0, 1, 1, 2}, ColLabels: []int{0, 0, 1, 1, 2, 0, 1, 2, 0},
				RowIDs: []int{10, 11, 12, 13, 14}, ColIDs: []int{-1, -1, -1, -1, -1, 20, 12, 22, -1}}
			for k := range x.V {
				x.V[k] = 0.2 + 0.6*rng.Float64()
			}
			const older = 2*cols + 6 // of row 2
			grad, scratch := make([]float64, len(x.V)), make([]float64, len(x.V))
			r, err := l.Eval(x, grad)
			if err != nil {
				t.Fatal(err)
			}
			if r.Total == 0 {
				t.Errorf("%s on %v sees nothing", name, m)
			}
			beyond := 0.0
			for k := range x.V {
				if k%cols >= rows {
					beyond += math.Abs(grad[k])
				}
				at := x.V[k]
				value := func(v float64) float64 {
					x.V[k] = v
					r, err := l.Eval(x, scratch)
					if err != nil {
						t.Fatal(err)
					}
					return r.Value
				}
				want := (value(at+1e-6) - value(at-1e-6)) / 2e-6
				x.V[k] = at
				if _, detached := inner(l).(*Circle); !detached && math.Abs(want-grad[k]) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("%s on %v: gradient %d is %v, by differences %v", name, m, k, grad[k], want)
				}
				if k == older && (grad[k] != 0 || want != 0) {
					t.Errorf("%s on %v: an older self has gradient %v, by differences %v", name, m, grad[k], want)
				}
			}
			if beyond == 0 {
				t.Errorf("%s on %v: no gradient beyond the batch", name, m)
			}
		}
	}
}

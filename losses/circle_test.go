package losses

import (
	"math"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenCircle(t *testing.T, c *golden.Case) {
	onBatchGolden(t, c, &Circle{M: c.Params.Float("m", 0), Gamma: c.Params.Float("gamma", 0)}, dot)
}

// With the weights []+ held where they are, the gradient is that of the value.
func TestCircleGradientHoldsItsWeights(t *testing.T) {
	s := situations(euclidean)[0]
	m := batch(dot, s.x, s.labels)
	l := &Circle{M: 0.4, Gamma: 8}
	frozen := func(at, v []float64) float64 { // weights of at, similarities v
		sum, rows := 0.0, 0
		for a := range m.Rows {
			pos, neg := 0.0, 0.0
			for j := range m.Cols {
				k := a*m.Cols + j
				switch {
				case m.RowLabels[a] != m.RowLabels[j]:
					neg += math.Exp(l.Gamma * math.Max(at[k]+l.M, 0) * (v[k] - l.M))
				case a != j:
					pos += math.Exp(-l.Gamma * math.Max(1+l.M-at[k], 0) * (v[k] - 1 + l.M))
				}
			}
			if pos > 0 {
				sum += math.Log1p(pos * neg)
				rows++
			}
		}
		return sum / float64(rows)
	}
	grad := make([]float64, len(m.V))
	r, err := l.Eval(m, grad)
	if err != nil {
		t.Fatal(err)
	}
	if want := frozen(m.V, m.V); math.Abs(r.Value-want) > 1e-12*want {
		t.Errorf("value %v, want %v", r.Value, want)
	}
	for k := range m.V {
		const step = 1e-6
		v := slices.Clone(m.V)
		v[k] += step
		up := frozen(m.V, v)
		v[k] -= 2 * step
		if want := (up - frozen(m.V, v)) / (2 * step); math.Abs(grad[k]-want) > 1e-7*(1+math.Abs(want)) {
			t.Errorf("gradient %d is %v, want %v", k, grad[k], want)
		}
	}
}

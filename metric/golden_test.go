package metric

import (
	"os"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

// goldenMetric reads the metric that a file's parameters describe.
func goldenMetric(t *testing.T, p golden.Params) Metric {
	t.Helper()
	name := p.String("metric", "")
	if name == "" {
		r, err := ParseRestriction(p.String("R", "none"))
		if err != nil {
			t.Fatal(err)
		}
		m := Metric{Kind: BRM, Restriction: r, Omega: p.Float("w", 0), P: p.Int("p", 0)}
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		return m.Canonical()
	}
	m, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// goldenOutputs names the outputs of the metric's two forms.
func goldenOutputs(m Metric) map[string]Metric {
	if m.Kind != BRM {
		return map[string]Metric{"M": m}
	}
	power := m
	power.Power = true
	return map[string]Metric{"D": m, "Dp": power}
}

func rows(x golden.Tensor) [][]float64 {
	n, h := x.Shape[0], x.Shape[1]
	out := make([][]float64, n)
	for i := range out {
		out[i] = x.Data[i*h : (i+1)*h]
	}
	return out
}

func TestMetricAgainstGoldenNumbers(t *testing.T) {
	golden.WalkFS(t, os.DirFS("../internal/enginetest/testdata/golden"), "brm", func(t *testing.T, c *golden.Case) {
		switch {
		case strings.HasPrefix(c.Name, "losses_"):
			t.Skip("a case of the losses, tested in their package")
		case strings.HasPrefix(c.Name, "pairwise_"):
			x := c.Inputs["embeddings"]
			goldenMatrix(t, c, x, x, func(out string, da, db []float64) {
				for i, g := range db {
					da[i] += g
				}
				golden.Close64(t, "grad_weighted_sum_"+out, da, c.Outputs["grad_weighted_sum_"+out], c.Tolerance)
			})
		case strings.HasPrefix(c.Name, "query_gallery_"):
			goldenMatrix(t, c, c.Inputs["query"], c.Inputs["gallery"], func(out string, da, db []float64) {
				golden.Close64(t, "grad_query "+out, da, c.Outputs["grad_query_weighted_sum_"+out], c.Tolerance)
				golden.Close64(t, "grad_gallery "+out, db, c.Outputs["grad_gallery_weighted_sum_"+out], c.Tolerance)
			})
		default:
			t.Fatalf("%s: unknown kind of case %q", c.Path, c.Name)
		}
	})
}

func goldenMatrix(t *testing.T, c *golden.Case, x, y golden.Tensor, gradients func(out string, da, db []float64)) {
	t.Helper()
	a, b, w := rows(x), rows(y), c.Inputs["weights"].Data
	for out, m := range goldenOutputs(goldenMetric(t, c.Params)) {
		d := make([]float64, len(a)*len(b))
		da, db := golden.Tensor{Shape: x.Shape, Data: make([]float64, len(x.Data))}, golden.Tensor{Shape: y.Shape, Data: make([]float64, len(y.Data))}
		ga, gb := rows(da), rows(db)
		sum := 0.0
		for i := range a {
			for j := range b {
				k := i*len(b) + j
				d[k] = m.Value64(a[i], b[j])
				sum += w[k] * d[k]
				m.Gradient(ga[i], gb[j], a[i], b[j], w[k])
			}
		}
		golden.Close64(t, out, d, c.Outputs[out], c.Tolerance)
		golden.Close64(t, "weighted_sum_"+out, []float64{sum}, c.Outputs["weighted_sum_"+out], c.Tolerance)
		gradients(out, da.Data, db.Data)
	}
}

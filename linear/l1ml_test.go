package linear

import (
	"context"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/internal/golden"
)

func TestGoldenL1ML(t *testing.T) {
	golden.Walk(t, "l1ml", func(t *testing.T, c *golden.Case) {
		p := &Problem{X: goldenMatrix(c.Inputs["x"]), Similar: rowPairs(c.Inputs["similar"]), Dissimilar: rowPairs(c.Inputs["dissimilar"])}
		f := l1Ratio{x: p.X, similar: p.Similar, dissimilar: p.Dissimilar}
		w := goldenMatrix(c.Inputs["W"])
		d, m := w.Dims()
		g := mat.NewDense(d, m, nil)
		golden.Close64(t, "value", []float64{f.value(w, 0, g)}, c.Outputs["value"], c.Tolerance)
		golden.Close64(t, "grad_W", flat(g), c.Outputs["grad_W"], c.Tolerance)
		var z mat.Dense
		z.Mul(p.X, w)
		golden.Close64(t, "similar_sum", []float64{f.sum(&z, p.Similar, 0, nil, 0)}, c.Outputs["similar_sum"], c.Tolerance)
		golden.Close64(t, "dissimilar_sum", []float64{f.sum(&z, p.Dissimilar, 0, nil, 0)}, c.Outputs["dissimilar_sum"], c.Tolerance)

		r := fit(t, L1ML{Dim: c.Params.Int("dim", 0), Starts: 20}, p)
		t.Logf("%v best known %v", r.ObjectiveEnd, c.Outputs["value_best_known"].Scalar())
		if want := c.Outputs["value_best_known"].Scalar(); r.ObjectiveEnd > want*(1+1e-3) {
			t.Errorf("the ratio is %v, best known: %v", r.ObjectiveEnd, want)
		}
		var square mat.Dense
		square.Mul(r.L, r.L.T())
		if !mat.EqualApprox(&square, identity(m, m), 1e-9) {
			t.Errorf("L L^T is %v", mat.Formatted(&square))
		}
		if got := f.value(mat.DenseCopyOf(r.L.T()), 0, nil); got > r.ObjectiveEnd*(1+1e-9) {
			t.Errorf("the ratio of L is %v, said: %v", got, r.ObjectiveEnd)
		}
	})
}

func TestL1MLGradientByFiniteDifferences(t *testing.T) {
	p := blobs(3, 8, 5, 5)
	s, dis, err := SamplePairs(p.Labels, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := l1Ratio{x: p.X, similar: s, dissimilar: dis}
	v, g, by := mat.NewDense(5, 2, nil), mat.NewDense(5, 2, nil), mat.NewDense(5, 2, nil)
	rng := newRand(3, 1)
	for i := range v.RawMatrix().Data {
		v.RawMatrix().Data[i] = rng.NormFloat64()
	}
	value := func() float64 {
		o, err := newOrthonormal(v)
		if err != nil {
			t.Fatal(err)
		}
		return f.value(&o.factor, .1, nil)
	}
	o, err := newOrthonormal(v)
	if err != nil {
		t.Fatal(err)
	}
	f.value(&o.factor, .1, by)
	o.backward(g, by)
	gradientCheck(t, "l1-ml", v, g, value)
}

func TestL1MLSettingsThatMeanNothing(t *testing.T) {
	p := blobs(3, 10, 3, 8)
	if _, err := (L1ML{Dim: 4}).Fit(context.Background(), p); err == nil || !strings.Contains(err.Error(), "dim is 4, want 1 to 3") {
		t.Errorf("too many columns: %v", err)
	}
	for i := range p.Labels {
		p.X.SetRow(i, []float64{1, 2, 3})
	}
	if _, err := (L1ML{}).Fit(context.Background(), p); err == nil || !strings.Contains(err.Error(), "do not differ") {
		t.Errorf("equal rows: %v", err)
	}
}

package losses

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func TestGoldenMDR(t *testing.T) {
	golden.Walk(t, "mdr", func(t *testing.T, c *golden.Case) {
		x := c.Inputs["x"]
		if r, rows := c.Inputs["r"]; rows {
			goldenMeanScaling(t, c, x, r)
			return
		}
		scalar := func(name string) float64 { return c.Inputs[name].Scalar() }
		m := &MDR{Weight: c.Params.Float("weight", 0), Nu: c.Params.Float("nu", 0), Momentum: 1 - c.Params.Float("momentum", 0),
			Levels: c.Inputs["levels"].Shape[0], Scaled: c.Params.Bool("mean_scaled", false), asSet: true}
		p := m.Parameters()
		copy(p[0].Value, c.Inputs["levels"].Data)
		if !c.Params.Bool("first", true) {
			p[1].Value[0], p[1].Value[1] = scalar("mean_before"), scalar("std_before")
		}
		grad := make([]float64, len(x.Data))
		v, err := m.EvalRows(x.Data, x.Shape[0], x.Shape[1], grad)
		if err != nil {
			t.Fatal(err)
		}
		golden.Close64(t, "value", []float64{v}, c.Outputs["value"], c.Tolerance)
		golden.Close64(t, "mean", p[1].Value[:1], c.Outputs["mean"], c.Tolerance)
		golden.Close64(t, "std", p[1].Value[1:], c.Outputs["std"], c.Tolerance)
		tol := c.Tolerance
		tol.ATol += tol.RTol * golden.MaxAbs(c.Outputs["grad_x"].Data)
		golden.Close64(t, "grad_x", grad, c.Outputs["grad_x"], tol)
		golden.Close64(t, "grad_levels", p[0].Grad, c.Outputs["grad_levels"], c.Tolerance)
	})
}

// goldenMeanScaling compares what Scaled does to rows: they are divided by the mean of
// their distances. The value is the sum of products with r.
func goldenMeanScaling(t *testing.T, c *golden.Case, x, r golden.Tensor) {
	rows, dim := x.Shape[0], x.Shape[1]
	unit := mean((&MDR{}).distances(x.Data, rows, dim))
	y, value := make([]float64, len(x.Data)), 0.
	for k, v := range x.Data {
		y[k] = v / unit
		value += y[k] * r.Data[k]
	}
	golden.Close64(t, "y", y, c.Outputs["y"], c.Tolerance)
	golden.Close64(t, "value", []float64{value}, c.Outputs["value"], golden.Tolerance{RTol: 1e-6, ATol: 1e-7})
}

// A common scale of all rows changes nothing with Scaled, and rows far apart from their
// levels are drawn to them without it.
func TestMDRAndTheScaleOfRows(t *testing.T) {
	x := []float64{1, 0, 0, 2, -1, 3, 2, 2, 0, -1}
	large := make([]float64, len(x))
	for k, v := range x {
		large[k] = 7 * v
	}
	of := func(x []float64) (float64, []float64) {
		grad := make([]float64, len(x))
		v, err := (&MDR{}).EvalRows(x, 5, 2, grad)
		if err != nil {
			t.Fatal(err)
		}
		return v, grad
	}
	a, da := of(x)
	b, db := of(large)
	if math.Abs(a-b) > 1e-12 {
		t.Errorf("%v, of rows seven times as long %v", a, b)
	}
	along := 0.
	for k := range da {
		along += da[k] * x[k]
		if math.Abs(da[k]-7*db[k]) > 1e-12 {
			t.Errorf("gradient %d is %v and %v", k, da[k], db[k])
		}
	}
	if math.Abs(along) > 1e-12 {
		t.Errorf("the gradient along the rows is %v", along)
	}
}

func TestMDRBeginsItsAveragesWithRowsThatDiffer(t *testing.T) {
	m := &MDR{}
	grad := make([]float64, 4)
	v, err := m.EvalRows([]float64{1, 2, 1, 2}, 2, 2, grad)
	if err != nil || math.Abs(v-.01*18) > 1e-15 || m.average != [2]float64{} {
		t.Errorf("equal rows: %v, %v, averages %v", v, err, m.average)
	}
	if _, err := m.EvalRows([]float64{1, 2, 2, 2}, 2, 2, grad); err != nil || m.average[0] != .5 {
		t.Errorf("averages %v, %v; want a mean of 0.5", m.average, err)
	}
}

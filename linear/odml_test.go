package linear

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/internal/golden"
)

func rowPairs(v golden.Tensor) (list []Pair) {
	at := v.Ints()
	for k := 0; k < len(at); k += 2 {
		list = append(list, Pair{at[k], at[k+1]})
	}
	return list
}

func TestGoldenODML(t *testing.T) {
	golden.Walk(t, "odml", func(t *testing.T, c *golden.Case) {
		o := ODML{Regularizer: Divergence(c.Params.String("regulariser", "")), Tau: c.Params.Float("tau", 0), Lambda: c.Params.Float("lambda", 0),
			Epsilon: c.Params.Float("eps", 0), Tolerance: 1e-9, MaxIterations: 100000}
		p := &Problem{X: goldenMatrix(c.Inputs["x"]), Similar: rowPairs(c.Inputs["similar"]), Dissimilar: rowPairs(c.Inputs["dissimilar"])}
		f, err := o.problem(p.X, p.Similar, p.Dissimilar)
		if err != nil {
			t.Fatal(err)
		}
		_, d := p.X.Dims()
		at := func(m *mat.SymDense, value, grad string) {
			t.Helper()
			g := mat.NewSymDense(d, nil)
			v, err := f.value(m, g)
			if err != nil {
				t.Fatal(err)
			}
			golden.Close64(t, value, []float64{v}, c.Outputs[value], c.Tolerance)
			tol := c.Tolerance
			tol.ATol += tol.RTol * golden.MaxAbs(c.Outputs[grad].Data)
			golden.Close64(t, grad, flat(g), c.Outputs[grad], tol)
		}
		at(mat.NewSymDense(d, c.Inputs["M"].Data), "value", "grad_M")
		at(mat.NewSymDense(d, nil), "value_at_0", "grad_at_0")

		r := fit(t, o, p)
		if !r.Converged {
			t.Errorf("not converged: %q", r.Notes)
		}
		golden.Close64(t, "value_optimum", []float64{r.ObjectiveEnd}, c.Outputs["value_optimum"], golden.Tolerance{RTol: 1e-6})
		want := c.Outputs["M_optimum"]
		golden.Close64(t, "M_optimum", flat(r.M()), want, golden.Tolerance{ATol: 1e-3 * golden.MaxAbs(want.Data)})
	})
}

// A lambda that is large leaves the minimum of the regularizer alone.
func TestODMLWithALargeLambda(t *testing.T) {
	p := blobs(3, 20, 4, 7)
	for kind, want := range map[Divergence]float64{CSFN: .5, CVND: math.Exp(-1) - 1e-3, CLDD: -1/math.Log(1e-3) - 1e-3} {
		m := fit(t, ODML{Regularizer: kind, Lambda: 1e6}, p).M()
		target := mat.NewSymDense(4, nil)
		addIdentity(target, want)
		if !mat.EqualApprox(m, target, 1e-3) {
			t.Errorf("%s: M is %v, want %v on its diagonal", kind, mat.Formatted(m), want)
		}
	}
}

func TestODMLSettingsThatMeanNothing(t *testing.T) {
	p := blobs(3, 10, 3, 8)
	for text, o := range map[string]ODML{
		"regularizer": {Regularizer: "frobenius"}, "tau is": {Tau: -1}, "lambda is": {Lambda: math.Inf(1)}, "epsilon is": {Epsilon: 2}, "tolerance is": {Tolerance: -1},
	} {
		if _, err := o.Fit(context.Background(), p); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	// Equal rows of all classes leave no distance for tau.
	for i := range p.Labels {
		p.X.SetRow(i, []float64{1, 2, 3})
	}
	if _, err := (ODML{}).Fit(context.Background(), p); err == nil || !strings.Contains(err.Error(), "tau") {
		t.Errorf("equal rows: %v", err)
	}
}

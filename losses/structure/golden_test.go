package structure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
)

func viewOf(v golden.Tensor) View {
	return View{Dim: v.Shape[1], X: v.Data, Grad: make([]float64, len(v.Data))}
}

// unit returns rows of length 1, and what takes a gradient by them to one by x.
func unit(x View) (u View, back func(to []float64)) {
	u = View{Dim: x.Dim, X: make([]float64, len(x.X)), Grad: make([]float64, len(x.X))}
	h := x.Dim
	lengths := make([]float64, len(x.X)/h)
	for i := range lengths {
		lengths[i] = math.Sqrt(View{Dim: h, X: append(make([]float64, h), x.X[i*h:(i+1)*h]...)}.square(0, 1))
		for k := range h {
			u.X[i*h+k] = x.X[i*h+k] / lengths[i]
		}
	}
	return u, func(to []float64) {
		for i, length := range lengths {
			along := 0.
			for k := range h {
				along += u.Grad[i*h+k] * u.X[i*h+k]
			}
			for k := range h {
				to[i*h+k] = (u.Grad[i*h+k] - along*u.X[i*h+k]) / length
			}
		}
	}
}

func TestGoldenJRD(t *testing.T) {
	golden.Walk(t, "jrd", func(t *testing.T, c *golden.Case) {
		kernels := c.Params.Ints("kernels")
		term := JRD{Weight: 1, Kernels: [3]int(kernels), Spread: c.Params.Float("mul", 0)}
		features, x, w := viewOf(c.Inputs["features"]), viewOf(c.Inputs["x"]), c.Inputs["w"]
		dim, classes := w.Shape[0], w.Shape[1]
		turned := View{Dim: dim, X: make([]float64, len(w.Data))} // (classes, dim)
		for k := range dim {
			for j := range classes {
				turned.X[j*dim+k] = w.Data[k*classes+j]
			}
		}
		e, backE := unit(x)
		p, backP := unit(turned)
		labels := c.Inputs["labels"].Ints()
		cosines := View{Dim: classes, X: make([]float64, len(labels)*classes), Grad: make([]float64, len(labels)*classes)}
		each := func(f func(i, j, at, ke, kp int)) {
			for i := range labels {
				for j := range classes {
					for k := range dim {
						f(i, j, i*classes+j, i*dim+k, j*dim+k)
					}
				}
			}
		}
		each(func(_, _, at, ke, kp int) { cosines.X[at] += e.X[ke] * p.X[kp] })
		value, err := term.Eval(labels, []View{features, e, cosines})
		if err != nil {
			t.Fatal(err)
		}
		each(func(_, _, at, ke, kp int) {
			e.Grad[ke] += cosines.Grad[at] * p.X[kp]
			p.Grad[kp] += cosines.Grad[at] * e.X[ke]
		})
		golden.Close64(t, "regulariser", []float64{value}, c.Outputs["regulariser"], c.Tolerance)
		dx, dp, dw := make([]float64, len(x.X)), make([]float64, len(w.Data)), make([]float64, len(w.Data))
		backE(dx)
		backP(dp)
		for k := range dim {
			for j := range classes {
				dw[k*classes+j] = dp[j*dim+k]
			}
		}
		for name, got := range map[string][]float64{"features": features.Grad, "x": dx, "w": dw} {
			golden.Close64(t, "gradient of "+name, got, c.Outputs["regulariser_grad_"+name], c.Tolerance)
		}
	})
}

func TestGoldenNASA(t *testing.T) {
	golden.Walk(t, "nasa", func(t *testing.T, c *golden.Case) {
		switch {
		case c.Inputs["features"].Shape != nil:
			goldenHead(t, c)
			return
		case c.Inputs["w"].Shape != nil:
			t.Skip("a case of re-ranking")
		}
		term := NASA{Weight: c.Params.Float("weight", 0), Deviations: c.Params.Float("t", 0), Sharpness: c.Params.Float("alpha", 0)}
		x, z := viewOf(c.Inputs["x"]), viewOf(c.Inputs["z"])
		value, err := term.Eval(make([]int, len(x.X)/x.Dim), []View{x, z})
		if err != nil {
			t.Fatal(err)
		}
		golden.Close64(t, "value", []float64{value}, c.Outputs["value"], c.Tolerance)
		golden.Close64(t, "grad_x", x.Grad, c.Outputs["grad_x"], loose(c, "grad_x"))
		golden.Close64(t, "grad_z", z.Grad, c.Outputs["grad_z"], loose(c, "grad_z"))
	})
}

// loose allows for the digits that the sums of a gradient cancel.
func loose(c *golden.Case, name string) golden.Tolerance {
	tol := c.Tolerance
	tol.ATol += tol.RTol * golden.MaxAbs(c.Outputs[name].Data)
	return tol
}

// goldenHead compares the weights w that the structure head gives, and the gradients of
// the sum of w r.
func goldenHead(t *testing.T, c *golden.Case) {
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	params := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, params)
	features := c.Inputs["features"]
	in := g.Input("features", features.Shape...)
	g.NeedGrad(in)
	z := Head(g, in, c.Inputs["w1"].Shape[0], c.Inputs["w2"].Shape[0])
	r := c.Inputs["r"].Data
	w := make([]float32, len(r))
	loss := g.HostLoss("sum", func(values, grads [][]float64) (sum float64, err error) {
		for k, v := range values[0] {
			s := 1 / (1 + math.Exp(-v))
			w[k] = float32(.5 + s)
			sum += (.5 + s) * r[k]
			grads[0][k] = r[k] * s * (1 - s)
		}
		return sum, nil
	}, z)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"w1": "fc1.weight", "b1": "fc1.bias", "gamma1": "fc1.norm.weight", "beta1": "fc1.norm.bias", "w2": "fc2.weight", "b2": "fc2.bias", "gamma2": "fc2.norm.weight", "beta2": "fc2.norm.bias"}
	for golden, name := range names {
		p := params.Get("training.nasa." + name)
		if p.Group != layers.Training {
			t.Errorf("%s is of group %v", name, p.Group)
		}
		if err := eng.Write(p.Value, c.Inputs[golden].Float32()); err != nil {
			t.Fatal(err)
		}
	}
	if err := eng.Write(g.Value(in), features.Float32()); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	golden.Close32(t, "w", w, c.Outputs["w"])
	for name, param := range names {
		p := params.Get("training.nasa." + param)
		got := make([]float32, p.Value.Size())
		if err := eng.Read(got, g.ParamGrad(p)); err != nil {
			t.Fatal(err)
		}
		golden.Close32(t, "gradient of "+name, got, c.Outputs["grad_"+name])
	}
	got := make([]float32, len(features.Data))
	if err := eng.Read(got, g.Value(g.GradOf(in))); err != nil {
		t.Fatal(err)
	}
	golden.Close32(t, "gradient of features", got, c.Outputs["grad_features"])
}

// Of rows that say nothing terms are 0, or what follows from equal rows.
func TestTermsOfFewRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	view := func(n, dim int) View {
		v := View{Dim: dim, X: make([]float64, n*dim), Grad: make([]float64, n*dim)}
		for k := range v.X {
			v.X[k] = rng.NormFloat64()
		}
		return v
	}
	for _, c := range []struct {
		term   Term
		labels []int
	}{{JRD{}, []int{3}}, {JRD{}, []int{1, 1, 1}}, {NASA{}, []int{0}}} {
		var views []View
		for range c.term.Kinds() {
			views = append(views, view(len(c.labels), 4))
		}
		v, err := c.term.Eval(c.labels, views)
		if err != nil || v != 0 {
			t.Errorf("%T of labels %v: %v, %v; want 0", c.term, c.labels, v, err)
		}
	}
	equal := view(3, 2)
	for k := range equal.X {
		equal.X[k] = 1
	}
	if v, err := (NASA{}).Eval([]int{0, 0, 0}, []View{equal, view(3, 2)}); err != nil || v != 0 {
		t.Errorf("NASA of equal rows: %v, %v; want 0", v, err)
	}
	if v, err := (JRD{}).Eval([]int{0, 1, 2}, []View{equal, equal, equal}); err != nil || math.Abs(v-1) > 1e-15 {
		t.Errorf("JRD of equal rows: %v, %v; want 1", v, err)
	}
}

func TestSettingsThatMeanNothing(t *testing.T) {
	for _, term := range []Term{JRD{Weight: -1}, JRD{Spread: math.NaN()}, JRD{Kernels: [3]int{1, -1, 1}}, NASA{Sharpness: math.Inf(1)}, NASA{Deviations: -3}} {
		var views []View
		for range term.Kinds() {
			views = append(views, View{Dim: 1, X: []float64{1, 2}})
		}
		if _, err := term.Eval([]int{0, 1}, views); err == nil {
			t.Errorf("%+v is accepted", term)
		}
	}
	if _, err := (NASA{}).Eval([]int{0, 1}, []View{{Dim: 1, X: []float64{1, math.NaN()}}, {Dim: 1, X: []float64{1, 2}}}); err == nil {
		t.Error("NaN is accepted")
	}
}

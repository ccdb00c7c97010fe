package layers_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
)

// inputGradient returns the gradient that reaches x.
func (f flowCase) inputGradient(t *testing.T, spec layers.FlowSpec, seed []float32) []float32 {
	t.Helper()
	eng := reference.New()
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	x, s, d := g.Input("x", f.n, f.c, f.h, f.w), g.Input("s", f.out...), g.Input("seed", f.out...)
	g.NeedGrad(x)
	g.Backward(g.GeometryFlow("flow", x, s, spec), d)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for n, v := range map[*layers.Node][]float32{x: f.x, s: f.s, d: seed} {
		if err := eng.Write(g.Value(n), v); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	dx := make([]float32, len(f.x))
	if err := eng.Read(dx, g.Value(g.GradOf(x))); err != nil {
		t.Fatal(err)
	}
	return dx
}

// loss is the seed times the output of the layer as the paper writes it.
func (f flowCase) loss(x [][][]float64, spec layers.FlowSpec, seed []float32) float64 {
	_, m := plainFlow(x, spec)
	size := len(f.s) / f.n
	sum := 0.0
	for j := range f.n {
		for l := range f.n {
			for p := range size {
				sum += m.At(j, l) * float64(f.s[l*size+p]) * float64(seed[j*size+p])
			}
		}
	}
	return sum
}

// A gradient through the weights agrees with central differences of the layer in
// float64. Gram matrices in float32 leave errors of some thousandths, most where
// eigenvalues are close.
func TestFullGradientOfFlowAgreesWithDifferences(t *testing.T) {
	const step, tolerance = 1e-5, .02
	f := clustered(1, 9, 3, 4, 3, 2, 2, 2)
	seed := drawn(rand.New(rand.NewPCG(7, 7)), len(f.s))
	for name, spec := range flowSpecs() {
		if !spec.Curvature {
			continue
		}
		spec.Full = true
		got := f.inputGradient(t, spec, seed)
		largest, worst, at := 0.0, 0.0, 0
		for i := 0; i < len(f.x); i += 5 {
			x := f.nested()
			area := f.h * f.w
			v := &x[i/(area*f.c)][i/area%f.c][i%area]
			middle := *v
			*v = middle + step
			up := f.loss(x, spec, seed)
			*v = middle - step
			want := (up - f.loss(x, spec, seed)) / (2 * step)
			largest = max(largest, math.Abs(want))
			if off := math.Abs(float64(got[i]) - want); off > worst {
				worst, at = off, i
			}
		}
		if largest < 1e-4 || worst > tolerance*largest {
			t.Errorf("%s: the gradient of value %d is off by %v, the largest is %v", name, at, worst, largest)
		}
	}
}

// Without curvature the weights do not change with the inputs, nor does the
// gradient that runs through the output.
func TestFullGradientOfFlowBesideTheOrdinaryOne(t *testing.T) {
	f := clustered(1, 9, 3, 4, 3, 2)
	flat := layers.DefaultFlow()
	flat.Curvature, flat.Full = false, true
	for i, v := range f.inputGradient(t, flat, f.s) {
		if v != 0 {
			t.Fatalf("value %d has the gradient %v without curvature", i, v)
		}
	}
	same := f
	same.x = make([]float32, len(f.x)) // all alike
	full := layers.DefaultFlow()
	full.Full = true
	for i, v := range same.inputGradient(t, full, f.s) {
		if v != 0 {
			t.Fatalf("value %d of equal items has the gradient %v", i, v)
		}
	}
}

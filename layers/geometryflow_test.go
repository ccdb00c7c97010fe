package layers_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
)

// flowCase is a batch x (n, c, h, w) and what a convolution made of it, s
// (n, sc, sh, sw).
type flowCase struct {
	n, c, h, w int
	out        []int
	x, s       []float32
}

// clustered draws a batch whose items lie in a few loose groups on curved
// lines, so that some are neighbors and tangent spaces differ.
func clustered(seed uint64, n, c, h, w int, out ...int) flowCase {
	rng := rand.New(rand.NewPCG(seed, 11))
	f := flowCase{n: n, c: c, h: h, w: w, out: append([]int{n}, out...)}
	size := c * h * w
	bend := make([][]float64, 3)
	for k := range bend {
		bend[k] = make([]float64, size)
		for p := range bend[k] {
			bend[k][p] = rng.NormFloat64()
		}
	}
	for range n {
		t := rng.Float64()*4 - 2
		for p := range size {
			f.x = append(f.x, float32(5+t*bend[0][p]+math.Sin(2*t)*bend[1][p]+t*t*bend[2][p]/2+.2*rng.NormFloat64()))
		}
	}
	f.s = drawn(rng, n*volumeOf(out))
	return f
}

func drawn(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func volumeOf(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// nested returns x[j][channel][place].
func (f flowCase) nested() [][][]float64 {
	x := make([][][]float64, f.n)
	area := f.h * f.w
	for j := range x {
		x[j] = make([][]float64, f.c)
		for c := range x[j] {
			for _, v := range f.x[(j*f.c+c)*area:][:area] {
				x[j][c] = append(x[j][c], float64(v))
			}
		}
	}
	return x
}

// run returns output and, for the gradient seed, the gradient of s and of x, of
// which there is none (nil).
func (f flowCase) run(t *testing.T, spec layers.FlowSpec, seed []float32) (y, ds []float32, stats layers.FlowStats) {
	t.Helper()
	eng := reference.New()
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	x, s := g.Input("x", f.n, f.c, f.h, f.w), g.Input("s", f.out...)
	g.NeedGrad(x)
	g.NeedGrad(s)
	out := g.GeometryFlow("flow", x, s, spec)
	d := g.Input("seed", f.out...)
	g.Keep(out)
	g.Backward(out, d)
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
	if g.GradOf(x) != nil {
		t.Error("a gradient reaches the input of the weights")
	}
	y, ds = make([]float32, len(f.s)), make([]float32, len(f.s))
	if err := eng.Read(y, g.Value(out)); err != nil {
		t.Fatal(err)
	}
	if err := eng.Read(ds, g.Value(g.GradOf(s))); err != nil {
		t.Fatal(err)
	}
	if list := g.Flows(); len(list) > 0 {
		stats = list[0]
	}
	return y, ds, stats
}

// flowTolerance is for Gram matrices in float32, from which angles near 0 come
// out with errors of about the root of theirs.
const flowTolerance = 2e-3

func flowSpecs() map[string]layers.FlowSpec {
	with := func(f func(s *layers.FlowSpec)) layers.FlowSpec {
		s := layers.DefaultFlow()
		f(&s)
		return s
	}
	return map[string]layers.FlowSpec{
		"default":         layers.DefaultFlow(),
		"one component":   with(func(s *layers.FlowSpec) { s.Components = 1 }),
		"share":           with(func(s *layers.FlowSpec) { s.Variance = .7 }),
		"largest":         with(func(s *layers.FlowSpec) { s.Distance, s.Delta = layers.FlowMax, .5 }),
		"rms":             with(func(s *layers.FlowSpec) { s.Distance, s.Delta = layers.FlowRMS, 1.2 }),
		"none":            with(func(s *layers.FlowSpec) { s.Distance, s.Delta = layers.FlowNone, 7 }),
		"euclidean angle": with(func(s *layers.FlowSpec) { s.Raw, s.Eps = true, 1 }),
		"excluded":        with(func(s *layers.FlowSpec) { s.Alone, s.Orthogonal = true, true }),
		"strong, kept":    with(func(s *layers.FlowSpec) { s.Eps, s.Negative, s.Lambda = .3, true, .02 }),
		"strong":          with(func(s *layers.FlowSpec) { s.Eps, s.Lambda = .3, .9 }),
		"flat":            with(func(s *layers.FlowSpec) { s.Curvature = false }),
	}
}

func TestGeometryFlowAgreesWithThePaperInFloat64(t *testing.T) {
	f := clustered(1, 9, 3, 4, 3, 2, 2, 2)
	rng := rand.New(rand.NewPCG(7, 7))
	seed := drawn(rng, len(f.s))
	for name, spec := range flowSpecs() {
		_, m := plainFlow(f.nested(), spec)
		y, ds, stats := f.run(t, spec, seed)
		size := len(f.s) / f.n
		for j := range f.n {
			for p := range size {
				var want, grad float64
				for l := range f.n {
					want += m.At(j, l) * float64(f.s[l*size+p])
					grad += m.At(l, j) * float64(seed[l*size+p])
				}
				if got := float64(y[j*size+p]); math.Abs(got-want) > flowTolerance {
					t.Errorf("%s: output %d of item %d is %v, want %v", name, p, j, got, want)
				}
				if got := float64(ds[j*size+p]); math.Abs(got-grad) > flowTolerance {
					t.Errorf("%s: gradient %d of item %d is %v, want %v", name, p, j, got, grad)
				}
			}
		}
		if stats.Neighbors == 0 || stats.Neighbors == float64(f.n-1) {
			t.Errorf("%s: %v neighbors of %d show nothing", name, stats.Neighbors, f.n)
		}
	}
}

func TestNoFlowIsExactlyTheIdentity(t *testing.T) {
	f := clustered(2, 6, 2, 3, 3, 4)
	spec := layers.DefaultFlow()
	spec.Lambda = 0
	y, ds, _ := f.run(t, spec, f.s)
	for i, v := range f.s {
		if y[i] != v || ds[i] != v {
			t.Fatalf("value %d is %v and its gradient %v, want %v", i, y[i], ds[i], v)
		}
	}
}

func TestFlowWithoutCurvatureIsLaplacianSmoothing(t *testing.T) {
	f := clustered(3, 8, 2, 3, 3, 5)
	spec := layers.DefaultFlow()
	spec.Curvature, spec.Delta = false, 1
	y, _, _ := f.run(t, spec, f.s)
	w, _ := plainFlow(f.nested(), spec)
	for j := range f.n {
		degree := mat.Sum(w.RowView(j))
		for p := range 5 {
			// (I - k L) s with the random-walk Laplacian L = I - D^-1 A, and k the
			// share of the neighbors.
			k := spec.Lambda * degree / (1 + spec.Lambda*degree)
			mean := 0.0
			for l := range f.n {
				if a := w.At(j, l); a != 0 && a != 1 {
					t.Fatalf("weight %v without curvature", a)
				}
				mean += w.At(j, l) * float64(f.s[l*5+p]) / max(degree, 1)
			}
			own := float64(f.s[j*5+p])
			if want := own - k*(own-mean); math.Abs(float64(y[j*5+p])-want) > 1e-6 {
				t.Errorf("item %d: %v, want %v", j, y[j*5+p], want)
			}
		}
	}
}

func TestPermutingABatchPermutesItsFlow(t *testing.T) {
	const n, size = 10, 6
	f := clustered(4, n, 3, 4, 4, size)
	perm := rand.New(rand.NewPCG(3, 3)).Perm(n)
	moved := f
	moved.x, moved.s = make([]float32, len(f.x)), make([]float32, len(f.s))
	item := len(f.x) / n
	for to, from := range perm {
		copy(moved.x[to*item:(to+1)*item], f.x[from*item:])
		copy(moved.s[to*size:(to+1)*size], f.s[from*size:])
	}
	y, ds, _ := f.run(t, layers.DefaultFlow(), f.s)
	py, pds, _ := moved.run(t, layers.DefaultFlow(), moved.s)
	for to, from := range perm {
		for p := range size {
			if a, b := y[from*size+p], py[to*size+p]; math.Abs(float64(a-b)) > flowTolerance {
				t.Errorf("output of item %d is %v, and %v at place %d", from, a, b, to)
			}
			if a, b := ds[from*size+p], pds[to*size+p]; math.Abs(float64(a-b)) > flowTolerance {
				t.Errorf("gradient of item %d is %v, and %v at place %d", from, a, b, to)
			}
		}
	}
}

func TestFlowOfBatchesWithoutGeometry(t *testing.T) {
	base := clustered(5, 6, 2, 3, 3, 4)
	item := len(base.x) / base.n
	duplicates, alike := base, base
	duplicates.x, alike.x = append([]float32(nil), base.x...), nil
	copy(duplicates.x[:item], base.x[3*item:4*item])
	for range base.n {
		alike.x = append(alike.x, base.x[:item]...)
	}
	one := clustered(6, 1, 2, 3, 3, 4)
	lonely := base
	for name, spec := range flowSpecs() {
		if spec.Negative {
			continue
		}
		far := spec
		far.Delta, far.Distance = 1e-9, layers.FlowNone
		for what, c := range map[string]struct {
			f    flowCase
			spec layers.FlowSpec
		}{"duplicates": {duplicates, spec}, "all alike": {alike, spec}, "a batch of one": {one, spec}, "no neighbors": {lonely, far}} {
			y, ds, stats := c.f.run(t, c.spec, c.f.s)
			for i := range y {
				if bad := y[i] - y[i] + ds[i] - ds[i]; bad != 0 {
					t.Fatalf("%s, %s: value %d is %v, gradient %v", name, what, i, y[i], ds[i])
				}
				if identity := what == "a batch of one" || what == "no neighbors"; identity && (y[i] != c.f.s[i] || ds[i] != c.f.s[i]) {
					t.Errorf("%s, %s: value %d is %v, gradient %v, want the input %v", name, what, i, y[i], ds[i], c.f.s[i])
				}
			}
			if what != "all alike" {
				continue
			}
			// Every weight is 1: n-1 others of weight lambda.
			if stats.Neighbors != 5 || stats.Weight != 1 {
				t.Errorf("%s, %s: %+v", name, what, stats)
			}
		}
	}
	// Two equal images are neighbors of weight 1 whatever the curvature.
	y, _, _ := duplicates.run(t, layers.DefaultFlow(), duplicates.s)
	again := duplicates
	again.s = append([]float32(nil), duplicates.s...)
	copy(again.s[:4], duplicates.s[12:16])
	y2, _, _ := again.run(t, layers.DefaultFlow(), again.s)
	for p := range 4 {
		if y2[p] != y2[12+p] || y[p] == y[12+p] {
			t.Errorf("equal images with equal features differ: %v and %v", y2[p], y2[12+p])
		}
	}
}

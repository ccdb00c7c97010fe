package layers_test

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/layers"
)

// flowMatrix is the layer's matrix N^T, of which row j gives output j: what it
// makes of the unit vectors.
func flowMatrix(t *testing.T, f flowCase, spec layers.FlowSpec) *mat.Dense {
	t.Helper()
	n := f.n
	f.out, f.s = []int{n, n}, make([]float32, n*n)
	for i := range n {
		f.s[i*n+i] = 1
	}
	y, _, _ := f.run(t, spec, f.s)
	m := mat.NewDense(n, n, nil)
	for i, v := range y {
		m.Set(i/n, i%n, float64(v))
	}
	return m
}

// star is a batch whose first item is near all others, which are near nobody
// else, with delta between.
func star(n int) (flowCase, layers.FlowSpec) {
	f := flowCase{n: n, c: 1, h: 1, w: n, x: make([]float32, n*n)}
	for j := 1; j < n; j++ {
		f.x[j*n+j] = 1
	}
	spec := layers.DefaultFlow()
	spec.Distance, spec.Delta, spec.Curvature = layers.FlowNone, 1.2, false
	return f, spec
}

// roundingOfFlow is that of a matrix in float32.
const roundingOfFlow = 1e-5

func TestEigenvaluesOfFlowGradientAreWithinOne(t *testing.T) {
	cases := map[string]*mat.Dense{}
	for name, spec := range flowSpecs() {
		if !spec.Negative {
			cases[name] = flowMatrix(t, clustered(8, 14, 3, 4, 4), spec)
		}
	}
	f, spec := star(20)
	cases["star"] = flowMatrix(t, f, spec)
	for name, m := range cases {
		var e mat.Eigen
		if !e.Factorize(m, mat.EigenNone) {
			t.Fatal("no eigenvalues")
		}
		for _, v := range e.Values(nil) {
			if math.Abs(imag(v)) > roundingOfFlow || cmplx.Abs(v) > 1+roundingOfFlow {
				t.Errorf("%s: eigenvalue %v", name, v)
			}
		}
		for j := range m.RawMatrix().Rows {
			if sum := mat.Sum(m.RowView(j)); math.Abs(sum-1) > roundingOfFlow {
				t.Errorf("%s: row %d adds up to %v", name, j, sum)
			}
		}
	}
}

// With weights below 0 rows still add up to 1, but their absolute values to
// more, and Proposition 1 no longer holds.
func TestKeptNegativeWeightsBreakProposition1(t *testing.T) {
	spec := layers.DefaultFlow()
	spec.Eps, spec.Negative, spec.Lambda = .6, true, .05
	var e mat.Eigen
	e.Factorize(flowMatrix(t, clustered(8, 14, 3, 4, 4), spec), mat.EigenNone)
	top := 0.0
	for _, v := range e.Values(nil) {
		top = max(top, cmplx.Abs(v))
	}
	if top <= 1.01 {
		t.Errorf("the largest eigenvalue is %v", top)
	}
}

// gramValues returns the eigenvalues of a Gram matrix of the rows of x,
// descending.
func gramValues(x mat.Matrix) []float64 {
	r, _ := x.Dims()
	g := mat.NewSymDense(r, nil)
	g.SymOuterK(1, x)
	var e mat.EigenSym
	e.Factorize(g, false)
	values := e.Values(nil)
	slices.Reverse(values)
	return values
}

func grows(t *testing.T, before, after []float64) bool {
	t.Helper()
	for k := range before {
		if after[k] > before[k]+roundingOfFlow*before[0] {
			return true
		}
	}
	return false
}

// Proposition 2 says that no eigenvalue of the Gram matrix grows. It is true in
// the inner product that weighs item j by D_j = 1 + lambda sum of w_j: D^1/2 N^T
// D^-1/2 = D^-1/2 (I + lambda W) D^-1/2 is symmetric with the eigenvalues of
// Proposition 1, so it shortens, and Ostrowski's theorem gives the rest.
func TestGramEigenvaluesDoNotGrowInTheWeightedInnerProduct(t *testing.T) {
	for name, spec := range flowSpecs() {
		if spec.Negative {
			continue
		}
		f := clustered(9, 12, 3, 4, 4, 5)
		m := flowMatrix(t, f, spec)
		x := mat.NewDense(f.n, 5, nil)
		for i, v := range f.s {
			x.Set(i/5, i%5, float64(v))
		}
		var y mat.Dense
		y.Mul(m, x)
		weighted := func(a *mat.Dense) mat.Matrix {
			b := mat.DenseCopyOf(a)
			for j := range f.n {
				for p := range 5 { // 1/D_j stands on the diagonal of N
					b.Set(j, p, b.At(j, p)/math.Sqrt(m.At(j, j)))
				}
			}
			return b
		}
		if grows(t, gramValues(weighted(x)), gramValues(weighted(&y))) {
			t.Errorf("%s: weighted Gram eigenvalues grow from %v to %v", name, gramValues(weighted(x)), gramValues(weighted(&y)))
		}
	}
}

// So it is true as it stands where all D_j are equal: here everybody is
// everybody's neighbor, or has the two beside it on a ring.
func TestGramEigenvaluesDoNotGrowWhereDegreesAreEqual(t *testing.T) {
	all := layers.DefaultFlow()
	all.Delta, all.Curvature = 100, false
	const n = 12
	ring := flowCase{n: n, c: 1, h: 1, w: 2}
	for j := range n {
		s, c := math.Sincos(2 * math.Pi * float64(j) / n)
		ring.x = append(ring.x, float32(c), float32(s))
	}
	beside := layers.DefaultFlow()
	beside.Distance, beside.Delta = layers.FlowNone, .6
	for name, c := range map[string]struct {
		f    flowCase
		spec layers.FlowSpec
	}{"all": {clustered(9, n, 3, 4, 4), all}, "ring": {ring, beside}} {
		m := flowMatrix(t, c.f, c.spec)
		x := mat.NewDense(n, 5, nil)
		for i, v := range clustered(10, n, 1, 1, 1, 5).s {
			x.Set(i/5, i%5, float64(v))
		}
		var y mat.Dense
		y.Mul(m, x)
		if before, after := gramValues(x), gramValues(&y); grows(t, before, after) || after[0] > .99*before[0] {
			t.Errorf("%s: Gram eigenvalues go from %v to %v", name, before, after)
		}
	}
}

// As the paper states it, for any neighbors, it is false: eigenvalues of N
// within [-1, 1] do not bound its norm, since N is not symmetric. One item with
// many neighbors of its own, and a feature that it alone has: each of them
// takes a third of it.
func TestGramEigenvaluesGrowOnAStar(t *testing.T) {
	f, spec := star(21)
	m := flowMatrix(t, f, spec)
	x := mat.NewDense(f.n, 1, nil)
	x.Set(0, 0, 1)
	var y mat.Dense
	y.Mul(m, x)
	before, after := gramValues(x), gramValues(&y)
	const want = 1/11./11 + 20/9. // (1/(1 + 20/2))^2 + 20 (1/3)^2
	if before[0] != 1 || math.Abs(after[0]-want) > roundingOfFlow {
		t.Errorf("the largest Gram eigenvalue goes from %v to %v, want %v", before[0], after[0], want)
	}
}

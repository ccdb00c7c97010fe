package metric

import (
	"math"
	"math/rand/v2"
	"testing"
)

func hyperbolicMetrics() []Metric {
	return []Metric{
		{Kind: Poincare, Curvature: 0.1, Clip: 2.3},
		{Kind: Poincare, Curvature: 1},
		{Kind: Lorentz, Curvature: 1},
		{Kind: Lorentz, Curvature: 0.2, Clip: 1.5},
	}
}

// The textbook formulas, which lose digits near the rim and near 0.
func TestHyperbolicDistanceByTextbook(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	for _, c := range []float64{0.1, 1, 3} {
		k := math.Sqrt(c)
		for range 100 {
			u, v := randomRow(rng, 4, 0.3/k), randomRow(rng, 4, 0.3/k)
			size := func(x []float64) float64 { return rowSquares(x).norm() }
			inner := u[0]*v[0] + u[1]*v[1] + u[2]*v[2] + u[3]*v[3]

			// z = tanh(k|u|) u/(k|u|); acosh(1 + 2c|x-y|^2/((1-c|x|^2)(1-c|y|^2)))/k.
			ru, rv := math.Tanh(k*size(u))/k, math.Tanh(k*size(v))/k
			square := ru*ru + rv*rv - 2*ru*rv*inner/(size(u)*size(v))
			want := math.Acosh(1+2*c*square/((1-c*ru*ru)*(1-c*rv*rv))) / k
			if got := (Metric{Kind: Poincare, Curvature: c}).Value64(u, v); !closeRel(got, want, 1e-12) {
				t.Errorf("ball, c = %v: %v, want %v", c, got, want)
			}

			// x = (cosh k|u|, sinh(k|u|) u/|u|)/k; acosh(-c <x,y>)/k.
			cu, cv := math.Cosh(k*size(u)), math.Cosh(k*size(v))
			su, sv := math.Sinh(k*size(u))/size(u), math.Sinh(k*size(v))/size(v)
			want = math.Acosh(cu*cv-su*sv*inner) / k
			if got := (Metric{Kind: Lorentz, Curvature: c}).Value64(u, v); !closeRel(got, want, 1e-12) {
				t.Errorf("hyperboloid, c = %v: %v, want %v", c, got, want)
			}
		}
	}
}

// At right angles cosh(kd) = cosh(k|u|) cosh(k|v|) (Pythagoras on the
// hyperboloid); through the origin lengths add up.
func TestHyperbolicDistanceByHand(t *testing.T) {
	m := Metric{Kind: Lorentz, Curvature: 1}
	for _, c := range []struct{ a, b, c, d, want float64 }{
		{1, 0, 0, 2, math.Acosh(math.Cosh(1) * math.Cosh(2))},
		{1, 0, -2, 0, 3},
		{1, 0, 3, 0, 2},
		{0, 0, 3, 4, 5},
		{700, 0, 0, 900, 1600 - math.Ln2}, // e^700 e^900/4 = e^d/2
		{1e30, 0, -1e30, 0, 2e30},
		{1e30, 0, 1e30, 0, 0},
	} {
		if got := m.Value64([]float64{c.a, c.b}, []float64{c.c, c.d}); !closeRel(got, c.want, 1e-14) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Hyperbolic functions give way to logarithms without a step.
func TestHyperbolicMetricIsSmoothWhereLogarithmsBegin(t *testing.T) {
	m := Metric{Kind: Lorentz, Curvature: 1}
	b := []float64{40, 255, 30}
	before := []float64{farOut - 1e-9, 0, 0}
	after := []float64{farOut + 1e-9, 0, 0}
	if x, y := m.Value64(before, b), m.Value64(after, b); math.Abs(x-y) > 1e-8 {
		t.Errorf("values %v and %v", x, y)
	}
	da, db := make([]float64, 6), make([]float64, 6)
	m.Gradient(da[:3], db[:3], before, b, 1)
	m.Gradient(da[3:], db[3:], after, b, 1)
	for i := range 3 {
		if math.Abs(da[i]-da[i+3]) > 1e-8 || math.Abs(db[i]-db[i+3]) > 1e-8 {
			t.Errorf("gradients %v and %v", da, db)
		}
	}
}

// From far out every point lies towards the origin.
func TestGradientFarOutPointsAwayFromTheOrigin(t *testing.T) {
	m := Metric{Kind: Lorentz, Curvature: 1}
	for _, far := range []float64{1e3, 1e10, 1e30} {
		da, db := []float64{0, 0}, []float64{0, 0}
		m.Gradient(da, db, []float64{far, 0}, []float64{0, far}, 1)
		if !closeRel(da[0], 1, 1e-9) || !closeRel(db[1], 1, 1e-9) || math.Abs(da[1])+math.Abs(db[0]) > 2/far {
			t.Errorf("%v away: %v and %v", far, da, db)
		}
	}
}

func TestGradientAtTheOriginPointsAwayFromTheOther(t *testing.T) {
	for _, m := range hyperbolicMetrics() {
		da, db := []float64{0, 0}, []float64{0, 0}
		m.Gradient(da, db, []float64{0, 0}, []float64{0.6, 0.8}, 1)
		slope := m.radius(1)
		for i, want := range []float64{0.6 * slope, 0.8 * slope} {
			if !closeRel(da[i], -want, 1e-14) || !closeRel(db[i], want, 1e-14) {
				t.Errorf("%v: %v and %v, want %v", m, da, db, want)
			}
		}
	}
}

func TestBeyondTheClipLengthDoesNotMatter(t *testing.T) {
	m := Metric{Kind: Poincare, Curvature: 0.1, Clip: 2.3}
	a, b, longer := []float64{3, 4}, []float64{0, -1}, []float64{30, 40}
	if x, y := m.Value64(a, b), m.Value64(longer, b); x != y {
		t.Errorf("%v and %v", x, y)
	}
	da := []float64{0, 0}
	m.Gradient(da, nil, a, b, 1)
	if along := da[0]*3 + da[1]*4; math.Abs(along) > 1e-14 || da[0] == 0 {
		t.Errorf("gradient %v, want one at right angles", da)
	}
}

// a has mean 2 and variance 2/3; b - a is 1, 0, 2 with variance 2/3.
func TestSignalToNoiseByHand(t *testing.T) {
	m := Metric{Kind: SignalToNoise}
	a, b := []float64{1, 2, 3}, []float64{2, 2, 5}
	if got := m.Value64(a, b); !closeRel(got, 1, 1e-15) {
		t.Errorf("%v, want 1", got)
	}
	// b has mean 3 and variance 2.
	if got := m.Value64(b, a); !closeRel(got, 1.0/3, 1e-15) {
		t.Errorf("the other way: %v, want 1/3", got)
	}
	if got := m.Value64(a, []float64{11, 12, 13}); got != 0 {
		t.Errorf("a shift of all coordinates: %v, want 0", got)
	}
	flat := []float64{0.1, 0.1, 0.1}
	da, db := make([]float64, 3), make([]float64, 3)
	m.Gradient(da, db, flat, a, 1)
	if got := m.Value64(flat, a); got != 2 || da[0] != 0 || db[0] != 0 {
		t.Errorf("an anchor without signal: %v with gradients %v and %v, want 2 and none", got, da, db)
	}
	if got := m.Value64(flat, flat); got != 0 {
		t.Errorf("%v away from itself", got)
	}
}

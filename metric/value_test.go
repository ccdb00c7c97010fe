package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// everyMetric lists every family by its defaults, all variants of BRM and more of the
// hyperbolic metrics.
func everyMetric() []Metric {
	var list []Metric
	for _, info := range Infos() {
		if info.Metric.Kind != BRM {
			list = append(list, info.Metric)
		}
	}
	list = append(list, hyperbolicMetrics()...)
	for _, c := range restrictionCases {
		for p := 1; p <= 2; p++ {
			m := Metric{Kind: BRM, Restriction: c.r, Omega: c.omega, P: p}
			list = append(list, m)
			if p == 2 {
				m.Power = true
				list = append(list, m)
			}
		}
	}
	return list
}

// coordinatewise says that a metric sums up functions of |a_i - b_i|.
func coordinatewise(m Metric) bool { return !m.Similarity() && !m.Chords() }

var metricScales = []float64{1e-30, 1e-20, 1e-10, 1e-4, 0.1, 1, 10, 1e4, 1e10, 1e20, 1e30}

func randomRow(rng *rand.Rand, h int, scale float64) []float64 {
	x := make([]float64, h)
	for i := range x {
		x[i] = scale * rng.NormFloat64()
	}
	return x
}

func toFloat32(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func TestMetricKnownValues(t *testing.T) {
	a, b := []float32{1, 2, 2}, []float32{1, -1, 6}
	for name, want := range map[string]float64{
		"euclidean": 5, "sqeuclidean": 25, "manhattan": 7, "dot": 11, "cosine": 11 / (3 * math.Sqrt(38)),
		"brm:softsign,p=1":       (0 + 3./4 + 4./5) / 3,
		"brm:softsign":           math.Sqrt((9./16 + 16./25) / 3),
		"brm:softsign,power":     (9./16 + 16./25) / 3,
		"brm:isru,omega=4,p=1":   (3/math.Sqrt(37) + 4/math.Sqrt(65)) / 3,
		"brm:arctan,p=1":         (math.Atan(3) + math.Atan(4)) / 3,
		"brm":                    math.Sqrt((math.Pow(math.Tanh(1.5), 2) + math.Pow(math.Tanh(2), 2)) / 3),
		"brm:tanh,p=2":           math.Sqrt((math.Pow(math.Tanh(3), 2) + math.Pow(math.Tanh(4), 2)) / 3),
		"brm:isru,omega=1,power": (9./10 + 16./17) / 3,
	} {
		m, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Value(a, b); !closeRel(got, want, 1e-15) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestMetricIsSymmetricBoundedAndZeroOnItself(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, m := range everyMetric() {
		for _, scale := range metricScales {
			for _, h := range []int{1, 3, 64} {
				a, b := randomRow(rng, h, scale), randomRow(rng, h, scale)
				ab, ba := m.Value64(a, b), m.Value64(b, a)
				if ab != ba && m.Symmetric() {
					t.Errorf("%v, scale %v: %v one way, %v the other", m, scale, ab, ba)
				}
				if math.IsNaN(ab) || math.IsInf(ab, 0) || ab > m.Bound()*(1+1e-15) {
					t.Errorf("%v, scale %v: value %v, bound %v", m, scale, ab, m.Bound())
				}
				if m.Similarity() {
					continue
				}
				if ab <= 0 && !(h == 1 && m.Chords()) { // one coordinate has no variance; two clipped numbers may be one
					t.Errorf("%v, scale %v: different embeddings at distance %v", m, scale, ab)
				}
				if aa := m.Value64(a, a); aa != 0 {
					t.Errorf("%v, scale %v: distance to itself is %v", m, scale, aa)
				}
			}
		}
	}
}

// BRM Theorem 2: D is a metric for p = 1 and 2. D^2 is not, and is left out.
func TestTriangleInequality(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, m := range everyMetric() {
		if m.Similarity() || m.Power || m.Kind == SquaredEuclidean || m.Kind == SignalToNoise {
			continue
		}
		for _, scale := range metricScales {
			for range 40 {
				h := 1 + rng.IntN(5)
				a, b, c := randomRow(rng, h, scale), randomRow(rng, h, scale), randomRow(rng, h, scale)
				if rng.IntN(2) == 0 { // near the line from a to c, where it is tight
					for i := range b {
						b[i] = a[i] + rng.Float64()*(c[i]-a[i])
					}
				}
				if ac, way := m.Value64(a, c), m.Value64(a, b)+m.Value64(b, c); ac > way*(1+1e-14) {
					t.Fatalf("%v, scale %v: direct %v, by a third point %v", m, scale, ac, way)
				}
			}
		}
	}
}

func TestDistanceGrowsWithEachCoordinateDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, m := range everyMetric() {
		if !coordinatewise(m) {
			continue
		}
		for _, scale := range metricScales {
			a, b := randomRow(rng, 6, scale), randomRow(rng, 6, scale)
			for i := range b {
				before := m.Value64(a, b)
				wider := append([]float64(nil), b...)
				wider[i] += 0.5 * (b[i] - a[i])
				after := m.Value64(a, wider)
				if after < before*(1-1e-15) {
					t.Errorf("%v, scale %v: %v fell to %v as coordinate %d moved away", m, scale, before, after, i)
				}
				if scale <= 1 && !strings.Contains(m.String(), "omega=1e+06") && after <= before {
					t.Errorf("%v, scale %v: %v did not grow (%v) though R is not saturated", m, scale, before, after)
				}
			}
		}
	}
}

func TestMetricIgnoresTheOrderOfCoordinates(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, m := range everyMetric() {
		a, b := randomRow(rng, 33, 1), randomRow(rng, 33, 1)
		pa, pb := make([]float64, len(a)), make([]float64, len(b))
		for i, j := range rng.Perm(len(a)) {
			pa[j], pb[j] = a[i], b[i]
		}
		if x, y := m.Value64(a, b), m.Value64(pa, pb); math.Abs(x-y) > 1e-12*(1+math.Abs(x)) {
			t.Errorf("%v: %v, permuted %v", m, x, y)
		}
	}
}

// Where R is linear, distances scale with the embedding: nothing underflows.
func TestDistanceAtTinyScaleKeepsItsDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	a, b := randomRow(rng, 16, 1), randomRow(rng, 16, 1)
	shrunk := func(x []float64, s float64) []float64 {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = s * x[i]
		}
		return y
	}
	for _, m := range everyMetric() {
		if m.Similarity() || m.Power || m.Kind == SquaredEuclidean || m.Kind == SignalToNoise {
			continue
		}
		base := m.Value64(shrunk(a, 1e-12), shrunk(b, 1e-12)) * 1e12
		for _, s := range []float64{1e-30, 1e-100, 1e-200, 1e-290} {
			if got := m.Value64(shrunk(a, s), shrunk(b, s)) / s; !closeRel(got, base, 1e-8) {
				t.Errorf("%v at scale %v: %v per unit, want %v", m, s, got, base)
			}
		}
	}
}

func TestFloat32AndFloat64ValuesAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, m := range everyMetric() {
		for _, scale := range metricScales {
			a, b := toFloat32(randomRow(rng, 17, scale)), toFloat32(randomRow(rng, 17, scale))
			wa, wb := make([]float64, 17), make([]float64, 17)
			for i := range a {
				wa[i], wb[i] = float64(a[i]), float64(b[i])
			}
			if x, y := m.Value(a, b), m.Value64(wa, wb); x != y {
				t.Errorf("%v: %v from float32, %v from float64", m, x, y)
			}
		}
	}
}

func TestCosineOfAZeroVectorizZero(t *testing.T) {
	m := Metric{Kind: Cosine}
	if v := m.Value([]float32{0, 0}, []float32{1, 2}); v != 0 {
		t.Errorf("value %v", v)
	}
	da, db := []float64{0, 0}, []float64{0, 0}
	m.Gradient(da, db, []float64{0, 0}, []float64{1, 2}, 1)
	if fmt.Sprint(da, db) != "[0 0] [0 0]" {
		t.Errorf("gradients %v %v", da, db)
	}
}

func TestCosineOfParallelVectorsStaysInRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 200 {
		a := randomRow(rng, 7, 1)
		b := make([]float64, 7)
		for i := range b {
			b[i] = -3 * a[i]
		}
		m := Metric{Kind: Cosine}
		if v := m.Value64(a, b); v < -1 || v > -1+1e-15 {
			t.Fatalf("opposite vectors: %v", v)
		}
	}
}

func TestNaNCoordinateGivesNaN(t *testing.T) {
	nan := float32(math.NaN())
	for _, m := range everyMetric() {
		if v := m.Value([]float32{1, nan, 0}, []float32{1, 2, 3}); !math.IsNaN(v) {
			t.Errorf("%v: %v", m, v)
		}
	}
}

func TestInfiniteDifferencesAreAtTheBound(t *testing.T) {
	inf := math.Inf(1)
	for _, m := range everyMetric() {
		if !coordinatewise(m) {
			continue
		}
		if v := m.Value64([]float64{inf, -inf}, []float64{0, 1}); !closeRel(v, m.Bound(), 1e-15) && v != m.Bound() {
			t.Errorf("%v: %v, want the bound %v", m, v, m.Bound())
		}
	}
}

func TestBoundOfEachMetric(t *testing.T) {
	for name, want := range map[string]float64{
		"brm": 1, "brm:power": 1, "brm:softsign,p=1": 1, "brm:tanh": 1,
		"brm:arctan": math.Pi / 2, "brm:arctan,p=1": math.Pi / 2, "brm:arctan,power": math.Pi * math.Pi / 4,
		"brm:isru,omega=0.25": 2, "brm:isru,omega=0.25,power": 4, "cosine": 1,
		"euclidean": math.Inf(1), "manhattan": math.Inf(1), "sqeuclidean": math.Inf(1), "dot": math.Inf(1), "snr": math.Inf(1),
		"poincare": 4 * 2.3, "poincare:c=1,clip=0": 4 * math.Atanh(0.999), "lorentz": math.Inf(1), "lorentz:clip=3": 6,
	} {
		m, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Bound(); got != want {
			t.Errorf("%s: bound %v, want %v", name, got, want)
		}
		if got, want := m.Similarity(), name == "cosine" || name == "dot"; got != want {
			t.Errorf("%s: similarity is %v", name, got)
		}
	}
}

func TestRowsOfDifferentLengthsPanicWithBothLengths(t *testing.T) {
	defer func() {
		if s := fmt.Sprint(recover()); !strings.Contains(s, "2 and 3") {
			t.Errorf("panic says %q", s)
		}
	}()
	Metric{Kind: Euclidean}.Value(make([]float32, 2), make([]float32, 3))
}

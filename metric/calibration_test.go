package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// The distances of unrelated embeddings under BRM with sigmoid, p = 2, as an
// independent program printed them (its .318 at c = 0.5 is .3186 cut off).
func TestUnrelatedValueOfSigmoid(t *testing.T) {
	m := Metric{Kind: BRM, Restriction: Sigmoid, P: 2}
	for c, want := range map[float64]float64{0.5: .318, 1: .523, 2: .721, 4: .855, 8: .928} {
		got := m.UnrelatedValue(c)
		if math.Abs(got-want) > 7e-4 {
			t.Errorf("c = %v: D0 = %.4f, want %v", c, got, want)
		}
		power := m
		power.Power = true
		if squared := power.UnrelatedValue(c); !closeRel(squared, got*got, 1e-14) {
			t.Errorf("c = %v: D0 of D^2 is %v, want %v squared", c, squared, got)
		}
	}
}

func TestSphereValueAgreesWithOtherQuadratures(t *testing.T) {
	for _, m := range everyMetric() {
		if m.Kind != BRM || m.Power {
			continue
		}
		for _, s := range []float64{0.01, 0.3, 1, 4} {
			bend := 1.0 // where R leaves its straight line
			if m.Restriction == ISRU {
				bend = 1 / math.Sqrt(m.Omega)
			}
			s *= min(bend, 1)
			f := func(n float64) float64 {
				return math.Pow(m.Restriction.Value(s*n, m.Omega), float64(m.P)) * math.Exp(-n*n/2) * math.Sqrt(2/math.Pi)
			}
			want := math.Pow(quad.Fixed(f, 0, 13, 400, quad.Legendre{}, 0), 1/float64(m.P))
			if got := m.SphereValue(s, 1); !closeRel(got, want, 1e-12) {
				t.Errorf("%v, s = %v: got %v, Gauss-Legendre says %v", m, s, got, want)
			}
			if m.P == 1 || s > bend {
				continue // R(s|n|) is not smooth at 0, or bends within the grid
			}
			h := func(u float64) float64 {
				r := m.Restriction.Value(s*math.Sqrt2*math.Abs(u), m.Omega)
				return r * r / math.Sqrt(math.Pi)
			}
			want = math.Sqrt(quad.Fixed(h, math.Inf(-1), math.Inf(1), 200, quad.Hermite{}, 0))
			if got := m.SphereValue(s, 1); !closeRel(got, want, 1e-4) {
				t.Errorf("%v, s = %v: got %v, Gauss-Hermite says %v", m, s, got, want)
			}
		}
	}
}

// g(s) tends to R'(0) s (E|n|^p)^(1/p) at small s and to the bound at large s.
func TestSphereValueLimits(t *testing.T) {
	for _, m := range everyMetric() {
		if m.Kind != BRM || m.Power {
			continue
		}
		moment := 1.0
		if m.P == 1 {
			moment = math.Sqrt(2 / math.Pi)
		}
		for _, s := range []float64{1e-200, 1e-30, 1e-9} {
			if got, want := m.SphereValue(s, 1), m.Restriction.Slope(0, m.Omega)*s*moment; !closeRel(got, want, 1e-8) {
				t.Errorf("%v, s = %v: got %v, want %v", m, s, got, want)
			}
		}
		for _, s := range []float64{1e12, 1e300, math.Inf(1)} {
			if got := m.SphereValue(s, 1); !closeRel(got, m.Bound(), 1e-4) {
				t.Errorf("%v, s = %v: got %v, want the bound %v", m, s, got, m.Bound())
			}
		}
		if v := m.SphereValue(0, 1); v != 0 {
			t.Errorf("%v: %v at no distance", m, v)
		}
	}
}

// Real embeddings with a known chord, rows of length c*sqrt(h) for BRM and c
// for the rest.
func TestSphereValueOfActualEmbeddings(t *testing.T) {
	const h = 4000
	rng := rand.New(rand.NewPCG(21, 1))
	for _, m := range everyMetric() {
		for _, chord := range []float64{0.2, 1, math.Sqrt2, 2} {
			const c = 1.5
			u, v := unitPair(rng, h, chord)
			scale := c
			if m.Kind == BRM {
				scale = c * math.Sqrt(h)
			}
			if m.Kind == Manhattan {
				scale = c / math.Sqrt(2*h/math.Pi)
			}
			for i := range u {
				u[i] *= scale
				v[i] *= scale
			}
			got, want := m.Value64(u, v), m.SphereValue(chord, c)
			tol := 1e-12
			if m.Kind == SignalToNoise {
				tol = 0.01 // the mean of 4000 coordinates
			}
			if m.Kind == BRM || m.Kind == Manhattan {
				tol = 0.05 // of 4000 coordinates
			}
			if math.Abs(got-want) > tol*max(math.Abs(want), 1e-3) {
				t.Errorf("%v, chord %v: embeddings give %v, calibration %v", m, chord, got, want)
			}
		}
	}
}

// unitPair draws two unit vectors that are chord apart.
func unitPair(rng *rand.Rand, h int, chord float64) (u, v []float64) {
	u, w := randomRow(rng, h, 1), randomRow(rng, h, 1)
	scaleTo(u, 1)
	dot := 0.0
	for i := range u {
		dot += u[i] * w[i]
	}
	for i := range w {
		w[i] -= dot * u[i]
	}
	scaleTo(w, 1)
	cos := 1 - chord*chord/2
	sin := math.Sqrt(max(0, 1-cos*cos))
	v = make([]float64, h)
	for i := range v {
		v[i] = cos*u[i] + sin*w[i]
	}
	return u, v
}

func scaleTo(x []float64, length float64) {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	for i := range x {
		x[i] *= length / math.Sqrt(sum)
	}
}

func TestSphereValueOutsideItsDomainIsNaN(t *testing.T) {
	for _, m := range everyMetric() {
		for _, v := range []float64{m.SphereValue(-1, 1), m.SphereValue(1, -1), m.SphereValue(math.NaN(), 1)} {
			if !math.IsNaN(v) {
				t.Errorf("%v: %v", m, v)
			}
		}
	}
}

// TestScaledUnrelated compares the value with UnrelatedValue and the slopes with central
// differences.
func TestScaledUnrelated(t *testing.T) {
	for _, m := range everyMetric() {
		if m.Kind != BRM {
			continue
		}
		for _, c := range []float64{.01, .3, 1, 5} {
			if got, _ := m.ScaledUnrelated([]float64{math.Log(c)}); !closeRel(got, m.UnrelatedValue(c), 1e-7) {
				t.Errorf("%v, c = %v: %v, UnrelatedValue says %v", m, c, got, m.UnrelatedValue(c))
			}
		}
		logs := []float64{-2, 0, .5, 1.5}
		_, slopes := m.ScaledUnrelated(logs)
		for k := range logs {
			const step = 1e-5
			at := logs[k]
			logs[k] = at + step
			above, _ := m.ScaledUnrelated(logs)
			logs[k] = at - step
			below, _ := m.ScaledUnrelated(logs)
			logs[k] = at
			if want := (above - below) / (2 * step); !closeRel(slopes[k], want, 1e-6) {
				t.Errorf("%v, coordinate %d: slope %v, differences say %v", m, k, slopes[k], want)
			}
		}
	}
}

package metric

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMetricGradientByFiniteDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for _, m := range everyMetric() {
		for _, scale := range []float64{1e-6, 0.03, 1, 5} {
			a, b := randomRow(rng, 7, scale), randomRow(rng, 7, scale)
			const upstream = -1.7
			da, db := make([]float64, 7), make([]float64, 7)
			m.Gradient(da, db, a, b, upstream)
			norm := 0.0
			for i := range da {
				norm = max(norm, math.Abs(da[i]), math.Abs(db[i]))
			}
			for side, x := range [][]float64{a, b} {
				got := [][]float64{da, db}[side]
				for i := range x {
					// A step far below each |a_i - b_i|, where R' jumps.
					h := 1e-5 * min(scale, math.Abs(a[i]-b[i]))
					at := x[i]
					x[i] = at + h
					up := m.Value64(a, b)
					x[i] = at - h
					down := m.Value64(a, b)
					x[i] = at
					want := upstream * (up - down) / (2 * h)
					noise := 1e-15 * math.Abs(up) / h // of the difference itself
					if math.Abs(got[i]-want) > 1e-6*norm+4*math.Abs(upstream)*noise {
						t.Errorf("%v, scale %v, side %d, coordinate %d: got %v, differences say %v", m, scale, side, i, got[i], want)
					}
				}
			}
		}
	}
}

func TestMetricGradientIsFiniteAtEveryScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for _, m := range everyMetric() {
		for _, scale := range metricScales {
			a, b := randomRow(rng, 9, scale), randomRow(rng, 9, scale)
			b[3] = a[3]
			da, db := make([]float64, 9), make([]float64, 9)
			m.Gradient(da, db, a, b, 1)
			for i := range da {
				if s := da[i] + db[i]; math.IsNaN(s) || math.IsInf(s, 0) {
					t.Errorf("%v, scale %v: gradients %v and %v", m, scale, da[i], db[i])
				}
				if coordinatewise(m) && da[i] != -db[i] {
					t.Errorf("%v, scale %v: distance gradients %v and %v are not opposite", m, scale, da[i], db[i])
				}
			}
			if coordinatewise(m) && da[3] != 0 {
				t.Errorf("%v, scale %v: gradient %v at equal coordinates", m, scale, da[3])
			}
		}
	}
}

// The gradient of a BRM distance tends to that of a scaled Euclidean one.
func TestTinyScaleGradientDoesNotVanish(t *testing.T) {
	a, b := []float64{3e-30, 0}, []float64{0, 4e-30}
	for _, c := range []struct {
		m    Metric
		want float64 // of da[0]
	}{
		{Metric{Kind: Euclidean}, 0.6},
		{Metric{Kind: BRM, Restriction: TanH, P: 2}, 0.6 / math.Sqrt2},
		{Metric{Kind: BRM, Restriction: Sigmoid, P: 2}, 0.3 / math.Sqrt2},
		{Metric{Kind: BRM, Restriction: SoftSign, P: 1}, 0.5},
	} {
		da := []float64{0, 0}
		c.m.Gradient(da, nil, a, b, 1)
		if !closeRel(da[0], c.want, 1e-14) {
			t.Errorf("%v: %v, want %v", c.m, da[0], c.want)
		}
	}
}

func TestIdenticalEmbeddingsHaveNoGradient(t *testing.T) {
	x := []float64{0.3, -2, 1e10}
	for _, m := range everyMetric() {
		if m.Similarity() {
			continue
		}
		da, db := []float64{0, 0, 0}, []float64{0, 0, 0}
		m.Gradient(da, db, x, x, 5)
		for i := range da {
			if da[i] != 0 || db[i] != 0 {
				t.Errorf("%v: gradients %v %v", m, da, db)
			}
		}
	}
}

func TestGradientAccumulatesAndLeavesNilOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	for _, m := range everyMetric() {
		a, b := randomRow(rng, 4, 1), randomRow(rng, 4, 1)
		da, db := make([]float64, 4), make([]float64, 4)
		m.Gradient(da, db, a, b, 2)
		onlyA, onlyB, both := []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}
		m.Gradient(onlyA, nil, a, b, 2)
		m.Gradient(nil, onlyB, a, b, 2)
		m.Gradient(both, both, a, b, 2)
		for i := range da {
			if onlyA[i] != 1+da[i] || onlyB[i] != 1+db[i] || math.Abs(both[i]-1-da[i]-db[i]) > 1e-15*(1+math.Abs(da[i])) {
				t.Errorf("%v: %v and %v alone, %v together, want %v and %v on top of 1", m, onlyA[i], onlyB[i], both[i], da[i], db[i])
			}
		}
	}
}

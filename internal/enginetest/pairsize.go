package enginetest

import (
	"math"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

// valueSize is the size of the terms that may cancel in a value of m: none in a
// distance.
func valueSize(m metric.Metric, a, b array) float64 {
	switch m.Kind {
	case metric.Cosine:
		return 1
	case metric.Dot:
		size := 0.0
		eachPair(a, b, func(_, _ int, x, y []float64) {
			sum := 0.0
			for c := range x {
				sum += math.Abs(x[c] * y[c])
			}
			size = max(size, sum)
		})
		return size
	}
	return 0
}

// gradientSizes is, for the gradient of each side, the largest sum of |terms|
// that an element adds up; its rounding errors are relative to that.
func gradientSizes(m metric.Metric, a, b, dd array) (sizeA, sizeB float64) {
	h, k := a.shape[1], b.shape[0]
	sumA, sumB := make([]float64, len(a.v)), make([]float64, len(b.v))
	eachPair(a, b, func(i, j int, x, y []float64) {
		up := float64(dd.v[i*k+j])
		da, db := make([]float64, h), make([]float64, h)
		m.Gradient(da, db, x, y, up)
		if nx, ny := norm(x), norm(y); m.Kind == metric.Cosine && nx > 0 && ny > 0 {
			// A difference of two terms, which cancel entirely where h is 1.
			fill(da, math.Abs(up)/nx)
			fill(db, math.Abs(up)/ny)
		}
		if m.Chords() {
			chordTerms(m, da, db, x, y, up)
		}
		for c := range h {
			sumA[i*h+c] += math.Abs(da[c])
			sumB[j*h+c] += math.Abs(db[c])
		}
	})
	for _, v := range sumA {
		sizeA = max(sizeA, v)
	}
	for _, v := range sumB {
		sizeB = max(sizeB, v)
	}
	return sizeA, sizeB
}

// chordTerms sets da and db to the size of the terms of which the gradient of a
// pair is the sum: parts of the prepared rows, which may cancel.
func chordTerms(m metric.Metric, da, db, x, y []float64, up float64) {
	px, py := make([]float64, len(x)), make([]float64, len(y))
	nx, ny := m.ChordRow(px, narrow(x)), m.ChordRow(py, narrow(y))
	apart := make([]float64, len(x))
	for c := range apart {
		apart[c] = px[c] - py[c]
	}
	s := m.ChordSlopes(norm(apart), nx, ny, up)
	for c := range apart {
		both := math.Abs(px[c]) + math.Abs(py[c])
		da[c] = math.Abs(s.AlongA*px[c]) + math.Abs(s.ApartA)*both
		db[c] = math.Abs(s.AlongB*py[c]) + math.Abs(s.ApartB)*both
	}
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// flatSlope is how far R' or R R' may be off where R is flat. An engine may look
// those of the exponential restrictions up in a table, whose error is one part in
// a million of their maximum. For the others it may hold |a_i - b_i| at 1e18, where
// the slopes of SoftSign and ArcTan are 1e-36 and R itself no longer changes in
// float32, so that squares stay finite.
func flatSlope(r metric.Restriction) float64 {
	if r == metric.Sigmoid || r == metric.TanH {
		return 5e-7
	}
	return 1e-36
}

// slopeFloor is what flatSlope amounts to in a gradient: in each of its terms
// dd*R' is multiplied by 2R/h for D^2, by R/(h D) <= 1 or by 1/h for D.
func slopeFloor(m metric.Metric, dd array) float64 {
	if m.Kind != metric.BRM {
		return 0
	}
	terms := float64(max(dd.shape[0], dd.shape[1]))
	factor := max(1, 2*m.Restriction.Bound(m.Omega))
	return flatSlope(m.Restriction) * factor * terms * golden.MaxAbs(widen(dd.v))
}

func fill(x []float64, v float64) {
	for i := range x {
		x[i] = v
	}
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func eachPair(a, b array, f func(i, j int, x, y []float64)) {
	h := a.shape[1]
	for i := range a.shape[0] {
		for j := range b.shape[0] {
			f(i, j, widen(a.v[i*h:(i+1)*h]), widen(b.v[j*h:(j+1)*h]))
		}
	}
}

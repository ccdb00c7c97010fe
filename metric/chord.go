package metric

import "math"

// Some metrics are functions of the distance between prepared rows and of one
// number a row: SignalToNoise of rows less their mean and of their deviation,
// Poincare and Lorentz of directions and of lengths. ChordRow, ChordValue and
// ChordSlopes are these two steps, so that an engine can do the work between
// rows in its own way.

// Chords reports whether m is one of these metrics.
func (m Metric) Chords() bool { return m.Kind == SignalToNoise || m.hyperbolic() }

// ChordRow prepares a row: dst is x less the mean of its coordinates for
// SignalToNoise, else x/|x| (0 of a row of zeros). size is the length of dst
// before any division.
func (m Metric) ChordRow(dst []float64, x []float32) (size float64) { return chordRow(m, dst, x) }

func chordRow[T float32 | float64](m Metric, dst []float64, x []T) (size float64) {
	checkRowLengths(len(dst), len(x))
	if m.Kind != SignalToNoise {
		size = rowSquares(x).norm()
		for i, v := range x {
			dst[i] = unitPart(float64(v), size)
		}
		return size
	}
	mean := rowMean(x)
	for i, v := range x {
		dst[i] = float64(v) - mean
	}
	return rowSquares(dst).norm()
}

// unitPart is a coordinate of a row brought to length 1.
func unitPart(v, size float64) float64 {
	if size == 0 {
		return 0
	}
	return v / size
}

// rowMean is exact for a row of equal coordinates.
func rowMean[T float32 | float64](x []T) float64 {
	if len(x) == 0 {
		return 0
	}
	first, rest := float64(x[0]), 0.0
	for _, v := range x {
		rest += (float64(v) - first) / float64(len(x))
	}
	return first + rest
}

// ChordValue is the metric's value between prepared rows that are chord apart,
// with sizes a and b.
func (m Metric) ChordValue(chord, a, b float64) float64 {
	if m.hyperbolic() {
		return 2 / math.Sqrt(m.Curvature) * m.triangle(chord, a, b).half
	}
	switch {
	case chord == 0:
		return 0
	case a == 0:
		return 2 // as unrelated as can be: there is no signal
	}
	r := chord / a
	return r * r
}

// Slopes are the derivatives of a metric on prepared rows x (of a) and y (of
// b), in the coordinates of the embeddings themselves:
//
//	da = AlongA*x + ApartA*(x - y)
//	db = AlongB*y + ApartB*(y - x)
type Slopes struct{ AlongA, ApartA, AlongB, ApartB float64 }

// ChordSlopes returns upstream times the derivatives of ChordValue. They are 0
// where the value is 0.
func (m Metric) ChordSlopes(chord, a, b, upstream float64) Slopes {
	if m.hyperbolic() {
		return m.hyperbolicSlopes(chord, a, b, upstream)
	}
	if chord == 0 || a == 0 {
		return Slopes{}
	}
	// Of N/A: dN/db = 2(y - x), dN/da = -2(y - x), dA/da = 2x.
	pull := upstream * (2 / a) / a
	r := chord / a
	return Slopes{AlongA: -pull * r * r, ApartA: pull, ApartB: pull}
}

func chordMetricValue[T float32 | float64](m Metric, a, b []T) float64 {
	var squares scaledSquares
	if m.Kind == SignalToNoise {
		ma, mb := rowMean(a), rowMean(b)
		var signal scaledSquares
		for i, v := range a {
			x := float64(v) - ma
			signal.add(x)
			squares.add(x - (float64(b[i]) - mb))
		}
		return m.ChordValue(squares.norm(), signal.norm(), 0)
	}
	na, nb := rowSquares(a).norm(), rowSquares(b).norm()
	for i, v := range a {
		squares.add(unitPart(float64(v), na) - unitPart(float64(b[i]), nb))
	}
	return m.ChordValue(squares.norm(), na, nb)
}

func chordMetricGradient(m Metric, da, db, a, b []float64, upstream float64) {
	x, y := make([]float64, len(a)), make([]float64, len(b))
	na, nb := chordRow(m, x, a), chordRow(m, y, b)
	s := m.ChordSlopes(diffSquares(x, y).norm(), na, nb, upstream)
	for i := range x {
		addGrad(da, i, s.AlongA*x[i]+s.ApartA*(x[i]-y[i]))
		addGrad(db, i, s.AlongB*y[i]+s.ApartB*(y[i]-x[i]))
	}
}

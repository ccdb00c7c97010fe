package metric

import "math"

// Likeness is how much alike two rows are on the scale of a cosine, 1 for equal rows and
// 0 for unrelated ones: the cosine where the metric is a similarity, and else
// 1 - D^2/D0^2, D0 being the metric's value between unrelated rows of a's length. Of
// Euclidean distances of unit rows that is the cosine as well. It is NaN where D0 is 0,
// and where a row of a dot product is.
func (m Metric) Likeness(a, b []float32) float64 {
	d := m.Value(a, b)
	switch {
	case m.Kind == Dot:
		x, y := rowSquares(a), rowSquares(b)
		return d / (x.norm() * y.norm())
	case m.Similarity():
		return d
	}
	length := rowSquares(a)
	scale := length.norm()
	if m.Kind == BRM {
		scale /= math.Sqrt(float64(len(a)))
	}
	unrelated := m.UnrelatedValue(scale)
	if m.Squared() {
		return 1 - d/unrelated
	}
	return 1 - d/unrelated*(d/unrelated)
}

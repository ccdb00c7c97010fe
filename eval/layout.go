package eval

import "math"

// layout is how rows lie on the engine, so that its Pairwise gives keys.
//
// Euclidean distance becomes a matrix product: with m the mean of the gallery,
// a' = a - m and b' = b - m, the row (a', 1) times (-2b', |b'|^2) is
// |a-b|^2 - |a'|^2. The last term is the query's own, see shift. Taking off the
// mean keeps sets that lie far from the origin precise.
type layout struct {
	order
	h    int
	mean []float64 // of Euclidean distance only
}

func newLayout(o order, gallery *Embeddings) layout {
	l := layout{order: o, h: gallery.H}
	if !o.expand {
		return l
	}
	l.mean = make([]float64, l.h)
	for i := range gallery.N {
		for j, v := range gallery.Row(i) {
			l.mean[j] += float64(v)
		}
	}
	for j := range l.mean {
		l.mean[j] /= float64(gallery.N)
	}
	return l
}

// width is the length of a row on the engine.
func (l layout) width() int {
	if l.expand {
		return l.h + 1
	}
	return l.h
}

// left lays out queries.
func (l layout) left(x []float32) []float32 {
	switch {
	case l.unit:
		return unitRows(x, l.h)
	case !l.expand:
		return x
	}
	rows := make([]float32, 0, len(x)/l.h*(l.h+1))
	for from := 0; from < len(x); from += l.h {
		for j, v := range x[from : from+l.h] {
			rows = append(rows, float32(float64(v)-l.mean[j]))
		}
		rows = append(rows, 1)
	}
	return rows
}

// right lays out gallery rows.
func (l layout) right(x []float32) []float32 {
	switch {
	case l.unit:
		return unitRows(x, l.h)
	case !l.expand:
		return x
	}
	rows := make([]float32, 0, len(x)/l.h*(l.h+1))
	for from := 0; from < len(x); from += l.h {
		sum := 0.0
		for j, v := range x[from : from+l.h] {
			d := float64(v) - l.mean[j]
			sum += d * d
			rows = append(rows, float32(-2*d))
		}
		rows = append(rows, float32(sum))
	}
	return rows
}

// reach is the norm of every row as the engine sees it, which bounds its
// rounding errors.
func (l layout) reach(e *Embeddings) []float64 {
	if !l.expand {
		return norms(e)
	}
	reach := make([]float64, e.N)
	for i := range reach {
		sum := 0.0
		for j, v := range e.Row(i) {
			d := float64(v) - l.mean[j]
			sum += d * d
		}
		reach[i] = math.Sqrt(sum)
	}
	return reach
}

// shift is what the engine's keys of a query of this reach lack.
func (l layout) shift(reach float64) float64 {
	if l.expand {
		return reach * reach
	}
	return 0
}

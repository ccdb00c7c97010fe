package eval

import (
	"math"
	"slices"

	"github.com/vernier-ml/vernier/metric"
)

// layout is how rows lie on the engine, so that its Pairwise gives keys.
//
// Euclidean distance becomes a matrix product: with m the mean of the gallery,
// a' = a - m and b' = b - m, the row (a', 1) times (-2b', |b'|^2) is
// |a-b|^2 - |a'|^2. The last term is the query's own, see shift. Taking off the
// mean keeps sets that lie far from the origin precise.
//
// SignalToNoise, with rows less their own mean, is |a-b|^2/|a|^2: with c the length
// of the longest gallery row, (a c/|a|^2, c^2/|a|^2) times (-2b/c, |b|^2/c^2) is that
// less 1.
type layout struct {
	order
	h      int
	mean   []float64 // of Euclidean distance only
	length float64   // c of SignalToNoise
	sketch *sketch   // of BRM where keys are approximations, see sketch
}

func newLayout(o order, workers int, gallery *Embeddings, k *kept) layout {
	l := layout{order: o, h: gallery.H}
	if o.expand {
		l.mean = k.means(workers, gallery)
	}
	if o.centered {
		for i := range gallery.N {
			l.length = max(l.length, l.center(make([]float64, l.h), gallery.Row(i)))
		}
		if l.length == 0 {
			l.length = 1
		}
	}
	return l
}

// meanRows is how many rows a goroutine adds up before the next: sums do not depend on the
// number of goroutines.
const meanRows = 1024

func columnMeans(workers int, e *Embeddings) []float64 {
	parts := (e.N + meanRows - 1) / meanRows
	sums := make([]float64, parts*e.H)
	_ = parallel(workers, parts, func(_, part int) error {
		sum := sums[part*e.H:][:e.H]
		for i := part * meanRows; i < min((part+1)*meanRows, e.N); i++ {
			row := e.Row(i)[:len(sum)]
			for j := range sum {
				sum[j] += float64(row[j])
			}
		}
		return nil
	})
	mean := sums[:e.H:e.H]
	for part := 1; part < parts; part++ {
		for j, v := range sums[part*e.H:][:e.H] {
			mean[j] += v
		}
	}
	for j := range mean {
		mean[j] /= float64(e.N)
	}
	return slices.Clone(mean)
}

// evaluates is what the engine computes of the rows.
func (l layout) evaluates() metric.Metric {
	if l.sketch != nil {
		return metric.Metric{Kind: metric.Dot}
	}
	return l.kernel
}

// width is the length of a row on the engine.
func (l layout) width() int {
	switch {
	case l.sketch != nil:
		return l.sketch.width()
	case l.expand || l.centered:
		return l.h + 1
	}
	return l.h
}

// learned is what laying out a gallery finds out of its rows, for the bounds of errors.
type learned struct {
	reach []float64 // see layout.reach
	facts []facts   // of a sketch
}

// fillGallery lays out the rows of a gallery, and learns what it can on the way.
func (l layout) fillGallery(workers int, dst, x []float32) (found learned) {
	n, w := len(x)/l.h, l.width()
	row := func(i int) (to, from []float32) { return dst[i*w : (i+1)*w], x[i*l.h : (i+1)*l.h] }
	switch {
	case l.sketch != nil:
		found.facts = make([]facts, n)
		_ = parallel(workers, n, func(_, i int) error {
			to, from := row(i)
			found.facts[i] = l.sketch.right(to, from)
			return nil
		})
	case l.expand:
		found.reach = make([]float64, n)
		_ = parallel(workers, n, func(_, i int) error {
			to, from := row(i)
			found.reach[i] = math.Sqrt(l.expandRow(to, from))
			return nil
		})
	default:
		l.fill(workers, dst, x, l.rightRow)
	}
	return found
}

// expandRow lays out a row of the gallery for Euclidean distance, and returns the square of
// its distance from the mean.
func (l layout) expandRow(dst, x []float32) float64 {
	mean, to := l.mean[:len(x)], dst[:len(x)]
	var sums [4]float64
	j := 0
	for ; j+4 <= len(x); j += 4 {
		a, b := float64(x[j])-mean[j], float64(x[j+1])-mean[j+1]
		c, d := float64(x[j+2])-mean[j+2], float64(x[j+3])-mean[j+3]
		to[j], to[j+1], to[j+2], to[j+3] = float32(-2*a), float32(-2*b), float32(-2*c), float32(-2*d)
		sums[0] += a * a
		sums[1] += b * b
		sums[2] += c * c
		sums[3] += d * d
	}
	for ; j < len(x); j++ {
		a := float64(x[j]) - mean[j]
		to[j] = float32(-2 * a)
		sums[0] += a * a
	}
	sum := sums[0] + sums[1] + (sums[2] + sums[3])
	dst[l.h] = float32(sum)
	return sum
}

// left and right lay out queries and gallery rows.
func (l layout) left(x []float32) []float32  { return l.rows(x, l.leftRow) }
func (l layout) right(x []float32) []float32 { return l.rows(x, l.rightRow) }

func (l layout) rows(x []float32, row func(dst, x []float32)) []float32 {
	dst := make([]float32, len(x)/l.h*l.width())
	l.fill(1, dst, x, row)
	return dst
}

// fill lays out rows with several goroutines.
func (l layout) fill(workers int, dst, x []float32, row func(dst, x []float32)) {
	w := l.width()
	_ = parallel(workers, len(x)/l.h, func(_, i int) error {
		row(dst[i*w:(i+1)*w], x[i*l.h:(i+1)*l.h])
		return nil
	})
}

func (l layout) leftRow(dst, x []float32) {
	switch {
	case l.sketch != nil:
		l.sketch.left(dst, x)
	case l.expand:
		for j, v := range x {
			dst[j] = float32(float64(v) - l.mean[j])
		}
		dst[l.h] = 1
	case l.centered:
		x64 := make([]float64, l.h)
		size := l.center(x64, x)
		if size == 0 { // see keyError
			clear(dst)
			return
		}
		scale := l.length / size
		for j, v := range x64 {
			dst[j] = float32(v / size * scale)
		}
		dst[l.h] = float32(scale * scale)
	default:
		l.plainRow(dst, x)
		if l.negate {
			for j, v := range dst {
				dst[j] = -v
			}
		}
	}
}

func (l layout) rightRow(dst, x []float32) {
	switch {
	case l.sketch != nil:
		l.sketch.right(dst, x)
	case l.expand:
		l.expandRow(dst, x)
	case l.centered:
		x64 := make([]float64, l.h)
		size := l.center(x64, x) / l.length
		for j, v := range x64 {
			dst[j] = float32(-2 * v / l.length)
		}
		dst[l.h] = float32(size * size)
	default:
		l.plainRow(dst, x)
	}
}

// center takes a row's mean off it and returns the length of what is left.
func (l layout) center(dst []float64, x []float32) float64 { return l.metric.ChordRow(dst, x) }

func (l layout) plainRow(dst, x []float32) {
	if l.unit {
		unitRow(dst, x)
		return
	}
	copy(dst, x)
}

// reach is the norm of every row as the engine sees it, for Manhattan the sum of its
// magnitudes; it bounds rounding errors. BRM and Cosine do without: it is 0.
func (l layout) reach(workers int, e *Embeddings) []float64 {
	if l.kernel.Kind == metric.BRM || l.unit {
		return make([]float64, e.N)
	}
	reach, origin := make([]float64, e.N), make([]float32, e.H)
	_ = parallel(workers, e.N, func(_, i int) error {
		switch {
		case l.centered:
			reach[i] = l.center(make([]float64, e.H), e.Row(i))
			return nil
		case l.kernel.Kind == metric.Manhattan:
			reach[i] = l.kernel.Value(e.Row(i), origin)
			return nil
		}
		sum := 0.0
		for j, v := range e.Row(i) {
			d := float64(v)
			if l.expand {
				d -= l.mean[j]
			}
			sum += d * d
		}
		reach[i] = math.Sqrt(sum)
		return nil
	})
	return reach
}

// shift is what the engine's keys of a query of this reach lack.
func (l layout) shift(reach float64) float64 {
	switch {
	case l.expand:
		return reach * reach
	case l.centered && reach > 0:
		return 1
	}
	return 0
}

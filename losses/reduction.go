package losses

// Reduction says how a loss puts its terms (pairs, triplets) together. A batch
// without terms gives 0.
type Reduction uint8

const (
	// MeanNonZero is the mean over the terms above 0, so that easy terms do not
	// dilute the others.
	MeanNonZero Reduction = iota
	// MeanAll is the mean over all terms, zeros included.
	MeanAll
	// PerAnchor is the mean over anchors with a term above 0 of the mean over
	// that anchor's terms above 0: a row with many active terms counts no more
	// than a row with one.
	PerAnchor
)

// tally counts the terms of every anchor, all and above 0.
type tally struct {
	all, active []int
}

func (t *tally) reset(anchors int) {
	t.all = grow(t.all, anchors)
	t.active = grow(t.active, anchors)
	clear(t.all)
	clear(t.active)
}

// totals returns the sums over anchors.
func (t *tally) totals() (all, active int) {
	for a := range t.all {
		all += t.all[a]
		active += t.active[a]
	}
	return all, active
}

// weights returns what one term above 0 of the given anchor counts in the
// loss, for each anchor.
func (t *tally) weights(r Reduction, out []float64) []float64 {
	out = grow(out, len(t.all))
	all, active := t.totals()
	anchors := 0
	for _, n := range t.active {
		if n > 0 {
			anchors++
		}
	}
	for a, n := range t.active {
		switch {
		case n == 0:
			out[a] = 0
		case r == MeanAll:
			out[a] = 1 / float64(all)
		case r == PerAnchor:
			out[a] = 1 / (float64(anchors) * float64(n))
		default:
			out[a] = 1 / float64(active)
		}
	}
	return out
}

// grow returns a slice of length n, s itself where it has room. Its content is
// unspecified.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// mean divides value and gradient by the number of terms.
func (r Result) mean(grad []float64) Result { return r.over(grad, float64(r.Total)) }

// over divides value and gradient by a number; by 0 it gives exactly 0.
func (r Result) over(grad []float64, divisor float64) Result {
	if divisor == 0 {
		r.Value = 0
		zero(grad)
		return r
	}
	r.Value /= divisor
	inverse := 1 / divisor
	for k, g := range grad {
		if g != 0 {
			grad[k] = g * inverse
		}
	}
	return r
}

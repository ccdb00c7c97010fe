package linear

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// activeSet holds, for each row, the rows of other classes that are or may soon
// be impostors.
type activeSet struct {
	eng     Engine
	x       *mat.Dense
	n       int
	labels  []int
	targets [][]int
	reg     float64
	near    [][]int32 // candidates of each row, ascending
	// round is the width over which the hinge is rounded off while descending,
	// for L-BFGS stalls at kinks; 0 is the hinge itself.
	round float64
	// skip, if set, takes row l out of the impostors of row i.
	skip func(i, l int) bool
}

// hinge returns [t]+ and its slope. Rounded off it is t^2/(2 round) up to t =
// round and t - round/2 beyond.
func (s *activeSet) hinge(t float64) (value, slope float64) {
	switch {
	case t <= 0:
		return 0, 0
	case t < s.round:
		return t * t / (2 * s.round), t / s.round
	}
	return t - s.round/2, 1
}

// reach is how far beyond the margin a row still is a candidate, in units of
// 1 + the distance to the farthest target.
const reach = .35

func newActiveSet(ctx context.Context, eng Engine, x *mat.Dense, labels []int, k int, reg float64) (*activeSet, error) {
	if k <= 0 {
		k = 3
	}
	reg, err := checkRegularization(reg)
	if err != nil {
		return nil, err
	}
	s := &activeSet{eng: eng, x: x, n: len(labels), labels: labels, reg: reg, near: make([][]int32, len(labels))}
	s.targets, err = targetsOf(ctx, x, labels, k)
	return s, err
}

// renew finds the candidates at L.
func (s *activeSet) renew(ctx context.Context, l *mat.Dense) error { return s.search(ctx, l, false) }

// extend adds the candidates at L to those that are there.
func (s *activeSet) extend(ctx context.Context, l *mat.Dense) error { return s.search(ctx, l, true) }

func (s *activeSet) search(ctx context.Context, l *mat.Dense, keep bool) error {
	z := transform(s.x, l)
	return squaredBlocks(ctx, s.eng, z, z, func(from, rows int, d2 []float64) error {
		inParts(rows, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				s.candidates(from+i, z, d2[i*s.n:(i+1)*s.n], keep)
			}
		})
		return nil
	})
}

func (s *activeSet) candidates(i int, z *mat.Dense, d2 []float64, keep bool) {
	old := s.near[i]
	if !keep {
		old = nil
		s.near[i] = s.near[i][:0]
	}
	if len(s.targets[i]) == 0 {
		return
	}
	far := 0.0
	for _, j := range s.targets[i] {
		far = max(far, squared(z.RawRowView(i), z.RawRowView(j)))
	}
	limit := (1 + far) * (1 + reach)
	for l, v := range d2 {
		if v < limit && s.labels[l] != s.labels[i] {
			s.near[i] = append(s.near[i], int32(l))
		}
	}
	if len(old) > 0 {
		slices.Sort(s.near[i])
		s.near[i] = slices.Compact(s.near[i])
	}
}

// lmnnValue is the objective and its parts.
type lmnnValue struct {
	total, pull, push float64
	active            int     // triplets with a positive hinge
	slopes            float64 // sum of the slopes of hinges
	rounding          float64 // sum of slope * hinge argument less the rounded hinge
}

// value computes the objective over the active set at z. If q is given, the
// Laplacian of the pair weights times src is added to it. With src = z the
// gradient with respect to L is 2 q^T x, with src = x that of M is x^T q.
func (s *activeSet) value(z, src, q *mat.Dense) lmnnValue {
	type rowWeights struct{ targets, near []float64 }
	weights := make([]rowWeights, s.n)
	var sums [parts]lmnnValue
	inParts(s.n, func(part, lo, hi int) {
		sum := &sums[part]
		for i := lo; i < hi; i++ {
			zi := z.RawRowView(i)
			t := s.targets[i]
			if len(t) == 0 {
				continue
			}
			w := rowWeights{make([]float64, len(t)), make([]float64, len(s.near[i]))}
			dist := make([]float64, len(t))
			far := 0.0
			for k, j := range t {
				dist[k] = squared(zi, z.RawRowView(j))
				far = max(far, dist[k])
				sum.pull += dist[k]
				w.targets[k] = s.reg
			}
			for c, l := range s.near[i] {
				d := squared(zi, z.RawRowView(int(l)))
				if d >= 1+far || s.skip != nil && s.skip(i, int(l)) {
					continue
				}
				for k, dk := range dist {
					if f, slope := s.hinge(1 + dk - d); f > 0 {
						sum.push += f
						sum.active++
						sum.slopes += slope
						sum.rounding += (1 - slope) * (1 + dk - d)
						w.targets[k] += (1 - s.reg) * slope
						w.near[c] -= (1 - s.reg) * slope
					}
				}
			}
			weights[i] = w
		}
	})
	var v lmnnValue
	for _, p := range sums {
		v.pull += p.pull
		v.push += p.push
		v.active += p.active
		v.slopes += p.slopes
		v.rounding += p.rounding
	}
	v.total = s.reg*v.pull + (1-s.reg)*v.push
	if q != nil {
		for i, w := range weights {
			for k, c := range w.targets {
				addPair(q, src, i, s.targets[i][k], c)
			}
			for k, c := range w.near {
				addPair(q, src, i, int(s.near[i][k]), c)
			}
		}
	}
	return v
}

// addPair adds w (z_a - z_b) to row a of q and takes it from row b.
func addPair(q, z *mat.Dense, a, b int, w float64) {
	if w == 0 {
		return
	}
	za, zb, qa, qb := z.RawRowView(a), z.RawRowView(b), q.RawRowView(a), q.RawRowView(b)
	for k, v := range za {
		d := w * (v - zb[k])
		qa[k] += d
		qb[k] -= d
	}
}

// nearest returns the k indices of smallest dist other than skip, the lower
// index first among equals. skip may be -1.
func nearest(dist []float64, k, skip int) []int {
	best := make([]int, 0, k+1)
	for j, v := range dist {
		if j == skip || len(best) == k && !(v < dist[best[k-1]]) {
			continue
		}
		at := len(best)
		for at > 0 && dist[best[at-1]] > v {
			at--
		}
		best = slices.Insert(best, at, j)
		if len(best) > k {
			best = best[:k]
		}
	}
	return best
}

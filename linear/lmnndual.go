package linear

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// lmnnDual bounds the minimum of LMNN's convex form from below. With C the
// weighted scatter of rows and their targets and A_t = d_ij d_ij^T - d_il d_il^T
// over triplets, the problem is min <C, M> + w sum [1 + <A_t, M>]+ over M >= 0. Its
// dual is max sum a_t with 0 <= a_t <= w and C + sum a_t A_t >= 0.
//
// The slopes of the rounded hinges, times w, are nearly optimal there. They are
// made feasible by a factor of at most 1, for a_t = 0 is feasible.
type lmnnDual struct {
	pull  *mat.SymDense // C
	basis *mat.Dense    // whitens C on its range; nil if C is 0
	free  *mat.Dense    // spans what is left, where M costs nothing; nil if nothing is
}

func newLMNNDual(s *activeSet) (*lmnnDual, error) {
	_, d := s.x.Dims()
	q := mat.NewDense(s.n, d, nil)
	for i, t := range s.targets {
		for _, j := range t {
			addPair(q, s.x, i, j, s.reg)
		}
	}
	var c mat.Dense
	c.Mul(s.x.T(), q)
	var err error
	dual := &lmnnDual{pull: symmetrised(&c)}
	if dual.basis, err = whitening(dual.pull); err != nil {
		return nil, err
	}
	dual.free = complement(dual.basis, d)
	return dual, nil
}

// complement returns orthonormal columns that span what the columns of w (d, r) do
// not: nil for r = d, all for w nil.
func complement(w *mat.Dense, d int) *mat.Dense {
	if w == nil {
		return identity(d, d)
	}
	_, r := w.Dims()
	if r == d {
		return nil
	}
	var qr mat.QR
	qr.Factorize(w)
	var q mat.Dense
	qr.QTo(&q)
	return mat.DenseCopyOf(q.Slice(0, d, r, d))
}

// lmnnBound is a lower bound of the objective.
type lmnnBound struct {
	value float64
	// rounding is what the rounded hinges add to the distance of objective and
	// bound.
	rounding float64
	// lacking has columns v, scaled, along which M + v v^T has a lower objective: M
	// lost rank there. It is nil if there are none.
	lacking *mat.Dense
}

// bound uses the slopes at l.
func (u *lmnnDual) bound(s *activeSet, l *mat.Dense) (lmnnBound, error) {
	_, d := s.x.Dims()
	if u.free != nil {
		// A row of another class that differs where M costs nothing has weight 0.
		free := transform(s.x, mat.DenseCopyOf(u.free.T()))
		s.skip = func(i, l int) bool { return squared(free.RawRowView(i), free.RawRowView(l)) > rankTolerance }
		defer func() { s.skip = nil }()
	}
	q := mat.NewDense(s.n, d, nil)
	v := s.value(transform(s.x, l), s.x, q)
	var g mat.Dense
	g.Mul(s.x.T(), q)
	negated := symmetrised(&g)
	subSym(negated, u.pull, negated)
	w := 1 - s.reg
	out := lmnnBound{value: w * v.slopes, rounding: w * v.rounding}
	if u.basis != nil {
		e, err := eigenOf(congruent(u.basis, negated))
		if err != nil {
			return lmnnBound{}, err
		}
		out.value /= max(1, e.values[0])
		out.lacking = u.above(e)
	}
	return out, nil
}

// above returns the eigenvectors of eigenvalue over 1, along which the dual is not
// feasible, times the root of what they are over.
func (u *lmnnDual) above(e eigen) *mat.Dense {
	const rounding = 1e-6
	k := 0
	for k < len(e.values) && e.values[k] > 1+rounding {
		k++
	}
	if k == 0 {
		return nil
	}
	var v mat.Dense
	v.Mul(u.basis, e.vectors.Slice(0, len(e.values), 0, k))
	for j := range k {
		for i := range v.RawMatrix().Rows {
			v.Set(i, j, v.At(i, j)*math.Sqrt(e.values[j]-1))
		}
	}
	return &v
}

// leave puts L^T L + t v v^T in place of L^T L, v the columns of lacking, at the
// largest t of a halved sequence that lowers the rounded objective. L-BFGS on L
// cannot, for the gradient at a direction without weight is 0.
func (s *activeSet) leave(l, lacking *mat.Dense, from float64) error {
	const halvings = 40
	h, d := l.Dims()
	now := s.value(transform(s.x, l), nil, nil).total
	for range halvings {
		var more mat.Dense
		more.Scale(math.Sqrt(from), lacking.T())
		var joined mat.Dense
		joined.Stack(l, &more)
		if s.value(transform(s.x, &joined), nil, nil).total < now {
			whole, err := factorOf(gram(&joined))
			if err != nil {
				return err
			}
			l.Copy(whole.Slice(0, min(h, d), 0, d))
			return nil
		}
		from /= 2
	}
	return nil
}

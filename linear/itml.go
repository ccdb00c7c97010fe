package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ITML is information-theoretic metric learning (Davis et al. 2007, Algorithm
// 1): the M nearest to the identity in LogDet divergence whose squared
// distances are at most Upper for similar pairs and at least Lower for
// dissimilar ones, with slack, by cyclic Bregman projections.
type ITML struct {
	// Upper and Lower bound squared distances; both 0 means the 5% and 95%
	// quantiles of the squared Euclidean distances of the given pairs.
	Upper, Lower float64
	// Gamma weighs the slack: large values enforce the bounds and converge
	// slowly. 0 means 0.01, since the usual bounds lie too far apart to be
	// enforced; +Inf allows no slack.
	Gamma float64
	// MaxIterations bounds the sweeps over all pairs; 0 means 1000.
	MaxIterations int
	// Tolerance on the relative change of the multipliers that is still to come, by
	// the series of their last changes; 0 means 1e-3.
	Tolerance float64
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2.
	Pairs int
	Seed  uint64
}

// Name returns "itml".
func (ITML) Name() string { return "itml" }

// Fit needs similar and dissimilar pairs, or labels. Pairs of equal rows take no
// part.
func (m ITML) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		similar, dissimilar, err := pairsOf(p, m.Pairs, m.Seed)
		if err != nil {
			return nil, err
		}
		if err := m.defaults(p, similar, dissimilar); err != nil {
			return nil, err
		}
		s := newProjections(m, p.X, similar, dissimilar)
		last := math.Inf(1)
		r := &Result{Metric: euclideanMetric, Minimized: true, ObjectiveStart: math.NaN(), ObjectiveEnd: math.NaN()}
		for r.Iterations < m.MaxIterations && !r.Converged {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r.Iterations++
			change := s.sweep()
			// Changes of cyclic projections fall by a factor, at last: what is still to
			// come is the sum of their series.
			left := change / (1 - min(change/last, 1))
			r.Converged = change == 0 || left < m.Tolerance
			last = change
		}
		mm := s.matrix()
		if r.L, err = factorOf(mm); err != nil {
			return nil, err
		}
		fixSigns(r.L)
		_, r.ObjectiveEnd, err = logDetDivergence(mm)
		if err != nil {
			return nil, err
		}
		r.ObjectiveStart = 0
		return r, nil
	})
}

func (m *ITML) defaults(p *Problem, similar, dissimilar []Pair) error {
	if m.Gamma == 0 {
		m.Gamma = .01
	}
	if m.MaxIterations == 0 {
		m.MaxIterations = 1000
	}
	if m.Tolerance == 0 {
		m.Tolerance = 1e-3
	}
	if m.Upper == 0 && m.Lower == 0 {
		all := append(squaredPairs(nil, p.X, similar), squaredPairs(nil, p.X, dissimilar)...)
		m.Upper, m.Lower = quantile(all, .05), quantile(all, .95)
		if m.Upper == 0 {
			m.Upper = m.Lower * 1e-3
		}
	}
	switch {
	case !(m.Gamma > 0):
		return fmt.Errorf("gamma is %v, want a positive number", m.Gamma)
	case !(m.Upper > 0 && m.Lower > 0):
		return fmt.Errorf("bounds on squared distances are %v and %v, want positive numbers: do all rows coincide?", m.Upper, m.Lower)
	}
	return nil
}

// projections is the state of the cyclic projections.
type projections struct {
	d      int
	x      *mat.Dense
	a      []float64 // M, (d, d)
	pairs  []Pair    // similar, then dissimilar ones
	sign   []float64
	bound  []float64
	lambda []float64
	gamma  float64
	v, av  []float64 // a difference, and M times it
}

func newProjections(m ITML, x *mat.Dense, similar, dissimilar []Pair) *projections {
	_, d := x.Dims()
	s := &projections{d: d, x: x, a: make([]float64, d*d), gamma: m.Gamma, v: make([]float64, d), av: make([]float64, d)}
	for i := range d {
		s.a[i*d+i] = 1
	}
	add := func(pairs []Pair, sign, bound float64) {
		for _, p := range pairs {
			if squared(x.RawRowView(p[0]), x.RawRowView(p[1])) > 0 {
				s.pairs, s.sign, s.bound = append(s.pairs, p), append(s.sign, sign), append(s.bound, bound)
			}
		}
	}
	add(similar, 1, m.Upper)
	add(dissimilar, -1, m.Lower)
	s.lambda = make([]float64, len(s.pairs))
	return s
}

// sweep projects on every constraint once and returns the relative change of
// the multipliers. The update is rank one: M += beta (M v)(M v)^T.
func (s *projections) sweep() float64 {
	share := 1.0
	if !math.IsInf(s.gamma, 1) {
		share = s.gamma / (s.gamma + 1)
	}
	change, size := 0.0, 0.0
	for k, p := range s.pairs {
		floats.SubTo(s.v, s.x.RawRowView(p[0]), s.x.RawRowView(p[1]))
		dist := s.times(s.v)
		if dist <= 0 { // rounding; the direction has no weight left
			continue
		}
		sign := s.sign[k]
		alpha := min(s.lambda[k], share*sign*(1/dist-1/s.bound[k]))
		size += math.Abs(s.lambda[k])
		s.lambda[k] -= alpha
		size += math.Abs(s.lambda[k])
		change += math.Abs(alpha)
		if alpha == 0 {
			continue
		}
		s.bound[k] = 1 / (1/s.bound[k] + sign*alpha/s.gamma)
		s.add(sign * alpha / (1 - sign*alpha*dist))
	}
	if size == 0 {
		return 0
	}
	return change / size
}

// times sets av = M v and returns v^T M v.
func (s *projections) times(v []float64) float64 {
	sum := 0.0
	for i := range s.d {
		row := s.a[i*s.d : (i+1)*s.d]
		dot := 0.0
		for j, x := range v {
			dot += row[j] * x
		}
		s.av[i] = dot
		sum += dot * v[i]
	}
	return sum
}

func (s *projections) add(beta float64) {
	for i, ai := range s.av {
		c := beta * ai
		if c != 0 {
			axpy(s.a[i*s.d:(i+1)*s.d], c, s.av)
		}
	}
}

func (s *projections) matrix() *mat.SymDense { return symmetrized(mat.NewDense(s.d, s.d, s.a)) }

// logDetDivergence returns log det M and the divergence of M from the identity,
// tr M - log det M - d.
func logDetDivergence(m *mat.SymDense) (logDet, divergence float64, err error) {
	e, err := eigenOf(m)
	if err != nil {
		return 0, 0, err
	}
	for _, v := range e.values {
		logDet += math.Log(max(v, 0))
	}
	return logDet, mat.Trace(m) - logDet - float64(len(e.values)), nil
}

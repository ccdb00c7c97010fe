package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// LCA is latent coincidence analysis (Der and Saul 2012; textbook section
// 16.2.1.3). Rows have latent images z ~ N(W x, sigma^2 I) in Dim dimensions,
// and a pair is similar with probability exp(-|z - z'|^2 / (2 kappa^2)); with
// the latent images integrated out that is
//
//	P = (k/(k+s))^(Dim/2) exp(-|W(x-x')|^2 / (2(k+s))),  s = 2 sigma^2, k = kappa^2.
//
// W and s maximize the likelihood of the pairs by expectation maximization,
// which raises it in every step and needs no step size. Only the difference of
// the two images matters, so it is the one latent variable here. kappa is 1: it
// sets the scale of W.
type LCA struct {
	// Dim of the latent space; 0 means d.
	Dim int
	// MaxIterations bounds the steps; 0 means 500.
	MaxIterations int
	// Tolerance on the gain of the log-likelihood that is still to come, by the
	// series of its last gains, relative to it; 0 means 1e-4.
	Tolerance float64
	// Pairs of each kind to draw from labels with Seed; 0 means 20 C^2, but at
	// least 2000.
	Pairs int
	Seed  uint64
}

// Name returns "lca".
func (LCA) Name() string { return "lca" }

// Fit needs similar and dissimilar pairs, or labels.
func (m LCA) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(m.Name(), p, func() (*Result, error) {
		c := len(distinctLabels(p.Labels))
		if m.Pairs == 0 {
			m.Pairs = max(2000, 20*c*c)
		}
		similar, dissimilar, err := pairsOf(p, m.Pairs, m.Seed)
		if err != nil {
			return nil, err
		}
		_, d := p.X.Dims()
		if m.Dim < 0 || m.Dim > d {
			return nil, fmt.Errorf("%d latent dimensions asked for, rows have %d columns", m.Dim, d)
		}
		e, err := newCoincidence(p.X, similar, dissimilar, m.Dim)
		if err != nil {
			return nil, err
		}
		return m.climb(ctx, e)
	})
}

func (m LCA) climb(ctx context.Context, e *coincidence) (*Result, error) {
	steps, tolerance := m.MaxIterations, m.Tolerance
	if steps == 0 {
		steps = 500
	}
	if tolerance == 0 {
		tolerance = 1e-4
	}
	last, gained := e.expect(), math.Inf(1)
	r := &Result{Metric: euclideanMetric, ObjectiveStart: last, ObjectiveEnd: last}
	for r.Iterations < steps && !r.Converged {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := e.maximize(); err != nil {
			return nil, err
		}
		r.Iterations++
		now := e.expect()
		gain := now - last
		// Gains of expectation maximization fall by a factor, at last: what is still
		// to come is the sum of their series.
		left := gain / (1 - min(gain/gained, 1))
		r.Converged = gain <= 0 || left < tolerance*math.Abs(now)
		last, gained, r.ObjectiveEnd = now, gain, now
	}
	r.L = e.w
	return r, nil
}

// coincidence is the state of the EM algorithm.
type coincidence struct {
	x       *mat.Dense
	pairs   []Pair
	similar int // the first pairs are similar
	w       *mat.Dense
	s       float64 // 2 sigma^2
	inverse *mat.SymDense
	// Of the E step: posterior means of the differences, their summed squared
	// norms, and W times the differences.
	mean, image *mat.Dense
	square      float64
}

func newCoincidence(x *mat.Dense, similar, dissimilar []Pair, dim int) (*coincidence, error) {
	e := &coincidence{x: x, pairs: append(append([]Pair{}, similar...), dissimilar...), similar: len(similar)}
	_, d := x.Dims()
	if dim == 0 {
		dim = d
	}
	scatter := scatterOf(x, e.pairs)
	es, err := eigenOf(scatter)
	if err != nil {
		return nil, err
	}
	white, err := whitening(scatter)
	if err != nil {
		return nil, err
	}
	if white == nil {
		return nil, fmt.Errorf("the rows of all pairs coincide")
	}
	e.inverse = gram(mat.DenseCopyOf(white.T()))
	// Start at the leading directions, at a scale where similar pairs are about
	// kappa apart.
	e.w = mat.NewDense(dim, d, nil)
	for i := range dim {
		for j := range d {
			e.w.Set(i, j, es.vectors.At(j, i))
		}
	}
	z := transform(x, e.w)
	typical := quantile(squaredPairs(nil, z, similar), .5)
	if typical == 0 {
		typical = mat.Trace(scatter) / float64(len(e.pairs))
	}
	e.w.Scale(1/math.Sqrt(typical), e.w)
	e.s = 1 / float64(dim)
	e.mean, e.image = mat.NewDense(len(e.pairs), dim, nil), mat.NewDense(len(e.pairs), dim, nil)
	return e, nil
}

// expect is the E step; it returns the log-likelihood. Given similar, the
// difference is normal with mean mu k/(k+s) and variance sk/(k+s) a coordinate;
// given dissimilar its density is the prior less P times that.
func (e *coincidence) expect() float64 {
	z := transform(e.x, e.w)
	h, _ := e.w.Dims()
	shrinkage := 1 / (1 + e.s)
	logP0 := .5 * float64(h) * math.Log(shrinkage)
	f := 0.0
	e.square = 0
	for k, p := range e.pairs {
		za, zb := z.RawRowView(p[0]), z.RawRowView(p[1])
		mu, mean := e.image.RawRowView(k), e.mean.RawRowView(k)
		norm := 0.0
		for j := range mu {
			mu[j] = za[j] - zb[j]
			norm += mu[j] * mu[j]
		}
		logP := logP0 - norm*shrinkage/2
		// Second moments: |mean|^2 + Dim * variance.
		near := norm*shrinkage*shrinkage + float64(h)*e.s*shrinkage
		prior := norm + float64(h)*e.s
		factor := shrinkage
		if k < e.similar {
			f += logP
			e.square += near
		} else {
			pr := math.Exp(logP)
			rest := -math.Expm1(logP)
			f += math.Log(rest)
			factor = (1 - pr*shrinkage) / rest
			e.square += (prior - pr*near) / rest
		}
		for j := range mu {
			mean[j] = factor * mu[j]
		}
	}
	return f
}

// maximize is the M step: least squares for W, the mean squared residual for s.
func (e *coincidence) maximize() error {
	n, d := e.x.Dims()
	h, _ := e.w.Dims()
	// Sum over pairs of mean (x_a - x_b)^T, by rows.
	q := mat.NewDense(n, h, nil)
	for k, p := range e.pairs {
		m := e.mean.RawRowView(k)
		axpy(q.RawRowView(p[0]), 1, m)
		axpy(q.RawRowView(p[1]), -1, m)
	}
	cross := mat.NewDense(h, d, nil)
	cross.Mul(q.T(), e.x)
	e.w.Mul(cross, e.inverse)
	z := transform(e.x, e.w)
	residual := e.square
	for k, p := range e.pairs {
		m, za, zb := e.mean.RawRowView(k), z.RawRowView(p[0]), z.RawRowView(p[1])
		for j := range m {
			v := za[j] - zb[j]
			residual += v*v - 2*v*m[j]
		}
	}
	e.s = residual / float64(len(e.pairs)*h)
	if !(e.s > 0) {
		return fmt.Errorf("the noise of the latent space vanished: similar pairs coincide")
	}
	return nil
}

package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/metric"
)

// Stochastic holds the settings that BRM-C and BRM-R share: a linear map is
// learned by Adam on batches drawn from the constraints. The zero value is the
// usual setting, found on eight public tables: positives among the nearest of
// the class and half of the negatives among the nearest impostors matter more
// than anything else.
type Stochastic struct {
	Env
	// Unrestricted takes the Euclidean distance (over sqrt h, BRM Eq. 1) in place
	// of the restricted one, under the same loss and sampling.
	Unrestricted bool
	Restriction  metric.Restriction
	Omega        float64 // of ISRU; 0 means 1
	P            int     // 1 or 2; 0 means 2
	// Dim is the number of rows of L; 0 means d. Init is L at the start, as in NCA.
	Dim  int
	Init *mat.Dense
	// Steps of Adam, 0 means 400; Rate at the start, 0 means 0.02, falls to 0 by
	// a cosine; Batch of triplets or pairs of each kind, 0 means 1024.
	Steps int
	Rate  float64
	Batch int
	// Penalty weighs |L - L0|^2, which keeps L near its start and with it the
	// robustness to single bad features; 1e-3 to 1e-2 is much.
	Penalty float64
	// Positives is among how many nearest rows of its class a positive is drawn,
	// 0 means 5; Impostors among how many nearest of other classes half of the
	// negatives are, 0 means 20.
	Positives, Impostors int
}

// BRMC learns a boundary-restricted metric with the contrastive loss (BRM Eq. 2)
// by squared hinges: [D - U]+^2 for similar pairs, [V - D]+^2 for dissimilar
// ones.
type BRMC struct {
	Stochastic
	// U and V are in units of the median distance of two rows at the start;
	// both 0 means 0.4 and 0.7.
	U, V float64
}

// BRMR learns a boundary-restricted metric with the relative loss (BRM Eq. 3) by
// a squared hinge: [D(a,p) - D(a,q) + Tau]+^2.
type BRMR struct {
	Stochastic
	// Tau is in units of the median distance of two rows at the start; 0 means 0.3.
	Tau float64
}

// Name returns "brm-c", or "euclidean-c" if unrestricted.
func (b BRMC) Name() string { return b.name("brm-c", "euclidean-c") }

// Name returns "brm-r", or "euclidean-r" if unrestricted.
func (b BRMR) Name() string { return b.name("brm-r", "euclidean-r") }

func (s Stochastic) name(restricted, plain string) string {
	if s.Unrestricted {
		return plain
	}
	return restricted
}

// metric is what the result measures with; D in training is the same up to the
// constant sqrt h of the Euclidean distance.
func (s Stochastic) metric() (metric.Metric, error) {
	if s.Unrestricted {
		return euclideanMetric, nil
	}
	m := metric.Metric{Kind: metric.BRM, Restriction: s.Restriction, Omega: s.Omega, P: s.P}
	if m.P == 0 {
		m.P = 2
	}
	if m.Omega == 0 && m.Restriction == metric.ISRU {
		m.Omega = 1
	}
	return m, m.Validate()
}

// Fit needs similar and dissimilar pairs, or labels.
func (b BRMC) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(b.Name(), p, func() (*Result, error) {
		if b.U == 0 && b.V == 0 {
			b.U, b.V = .4, .7
		}
		if !(b.U >= 0 && b.V > b.U) {
			return nil, fmt.Errorf("u is %v and v is %v, want 0 <= u < v", b.U, b.V)
		}
		draw, err := b.pairs(ctx, p)
		if err != nil {
			return nil, err
		}
		return b.learn(ctx, p, draw, func(dist, slope []float64, unit float64) float64 {
			return contrastive(dist, slope, b.U*unit, b.V*unit)
		})
	})
}

// Fit needs triplets, or labels.
func (b BRMR) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(b.Name(), p, func() (*Result, error) {
		if b.Tau == 0 {
			b.Tau = .3
		}
		if !(b.Tau > 0) {
			return nil, fmt.Errorf("tau is %v, want a positive number", b.Tau)
		}
		draw, err := b.triplets(ctx, p)
		if err != nil {
			return nil, err
		}
		return b.learn(ctx, p, draw, func(dist, slope []float64, unit float64) float64 {
			return relative(dist, slope, b.Tau*unit)
		})
	})
}

// contrastive is the mean loss over pairs; dist holds similar and dissimilar
// ones by turns, slope becomes the gradient.
func contrastive(dist, slope []float64, u, v float64) float64 {
	n := float64(len(dist))
	f := 0.0
	for k := 0; k < len(dist); k += 2 {
		over, under := max(dist[k]-u, 0), max(v-dist[k+1], 0)
		f += (over*over + under*under) / n
		slope[k], slope[k+1] = 2*over/n, -2*under/n
	}
	return f
}

// relative is the mean loss over triplets; dist holds D(a,p) and D(a,q) by turns.
func relative(dist, slope []float64, tau float64) float64 {
	n := float64(len(dist) / 2)
	f := 0.0
	for k := 0; k < len(dist); k += 2 {
		e := max(dist[k]-dist[k+1]+tau, 0)
		f += e * e / n
		slope[k], slope[k+1] = 2*e/n, -2*e/n
	}
	return f
}

// level is the share of the loss's fall that may lie in the second half of the
// steps, in which the rate goes to 0, for the fit to count as converged.
const level = .08

// learn runs Adam. draw fills a batch with pairs of rows by turns near and far;
// loss is given their distances and the unit of margins.
func (s Stochastic) learn(ctx context.Context, p *Problem, draw func([]Pair), loss func(dist, slope []float64, unit float64) float64) (*Result, error) {
	metric, err := s.metric()
	if err != nil {
		return nil, err
	}
	steps, rate, batch := s.Steps, s.Rate, s.Batch
	if steps == 0 {
		steps = 400
	}
	if rate == 0 {
		rate = .02
	}
	if batch == 0 {
		batch = 1024
	}
	if steps < 0 || batch < 0 || !(rate > 0) || s.Penalty < 0 {
		return nil, fmt.Errorf("steps %d, batch %d, rate %v, penalty %v: none may be negative", steps, batch, rate, s.Penalty)
	}
	l, err := startFactor(s.Init, s.Dim, p.X, p.Labels)
	if err != nil {
		return nil, err
	}
	m, err := newMapped(s.Engine, metric, p.X, l, 2*batch)
	if err != nil {
		return nil, err
	}
	unit, err := m.median(s.Seed)
	if err != nil {
		return nil, err
	}
	pairs, slope := make([]Pair, 2*batch), make([]float64, 2*batch)
	fixed := make([]Pair, 2*batch) // what the objective is reported on
	draw(fixed)
	report := func() (float64, error) {
		d, err := m.distances(fixed)
		if err != nil {
			return 0, err
		}
		return loss(d, slope, unit), nil
	}
	r := &Result{L: m.l, Metric: metric, Minimized: true, Iterations: steps}
	if r.ObjectiveStart, err = report(); err != nil {
		return nil, err
	}
	start := mat.DenseCopyOf(l)
	half := math.Inf(1) // the loss when half of the steps are done
	opt := newAdam(len(l.RawMatrix().Data))
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		draw(pairs)
		d, err := m.distances(pairs)
		if err != nil {
			return nil, err
		}
		loss(d, slope, unit)
		g, err := m.gradient(slope)
		if err != nil {
			return nil, err
		}
		if s.Penalty > 0 {
			for k, v := range m.l.RawMatrix().Data {
				g[k] += 2 * s.Penalty * (v - start.RawMatrix().Data[k])
			}
		}
		opt.step(m.l.RawMatrix().Data, g, rate*.5*(1+math.Cos(math.Pi*float64(step)/float64(steps))))
		if step == steps/2 {
			if half, err = report(); err != nil {
				return nil, err
			}
		}
	}
	if r.ObjectiveEnd, err = report(); err != nil {
		return nil, err
	}
	if math.IsNaN(r.ObjectiveEnd) {
		return nil, fmt.Errorf("the loss is NaN after %d steps: lower the rate of %v", steps, rate)
	}
	fall := r.ObjectiveStart - r.ObjectiveEnd
	r.Converged = fall > 0 && half-r.ObjectiveEnd <= level*fall
	if !(fall > 0) {
		r.note("the loss did not fall: rows this far apart are beyond the metric's range, or the rate of %v is too high; standardize the columns or scale them down", rate)
	}
	return r, nil
}

// adam is Kingma and Ba's optimizer (2015) with its usual constants.
type adam struct {
	m, v []float64
	t    int
}

func newAdam(n int) *adam { return &adam{m: make([]float64, n), v: make([]float64, n)} }

func (a *adam) step(x, g []float64, rate float64) {
	const b1, b2, eps = .9, .999, 1e-8
	a.t++
	c1, c2 := 1-math.Pow(b1, float64(a.t)), 1-math.Pow(b2, float64(a.t))
	for i, v := range g {
		a.m[i] = b1*a.m[i] + (1-b1)*v
		a.v[i] = b2*a.v[i] + (1-b2)*v*v
		x[i] -= rate * (a.m[i] / c1) / (math.Sqrt(a.v[i]/c2) + eps)
	}
}

package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// ClassSoftmax is the mean cross-entropy over classes. Exponentials are float32, their sums
// and what belongs to the own class float64.
func (e *Engine) ClassSoftmax(loss, dd, d, labels engine.Tensor, spec engine.ClassSoftmaxSpec) error {
	g := args{op: "class softmax"}
	c := g.classLoss(loss, dd, d, labels)
	if g.err == nil && !(spec.Angle >= 0 && spec.Angle <= math.Pi) {
		g.fail("an angle of %v, want 0 to pi", spec.Angle)
	}
	if g.err == nil && spec.OthersOnly && (spec.Smoothing != 0 || c.columns < 2) {
		g.fail("the other classes alone, of %d, with smoothing %v: want 2 classes or more and no smoothing", c.columns, spec.Smoothing)
	}
	if g.err != nil {
		return g.err
	}
	s := classSoftmax{classLoss: c, spec: spec, kernels: e.kernels, logit: times(spec.Similarity, float64(spec.Scale), 0)}
	if c.columns > 1 { // alone a class has all of the target
		s.smoothing = float64(spec.Smoothing)
		s.rest = s.smoothing / float64(c.columns-1)
	}
	values := make([]float64, c.rows)
	e.pool.run(c.rows, func(worker, i int) {
		values[i] = s.value(i, grow(&e.scratch.workers[worker].rows, 2*c.columns))
	})
	total := 0.0
	for _, v := range values {
		total += v
	}
	c.set(total / float64(c.rows))
	return nil
}

// classSoftmax is one evaluation of the loss.
type classSoftmax struct {
	classLoss
	kernels         *kernels
	spec            engine.ClassSoftmaxSpec
	logit           quadraticOf // of other classes
	smoothing, rest float64     // shares of all other classes and of each in the target
}

// value returns the cross-entropy of a row and sets its part of dd. tmp has room for two
// rows.
func (s *classSoftmax) value(i int, tmp []float32) float64 {
	x, y, own := s.row(s.d, i), tmp[:s.columns], s.own[i]
	if !s.kernels.finite(x) {
		return math.NaN()
	}
	mine, slope := s.widened(x[own])
	s.logit.set(s.kernels, y, x)
	y[own] = 0
	all := 0.0 // of the other classes' logits
	if s.rest != 0 {
		all = s.kernels.sum(y)
	}
	y[own] = float32(math.Inf(-1))
	top := max(s.kernels.largest(y), -math.MaxFloat32)
	if !s.spec.OthersOnly {
		top = max(top, float32(mine))
	}
	rivals := s.kernels.exp(y, y, 1, top)
	over := mine - float64(top)
	sum, log := rivals, math.Log(rivals)
	if !s.spec.OthersOnly {
		e := math.Exp(over)
		sum = rivals + e
		// Where the own class is the nearest by far, 1 would swallow the others.
		log = over + math.Log1p(rivals/e)
		if e < 0.5 {
			log = math.Log(sum)
		}
	}
	if s.dd != nil {
		s.derivative(i, y, tmp[s.columns:], rivals, sum, slope)
	}
	all -= float64(s.columns-1) * float64(top)
	value := log - (1-s.smoothing)*over
	if s.rest != 0 {
		value -= s.rest * all
	}
	return value
}

// derivative sets a row of dd, given the exponentials of the other classes, their sum, the
// denominator and the slope of the own logit.
func (s *classSoftmax) derivative(i int, exp, tmp []float32, rivals, sum, slope float64) {
	x, to, q := s.row(s.d, i), s.row(s.dd, i), s.logit
	each := 1 / float64(s.rows)
	if q.c == 0 {
		s.kernels.affine(to, exp, nil, 0, float32(q.b*each/sum), float32(-q.b*each*s.rest), 0)
	} else {
		s.kernels.affine(to, exp, nil, 0, float32(each/sum), float32(-each*s.rest), 0)
		s.kernels.affine(tmp, x, nil, 0, float32(2*q.c), float32(q.b), 0)
		s.kernels.multiply(to, to, tmp)
	}
	to[s.own[i]] = float32(each * (s.smoothing - rivals/sum) * slope)
}

// widened returns the logit of the own class, whose value is x, as the loss counts it, and
// its slope.
func (s *classSoftmax) widened(x float32) (y, slope float64) {
	q, scale := times(s.spec.Similarity, 1, 0), float64(s.spec.Scale)
	y, slope = q.at(x)
	by := 1.0
	if s.spec.Angle != 0 {
		y, by = s.turned(y)
	}
	return scale * (y - float64(s.spec.Margin)), scale * by * slope
}

// turned returns cos(t+m) of the cosine of t, or what takes its place, and the derivative.
func (s *classSoftmax) turned(cosine float64) (y, slope float64) {
	const least = 1e-6 // of the squared sine
	sin, cos := math.Sincos(s.spec.Angle)
	if cosine <= -cos { // t > pi - m
		return cosine - s.spec.Angle*sin, 1
	}
	square := 1 - cosine*cosine
	if square <= least {
		return cosine*cos - math.Sqrt(least)*sin, cos
	}
	sine := math.Sqrt(square)
	return cosine*cos - sine*sin, cos + cosine/sine*sin
}

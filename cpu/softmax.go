package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// softmaxRow sets y to the softmax of scale*x, scale > 0, and returns the logarithm of the
// sum that it was divided by. y may be x. Without a largest element, which is
// where one is NaN or all are -Inf, everything is NaN.
func softmaxRow(kr *kernels, y, x []float32, scale float32) float32 {
	most := kr.largest(x)
	sum := kr.exp(y, x, scale, most)
	kr.scale(y, y, float32(1/sum))
	return float32(float64(scale)*float64(most) + math.Log(sum))
}

// Softmax sets every row of y to exp(x) / sum exp(x).
func (e *Engine) Softmax(y, x engine.Tensor) error {
	g := args{op: "softmax"}
	d, s, l := g.rowwise(y, x)
	if g.err != nil {
		return g.err
	}
	e.eachRow(l.rows, func(r int) { softmaxRow(e.kernels, l.row(d.v, r), l.row(s.v, r), 1) })
	return nil
}

// rowwise takes the arguments of an operation on rows.
func (g *args) rowwise(y, x engine.Tensor) (d, s view, l lines) {
	d, s = g.get("y", y, -1), g.get("x", x, -1)
	g.same(d, s)
	return d, s, g.lines(s, 1)
}

// LogSoftmax sets every row of y to x - log sum exp(x).
func (e *Engine) LogSoftmax(y, x engine.Tensor) error {
	g := args{op: "log softmax"}
	d, s, l := g.rowwise(y, x)
	if g.err != nil {
		return g.err
	}
	e.eachRow(l.rows, func(r int) {
		from, to := l.row(s.v, r), l.row(d.v, r)
		most := e.kernels.largest(from)
		sum := 0.0
		for _, v := range from {
			sum += math.Exp(float64(v) - float64(most))
		}
		logSum := float64(most) + math.Log(sum)
		for j, v := range from {
			to[j] = float32(float64(v) - logSum)
		}
	})
	return nil
}

// SoftmaxGrad is the gradient of Softmax: dx = y*(dy - sum(dy*y)).
func (e *Engine) SoftmaxGrad(dx, dy, y engine.Tensor) error {
	g := args{op: "softmax gradient"}
	d, u, s, l := g.rowwiseGrad(dx, dy, y)
	if g.err != nil {
		return g.err
	}
	e.eachRow(l.rows, func(r int) {
		to, up, out := l.row(d.v, r), l.row(u.v, r), l.row(s.v, r)
		e.kernels.softmaxGrad(to, up, out, float32(e.kernels.project(up, out, 0)), 1)
	})
	return nil
}

func (g *args) rowwiseGrad(dx, dy, y engine.Tensor) (d, u, s view, l lines) {
	d, u, s = g.get("dx", dx, -1), g.get("dy", dy, -1), g.get("y", y, -1)
	g.same(u, s)
	g.same(d, s)
	return d, u, s, g.lines(s, 1)
}

// LogSoftmaxGrad is the gradient of LogSoftmax: dx = dy - exp(y)*sum(dy).
func (e *Engine) LogSoftmaxGrad(dx, dy, y engine.Tensor) error {
	g := args{op: "log softmax gradient"}
	d, u, s, l := g.rowwiseGrad(dx, dy, y)
	if g.err != nil {
		return g.err
	}
	e.eachRow(l.rows, func(r int) {
		to, up, out := l.row(d.v, r), l.row(u.v, r), l.row(s.v, r)
		total := e.kernels.sum(up)
		for j, v := range out {
			to[j] = float32(float64(up[j]) - math.Exp(float64(v))*total)
		}
	})
	return nil
}

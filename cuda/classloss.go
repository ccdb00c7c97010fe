package cuda

import (
	"math"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

var _ engine.ClassLosses = (*Engine)(nil)

// classLoss are the arguments of a loss over class rows; all of it is float32,
// whatever the engine's precision.
type classLoss struct {
	rows, columns         int
	loss, grad, d, labels device.Ptr
}

func (a *args) classLoss(loss, dd, d, labels engine.Tensor) (c classLoss) {
	in := a.of("d", d, -1, -1)
	if a.err != nil {
		return c
	}
	c.rows, c.columns = in.shape[0], in.shape[1]
	out, grad, of := a.of("loss", loss, 1), a.maybe("dd", dd, c.rows, c.columns), a.of("labels", labels, c.rows)
	a.apart(grad, in)
	a.check(a.err != nil || c.columns <= engine.MaxClasses, "%v has more than %d columns", in, engine.MaxClasses)
	if a.err != nil {
		return c
	}
	c.d, c.labels = a.in(in, device.F32), a.in(of, device.F32)
	c.loss = a.out(out, device.F32)
	if grad.there() {
		c.grad = a.out(grad, device.F32)
	} else {
		c.grad = a.floats(in.size)
	}
	return c
}

func view(s engine.Quadratic) kernels.View { return kernels.View(s) }

// ProxyAnchor is the loss of Kim et al.
func (e *Engine) ProxyAnchor(loss, dd, d, labels engine.Tensor, spec engine.ProxyAnchorSpec) error {
	a := e.args("proxy-anchor")
	c := a.classLoss(loss, dd, d, labels)
	if a.err != nil {
		return a.err
	}
	share, stats := a.floats(1), a.floats(6*c.columns)
	a.launch(kernels.ProxyAnchor(c.rows, c.columns, c.loss, c.grad, share, stats, c.d, c.labels, spec.Alpha, spec.PosMargin, spec.NegMargin, view(spec.Similarity))...)
	return a.done()
}

// ClassSoftmax is the mean cross-entropy over classes.
func (e *Engine) ClassSoftmax(loss, dd, d, labels engine.Tensor, spec engine.ClassSoftmaxSpec) error {
	a := e.args("class softmax")
	c := a.classLoss(loss, dd, d, labels)
	a.check(spec.Angle >= 0 && spec.Angle <= math.Pi, "an angle of %v, want 0 to pi", spec.Angle)
	a.check(!spec.OthersOnly || spec.Smoothing == 0 && c.columns > 1, "the other classes alone, of %d, with smoothing %v: want 2 classes or more and no smoothing", c.columns, spec.Smoothing)
	if a.err != nil {
		return a.err
	}
	sine, cosine := math.Sincos(spec.Angle)
	s := kernels.ClassSoftmax{
		Scale: spec.Scale, Cosine: float32(cosine), Sine: float32(sine), Far: float32(spec.Angle * sine),
		Margin: spec.Margin, Smoothing: spec.Smoothing, OthersOnly: spec.OthersOnly,
	}
	a.launch(s.Launches(c.rows, c.columns, c.loss, c.grad, a.floats(c.rows), c.d, c.labels, view(spec.Similarity))...)
	return a.done()
}

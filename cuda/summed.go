package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

var _ engine.Summer = (*Engine)(nil)

// ReLUGradSums is ReLUGrad and the sums of dx.
func (e *Engine) ReLUGradSums(dx, sums, dy, y engine.Tensor) error {
	a := e.args("relu gradient, summed")
	return a.summed(dx, sums, dy, y, "y", func(t device.Type, rows int64, c int, dx, part, dy, y device.Ptr) kernels.Launch {
		return kernels.BoundGradSums(t, rows, c, dx, part, dy, y, 0)
	})
}

// ReLU6GradSums is ReLU6Grad and the sums of dx.
func (e *Engine) ReLU6GradSums(dx, sums, dy, y engine.Tensor) error {
	a := e.args("relu6 gradient, summed")
	return a.summed(dx, sums, dy, y, "y", func(t device.Type, rows int64, c int, dx, part, dy, y device.Ptr) kernels.Launch {
		return kernels.BoundGradSums(t, rows, c, dx, part, dy, y, engine.Ceiling6)
	})
}

// GELUGradSums is GELUGrad and the sums of dx.
func (e *Engine) GELUGradSums(dx, sums, dy, x engine.Tensor, form engine.GELUForm) error {
	a := e.args("gelu gradient, summed")
	a.check(form.Known(), "form %d is unknown", form)
	return a.summed(dx, sums, dy, x, "x", func(t device.Type, rows int64, c int, dx, part, dy, x device.Ptr) kernels.Launch {
		return kernels.GELUGradSums(t, rows, c, dx, part, dy, x, int(form))
	})
}

// summed launches a kernel that computes every element of dx from those of dy and x, and
// parts of the sums of dx.
func (a *args) summed(dx, sums, dy, x engine.Tensor, name string, launch func(t device.Type, rows int64, c int, dx, part, dy, x device.Ptr) kernels.Launch) error {
	to, up, in := a.any("dx", dx), a.any("dy", dy), a.any(name, x)
	a.same(to, up)
	if a.same(to, in); a.err != nil {
		return a.err
	}
	rows, c := channelRows(to)
	total := a.of("sums", sums, c)
	if a.err != nil {
		return a.err
	}
	t := common(to, up, in)
	p, q := a.in(up, t), a.in(in, t)
	parts, _ := kernels.Parts(rows, c)
	s := a.sumsTo(total, parts, c)
	a.launch(launch(t, rows, c, a.out(to, t), s.part, p, q))
	a.launch(s.end...)
	return a.done()
}

// channelRows is a tensor in memory: rows of channels.
func channelRows(x named) (rows int64, c int) {
	c = x.shape[len(x.shape)-1]
	if len(x.shape) == 4 {
		c = x.shape[1]
	}
	return int64(x.size / c), c
}

package reference

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// pooling holds checked arguments.
type pooling struct {
	x, y array
	spec engine.PoolSpec
}

func (c *call) pooling(x, y array, s engine.PoolSpec) pooling {
	p := pooling{x, y, s}
	c.check(s.KernelH > 0 && s.KernelW > 0 && s.StrideH > 0 && s.StrideW > 0 && s.PadH >= 0 && s.PadW >= 0,
		"%+v, want positive kernels and strides and no negative padding", s)
	c.check(s.PadH < s.KernelH && s.PadW < s.KernelW, "padding %d, %d, want less than the kernel %d, %d: no window may lie in the padding", s.PadH, s.PadW, s.KernelH, s.KernelW)
	if c.err != nil {
		return p
	}
	ho, wo := s.OutSize(x.shape[2], x.shape[3])
	c.check(ho > 0 && wo > 0, "a %dx%d window does not fit into %v with padding %d, %d", s.KernelH, s.KernelW, x, s.PadH, s.PadW)
	c.check(y.shape[0] == x.shape[0] && y.shape[1] == x.shape[1] && y.shape[2] == ho && y.shape[3] == wo,
		"%v, want [%d %d %d %d]", y, x.shape[0], x.shape[1], ho, wo)
	return p
}

// each calls f for every window with its position in y and the positions of its
// real cells in x, in row-major order.
func (p pooling) each(f func(y int, cells []int)) {
	s := p.spec
	for n := range p.y.shape[0] {
		for c := range p.y.shape[1] {
			for i := range p.y.shape[2] {
				for j := range p.y.shape[3] {
					var cells []int
					for h := max(0, i*s.StrideH-s.PadH); h < min(p.x.shape[2], i*s.StrideH-s.PadH+s.KernelH); h++ {
						for w := max(0, j*s.StrideW-s.PadW); w < min(p.x.shape[3], j*s.StrideW-s.PadW+s.KernelW); w++ {
							cells = append(cells, p.x.at(n, c, h, w))
						}
					}
					f(p.y.at(n, c, i, j), cells)
				}
			}
		}
	}
}

// divisor is what the average of a window is divided by.
func (p pooling) divisor(y, real int) float64 {
	s := p.spec
	if !s.CountPad {
		return float64(real)
	}
	i, j := y/p.y.shape[3]%p.y.shape[2], y%p.y.shape[3]
	h, w := i*s.StrideH, j*s.StrideW // in the padded input
	return float64((min(h+s.KernelH, p.x.shape[2]+2*s.PadH) - h) * (min(w+s.KernelW, p.x.shape[3]+2*s.PadW) - w))
}

// argmax returns the first largest of x's cells; NaN is larger than all numbers.
func argmax(x []float32, cells []int) int {
	best := cells[0]
	for _, i := range cells {
		if math.IsNaN(float64(x[best])) {
			break
		}
		if x[i] > x[best] || math.IsNaN(float64(x[i])) {
			best = i
		}
	}
	return best
}

// MaxPool takes the maximum of each window.
func (Engine) MaxPool(y, x engine.Tensor, spec engine.PoolSpec) error {
	c := call{op: "max pool"}
	p := c.pooling(c.images("x", x), c.images("y", y), spec)
	if c.err != nil {
		return c.err
	}
	p.each(func(y int, cells []int) { p.y.v[y] = p.x.v[argmax(p.x.v, cells)] })
	return nil
}

// MaxPoolGrad gives dy to the first maximum of each window.
func (Engine) MaxPoolGrad(dx, dy, x, y engine.Tensor, spec engine.PoolSpec) error {
	c := call{op: "max pool gradient"}
	to, from, in := c.images("dx", dx), c.images("dy", dy), c.images("x", x)
	c.same(to, in)
	c.same(from, c.images("y", y))
	p := c.pooling(in, from, spec)
	if c.err != nil {
		return c.err
	}
	sum := make([]float64, len(to.v))
	p.each(func(y int, cells []int) { sum[argmax(in.v, cells)] += float64(from.v[y]) })
	round(to, sum)
	return nil
}

// AvgPool averages each window.
func (Engine) AvgPool(y, x engine.Tensor, spec engine.PoolSpec) error {
	c := call{op: "average pool"}
	p := c.pooling(c.images("x", x), c.images("y", y), spec)
	if c.err != nil {
		return c.err
	}
	p.each(func(y int, cells []int) {
		sum := 0.0
		for _, i := range cells {
			sum += float64(p.x.v[i])
		}
		p.y.v[y] = float32(sum / p.divisor(y, len(cells)))
	})
	return nil
}

// AvgPoolGrad is the gradient of AvgPool.
func (Engine) AvgPoolGrad(dx, dy engine.Tensor, spec engine.PoolSpec) error {
	c := call{op: "average pool gradient"}
	p := c.pooling(c.images("dx", dx), c.images("dy", dy), spec)
	if c.err != nil {
		return c.err
	}
	sum := make([]float64, len(p.x.v))
	p.each(func(y int, cells []int) {
		for _, i := range cells {
			sum[i] += float64(p.y.v[y]) / p.divisor(y, len(cells))
		}
	})
	round(p.x, sum)
	return nil
}

// global makes a pooling whose only window is the whole image, of which y has
// two dimensions.
func (c *call) global(x, y array) pooling {
	if c.err != nil {
		return pooling{}
	}
	y.shape = append([]int{y.shape[0], y.shape[1]}, 1, 1)
	return c.pooling(x, y, engine.PoolSpec{KernelH: x.shape[2], KernelW: x.shape[3], StrideH: 1, StrideW: 1})
}

// GlobalAvg sets y to the mean over H and W.
func (Engine) GlobalAvg(y, x engine.Tensor) error {
	c := call{op: "global average"}
	p := c.global(c.images("x", x), c.of("y", y, -1, -1))
	if c.err != nil {
		return c.err
	}
	p.each(func(y int, cells []int) {
		sum := 0.0
		for _, i := range cells {
			sum += float64(p.x.v[i])
		}
		p.y.v[y] = float32(sum / float64(len(cells)))
	})
	return nil
}

// GlobalAvgGrad is the gradient of GlobalAvg.
func (Engine) GlobalAvgGrad(dx, dy engine.Tensor) error {
	c := call{op: "global average gradient"}
	p := c.global(c.images("dx", dx), c.of("dy", dy, -1, -1))
	if c.err != nil {
		return c.err
	}
	p.each(func(y int, cells []int) {
		for _, i := range cells {
			p.x.v[i] = float32(float64(p.y.v[y]) / float64(len(cells)))
		}
	})
	return nil
}

// GlobalMax sets y to the maximum over H and W.
func (Engine) GlobalMax(y, x engine.Tensor) error {
	c := call{op: "global maximum"}
	p := c.global(c.images("x", x), c.of("y", y, -1, -1))
	if c.err != nil {
		return c.err
	}
	p.each(func(y int, cells []int) { p.y.v[y] = p.x.v[argmax(p.x.v, cells)] })
	return nil
}

// GlobalMaxGrad gives dy to the first maximum.
func (Engine) GlobalMaxGrad(dx, dy, x, y engine.Tensor) error {
	c := call{op: "global maximum gradient"}
	to, from, in := c.images("dx", dx), c.of("dy", dy, -1, -1), c.images("x", x)
	c.same(to, in)
	c.same(from, c.of("y", y, -1, -1))
	p := c.global(in, from)
	if c.err != nil {
		return c.err
	}
	clear(to.v)
	p.each(func(y int, cells []int) { to.v[argmax(in.v, cells)] = from.v[y] })
	return nil
}

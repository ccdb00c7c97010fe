package reference

import (
	"github.com/vernier-ml/vernier/engine"
)

// convolution holds the checked arguments that all three operations share.
type convolution struct {
	x, w, y array
	spec    engine.ConvSpec
}

func (c *call) convolution(x, w, y array, s engine.ConvSpec) convolution {
	k := convolution{x, w, y, s}
	c.check(s.KernelH > 0 && s.KernelW > 0 && s.StrideH > 0 && s.StrideW > 0 && s.PadH >= 0 && s.PadW >= 0 && s.EndH >= 0 && s.EndW >= 0,
		"%+v, want positive kernels and strides and no negative padding", s)
	if c.err != nil {
		return k
	}
	ho, wo := s.OutSize(x.shape[2], x.shape[3])
	c.check(ho > 0 && wo > 0, "a %dx%d kernel does not fit into %v with padding %d, %d", s.KernelH, s.KernelW, x, s.PadH, s.PadW)
	if s.Depthwise {
		c.check(w.shape[0] == x.shape[1] && w.shape[1] == 1, "%v, want one kernel for each channel of %v", w, x)
	} else {
		c.check(w.shape[1] == x.shape[1], "%v and %v differ in channels", x, w)
	}
	c.check(w.shape[2] == s.KernelH && w.shape[3] == s.KernelW, "%v is not a %dx%d kernel", w, s.KernelH, s.KernelW)
	c.check(y.shape[0] == x.shape[0] && y.shape[1] == w.shape[0] && y.shape[2] == ho && y.shape[3] == wo,
		"%v, want [%d %d %d %d]", y, x.shape[0], w.shape[0], ho, wo)
	return k
}

// each calls f with the positions in x, w and y of every product of the sum.
func (k convolution) each(f func(x, w, y int)) {
	for n := range k.y.shape[0] {
		for o := range k.y.shape[1] {
			for i := range k.y.shape[2] {
				for j := range k.y.shape[3] {
					k.window(n, o, i, j, func(x, w int) { f(x, w, k.y.at(n, o, i, j)) })
				}
			}
		}
	}
}

// window calls f with the positions in x and w that one output sums over.
func (k convolution) window(n, o, i, j int, f func(x, w int)) {
	s := k.spec
	for c := range k.x.shape[1] {
		if s.Depthwise && c != o {
			continue
		}
		for p := range s.KernelH {
			for q := range s.KernelW {
				h, w := i*s.StrideH-s.PadH+p, j*s.StrideW-s.PadW+q
				if h >= 0 && h < k.x.shape[2] && w >= 0 && w < k.x.shape[3] {
					f(k.x.at(n, c, h, w), k.w.at(o, c%k.w.shape[1], p, q))
				}
			}
		}
	}
}

// Conv sets y = epilogue(x * w).
func (Engine) Conv(y, x, w engine.Tensor, spec engine.ConvSpec, e engine.Epilogue) error {
	c := call{op: "conv"}
	k := c.convolution(c.images("x", x), c.images("w", w), c.images("y", y), spec)
	if c.err != nil {
		return c.err
	}
	channels := k.w.shape[0]
	scale, shift := c.maybe("scale", e.Scale, channels), c.maybe("shift", e.Shift, channels)
	residual := c.maybe("residual", e.Residual, k.y.shape...)
	if c.err != nil {
		return c.err
	}
	for n := range k.y.shape[0] {
		for o := range channels {
			for i := range k.y.shape[2] {
				for j := range k.y.shape[3] {
					sum, at := 0.0, k.y.at(n, o, i, j)
					k.window(n, o, i, j, func(x, w int) { sum += float64(k.x.v[x]) * float64(k.w.v[w]) })
					if scale.v != nil {
						sum *= float64(scale.v[o])
					}
					if shift.v != nil {
						sum += float64(shift.v[o])
					}
					if residual.v != nil {
						sum += float64(residual.v[at])
					}
					if e.ReLU {
						if sum = max(sum, 0); e.Ceiling > 0 {
							sum = min(sum, float64(e.Ceiling))
						}
					}
					k.y.v[at] = float32(sum)
				}
			}
		}
	}
	return nil
}

// ConvGradInput sets dx from dy.
func (Engine) ConvGradInput(dx, dy, w engine.Tensor, spec engine.ConvSpec) error {
	c := call{op: "conv gradient of the input"}
	k := c.convolution(c.images("dx", dx), c.images("w", w), c.images("dy", dy), spec)
	if c.err != nil {
		return c.err
	}
	sum := make([]float64, len(k.x.v))
	k.each(func(x, w, y int) { sum[x] += float64(k.y.v[y]) * float64(k.w.v[w]) })
	round(k.x, sum)
	return nil
}

// ConvGradWeights sets dw and dbias.
func (Engine) ConvGradWeights(dw, dbias, dy, x engine.Tensor, spec engine.ConvSpec) error {
	c := call{op: "conv gradient of the weights"}
	in, up := c.images("x", x), c.images("dy", dy)
	if c.err != nil {
		return c.err
	}
	weights := array{name: "dw", shape: []int{up.shape[1], in.shape[1], spec.KernelH, spec.KernelW}}
	if spec.Depthwise {
		weights.shape[1] = 1
	}
	if !isNil(dw) {
		weights = c.images("dw", dw)
	}
	bias := c.maybe("dbias", dbias, up.shape[1])
	if c.err != nil {
		return c.err
	}
	k := c.convolution(in, weights, up, spec)
	if c.err != nil {
		return c.err
	}
	if weights.v != nil {
		sum := make([]float64, len(weights.v))
		k.each(func(x, w, y int) { sum[w] += float64(k.y.v[y]) * float64(k.x.v[x]) })
		round(weights, sum)
	}
	if bias.v != nil {
		round(bias, channelSums(up, func(i int) float64 { return float64(up.v[i]) }))
	}
	return nil
}

// round stores float64 sums.
func round(to array, sum []float64) {
	for i, v := range sum {
		to.v[i] = float32(v)
	}
}

// channelSums adds f over all positions of each channel of x, (N, C, ...).
func channelSums(x array, f func(i int) float64) []float64 {
	sum := make([]float64, x.shape[1])
	for i := range x.v {
		sum[channel(x, i)] += f(i)
	}
	return sum
}

// channel returns the channel of element i of x, (N, C, ...).
func channel(x array, i int) int {
	for _, d := range x.shape[2:] {
		i /= d
	}
	return i % x.shape[1]
}

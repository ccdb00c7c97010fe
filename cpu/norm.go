package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// channels is a batch (N, C) or (N, C, H, W) seen by channel: planes of area
// numbers, a channel's being count*area apart.
type channels struct{ images, count, area int }

func (g *args) channels(x view) channels {
	if g.err == nil && len(x.shape) != 2 && len(x.shape) != 4 {
		g.fail("%v, want (N, C) or (N, C, H, W)", x)
	}
	if g.err != nil {
		return channels{}
	}
	return channels{x.shape[0], x.shape[1], volume(x.shape[2:])}
}

func (c channels) plane(v []float32, n, ch int) []float32 {
	return v[(n*c.count+ch)*c.area:][:c.area]
}

// each calls do for every channel, in groups that share cache lines where the
// planes are single numbers.
func (e *Engine) each(c channels, do func(ch int)) {
	group := max(1, 16/c.area)
	e.pool.run(ceilDiv(c.count, group), func(_, i int) {
		for ch := i * group; ch < min((i+1)*group, c.count); ch++ {
			do(ch)
		}
	})
}

// BatchNorm normalizes with the statistics of the batch and moves the running
// ones.
func (e *Engine) BatchNorm(y, mean, invStd, runningMean, runningVar, x, gamma, beta engine.Tensor, eps, momentum float32) error {
	g := args{op: "batch norm"}
	d, s := g.get("y", y, -1), g.get("x", x, -1)
	c := g.channels(s)
	g.same(d, s)
	g.apart(d, s)
	var p [6]view
	for i, t := range []engine.Tensor{mean, invStd, runningMean, runningVar, gamma, beta} {
		p[i] = g.get([]string{"mean", "invStd", "runningMean", "runningVar", "gamma", "beta"}[i], t, 1)
		g.want(p[i], s, c.count)
	}
	n := c.images * c.area
	if g.err == nil && n < 2 {
		g.fail("%v has one value a channel, a variance needs two or more", s)
	}
	if g.err != nil {
		return g.err
	}
	kr := e.kernels
	e.each(c, func(ch int) {
		total := 0.0
		for i := range c.images {
			total += kr.sum(c.plane(s.v, i, ch))
		}
		m64 := total / float64(n)
		m := float32(m64)
		squares := 0.0
		for i := range c.images {
			squares += kr.spread(c.plane(s.v, i, ch), m)
		}
		// Squares are about m, which is m64 rounded.
		off := m64 - float64(m)
		squares = squaresAbout(squares, off, n)
		variance := squares / float64(n)
		inv := 1 / math.Sqrt(variance+float64(eps))
		p[0].v[ch], p[1].v[ch] = m, float32(inv)
		move(&p[2].v[ch], m64, momentum)
		move(&p[3].v[ch], squares/float64(n-1), momentum)
		scale := inv * float64(p[4].v[ch])
		shift := float32(float64(p[5].v[ch]) - off*scale)
		for i := range c.images {
			kr.affine(c.plane(d.v, i, ch), c.plane(s.v, i, ch), nil, m, float32(scale), shift, 0)
		}
	})
	return nil
}

// squaresAbout turns the sum of squares about a point into that about the mean,
// off away from it.
func squaresAbout(squares, off float64, n int) float64 {
	s := squares - off*off*float64(n)
	if s < 0 { // rounding; NaN stays
		return 0
	}
	return s
}

func move(running *float32, batch float64, momentum float32) {
	*running = float32(float64(1-momentum)*float64(*running) + float64(momentum)*batch)
}

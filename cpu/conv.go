package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// convShape is a checked convolution.
type convShape struct {
	engine.ConvSpec
	images, in, height, width int // x (N, C, H, W)
	out, rows, cols           int // y (N, K, Ho, Wo)
}

// maxPeriod is the largest period of a patch plan, whose places are 32 bits wide.
const maxPeriod = 32

// checkConv demands that x, w and y fit the specification.
func (g *args) checkConv(y, x, w view, spec engine.ConvSpec) convShape {
	if g.err != nil {
		return convShape{}
	}
	if spec.KernelH < 1 || spec.KernelW < 1 || spec.StrideH < 1 || spec.StrideW < 1 || spec.PadH < 0 || spec.PadW < 0 || spec.EndH < 0 || spec.EndW < 0 {
		g.fail("kernel %dx%d, stride %dx%d, padding %dx%d and %dx%d more at the end: kernel and stride must be positive, padding not negative",
			spec.KernelH, spec.KernelW, spec.StrideH, spec.StrideW, spec.PadH, spec.PadW, spec.EndH, spec.EndW)
		return convShape{}
	}
	c := convShape{ConvSpec: spec, images: x.shape[0], in: x.shape[1], height: x.shape[2], width: x.shape[3], out: w.shape[0]}
	c.rows, c.cols = spec.OutSize(c.height, c.width)
	if spec.Depthwise {
		if c.out != c.in {
			g.fail("%d kernels for %v: a depthwise convolution has one for each channel", c.out, x)
		}
		g.want(w, x, c.in, 1, spec.KernelH, spec.KernelW)
	} else {
		g.want(w, x, c.out, c.in, spec.KernelH, spec.KernelW)
	}
	if c.rows < 1 || c.cols < 1 {
		g.fail("a %dx%d kernel with padding %dx%d does not fit %v", spec.KernelH, spec.KernelW, spec.PadH, spec.PadW, x)
	}
	g.want(y, x, c.images, c.out, c.rows, c.cols)
	if n := max(c.in*c.height*c.width, c.out*c.rows*c.cols); g.err == nil && n > math.MaxInt32/maxPeriod {
		g.fail("an image of %v or %v has more than %d values", x, y, math.MaxInt32/maxPeriod)
	}
	return c
}

// pointwise reports whether the positions of y are those of x.
func (c *convShape) pointwise() bool {
	return c.KernelH == 1 && c.KernelW == 1 && c.StrideH == 1 && c.StrideW == 1 && c.PadH == 0 && c.PadW == 0 && c.EndH == 0 && c.EndW == 0
}

// patches returns the patches of x that are multiplied by w.
func (e *Engine) patches(c convShape, x []float32) patches {
	return e.newPatches(x, patchShape{
		images: c.images, channels: c.in, height: c.height, width: c.width,
		rows: c.rows, cols: c.cols, stepY: c.StrideH, stepX: c.StrideW,
		tapRows: c.KernelH, tapCols: c.KernelW, firstY: -c.PadH, firstX: -c.PadW, tapStepY: 1, tapStepX: 1,
	})
}

// maps returns x as maps.
func (c *convShape) maps(x []float32) featureMaps {
	return featureMaps{x, c.images, c.in, c.height, c.width}
}

// gradientMaps returns the gradient of y as maps.
func (c *convShape) gradientMaps(dy []float32) featureMaps {
	return featureMaps{dy, c.images, c.out, c.rows, c.cols}
}

// Conv sets y = epilogue(x * w): y (K, N Ho Wo) = w (K, C kh kw) patches.
func (e *Engine) Conv(y, x, w engine.Tensor, spec engine.ConvSpec, ep engine.Epilogue) error {
	g := args{op: "conv"}
	d, s, m := g.get("y", y, 4), g.get("x", x, 4), g.source("w", w, 4)
	scale, shift, residual := g.maybe("scale", ep.Scale, 1), g.maybe("shift", ep.Shift, 1), g.maybe("residual", ep.Residual, 4)
	c := g.checkConv(d, s, m, spec)
	g.want(scale, m, c.out)
	g.want(shift, m, c.out)
	g.want(residual, d, d.shape...)
	g.apart(d, s, m, scale, shift)
	if g.err != nil {
		return g.err
	}
	if spec.Depthwise {
		e.depthwise(c, d.v, s.v, m.v, scale.v, shift.v, residual.v, ep.Bound())
		return nil
	}
	area, terms := c.rows*c.cols, c.in*c.KernelH*c.KernelW
	to := sink{
		v: d.v, rowStride: area,
		grid:  grid{height: c.rows, width: c.cols, imageStride: c.out * area, rowPitch: c.cols, colPitch: 1}.joined(),
		scale: scale.v, shift: shift.v, residual: residual.v, ceiling: ep.Bound(),
	}
	if f := c.winogradForm(); f != nil {
		kr, grid := e.kernels, f.grid(c.images, c.rows, c.cols)
		w := winograd{form: f, x: f.source(c.maps(s.v), grid, c.PadH, c.PadW), grid: grid, in: c.in, out: c.out, rows: c.rows, cols: c.cols, sink: to}
		w.weights = m
		e.convolve(&w, func(dst []float32, result, count int) {
			kr.transpose(dst, kr.vec, m.v[result*terms:], terms, count, terms, kr.vec)
		})
		return nil
	}
	p := product{narrow: e.narrow, m: c.out, n: c.images * area, k: terms, left: matrix{v: m.v, stride: terms}, sink: to}
	if c.pointwise() {
		p.right = planes{s.v, c.in, area}
	} else {
		gathered := e.patches(c, s.v)
		p.right = &gathered
	}
	if kr := e.kernels; p.n <= thinLines && c.out >= kr.nr {
		weights := matrix{v: m.v, stride: terms, trans: true}
		e.multiplyThin(&thin{
			m: p.n, n: c.out, k: terms, depth: p.evenDepth(kr, roundUp(terms, kr.nr)), weights: weights, kept: e.keptCols(m, weights, c.out, terms, p.narrow), narrow: p.narrow,
			sink: to,
			pack: func(w *workerScratch, dst []float32, line, lines, from, depth int) {
				p.packCols(kr, w, dst, line, lines, from, depth)
			},
		})
		return nil
	}
	p.keptLeft = e.keptRows(m, matrix{v: m.v, stride: terms}, c.out, terms, p.narrow)
	e.multiply(&p)
	return nil
}

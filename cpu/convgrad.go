package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// ConvGradInput sets dx from dy. Positions of dx that are equal modulo the stride
// meet the same taps of w, so each such phase is a convolution of dy with stride
// 1: dx (C, positions of the phase) = w^T (C, K taps) patches of dy.
func (e *Engine) ConvGradInput(dx, dy, w engine.Tensor, spec engine.ConvSpec) error {
	g := args{op: "conv gradient of input"}
	d, u, m := g.get("dx", dx, 4), g.get("dy", dy, 4), g.source("w", w, 4)
	c := g.checkConv(u, d, m, spec)
	g.apart(d, u, m)
	if g.err != nil {
		return g.err
	}
	if spec.Depthwise {
		e.depthwiseGradInput(c, d.v, u.v, m.v)
		return nil
	}
	if f := c.winogradForm(); f != nil {
		e.convGradTiles(f, c, d.v, u.v, m.v)
		return nil
	}
	if area := c.height * c.width; c.pointwise() {
		e.multiply(&product{
			m: c.in, n: c.images * area, k: c.out, narrow: e.narrow,
			left:  matrix{v: m.v, stride: c.in, trans: true},
			right: planes{u.v, c.out, area},
			sink:  sink{v: d.v, rowStride: area, grid: planeGrid(c.in, area)},
		})
		return nil
	}
	for py := range min(c.StrideH, c.height) {
		for px := range min(c.StrideW, c.width) {
			e.convGradPhase(c, d.v, u.v, m.v, py, px)
		}
	}
	return nil
}

// convGradTiles is the gradient as a convolution of dy with the filters turned
// round.
func (e *Engine) convGradTiles(f winogradForm, c convShape, dx, dy, w []float32) {
	kr, area, taps := e.kernels, c.height*c.width, f.taps()
	grid := f.grid(c.images, c.height, c.width)
	e.convolve(&winograd{
		form: f, x: f.source(c.gradientMaps(dy), grid, c.KernelH-1-c.PadH, c.KernelW-1-c.PadW), grid: grid,
		in: c.out, out: c.in, rows: c.height, cols: c.width,
		sink: sink{v: dx, rowStride: area, grid: planeGrid(c.in, area)},
	}, func(dst []float32, channel, count int) {
		var turned [9][16]float32
		for k := range c.out {
			of := dst[k*taps*kr.vec : (k+1)*taps*kr.vec]
			kr.transpose(of, kr.vec, w[(k*c.in+channel)*taps:], taps, count, taps, kr.vec)
			for t := range taps {
				copy(turned[taps-1-t][:kr.vec], of[t*kr.vec:])
			}
			for t := range taps {
				copy(of[t*kr.vec:(t+1)*kr.vec], turned[t][:])
			}
		}
	})
}

// phase returns the taps k of a kernel that positions at = first (mod stride)
// meet: first, first+stride, ... in falling order of the place in dy, which is
// (at + pad - k)/stride; firstPlace is that of the first tap at position first.
func phase(at, kernel, stride, pad int) (firstTap, taps, firstPlace int) {
	firstTap = (at + pad) % stride
	if firstTap >= kernel {
		return 0, 0, 0
	}
	return firstTap, (kernel-firstTap-1)/stride + 1, (at + pad - firstTap) / stride
}

func (e *Engine) convGradPhase(c convShape, dx, dy, w []float32, py, px int) {
	tapY, tapRows, firstY := phase(py, c.KernelH, c.StrideH, c.PadH)
	tapX, tapCols, firstX := phase(px, c.KernelW, c.StrideW, c.PadW)
	rows, cols := ceilDiv(c.height-py, c.StrideH), ceilDiv(c.width-px, c.StrideW)
	area := c.height * c.width
	to := sink{
		v: dx, offset: py*c.width + px, rowStride: area,
		grid: grid{height: rows, width: cols, imageStride: c.in * area, rowPitch: c.StrideH * c.width, colPitch: c.StrideW}.joined(),
	}
	if tapRows*tapCols == 0 {
		e.clearPhase(c, to)
		return
	}
	patches := e.newPatches(dy, patchShape{
		images: c.images, channels: c.out, height: c.rows, width: c.cols,
		rows: rows, cols: cols, stepY: 1, stepX: 1,
		tapRows: tapRows, tapCols: tapCols, firstY: firstY, firstX: firstX, tapStepY: -1, tapStepX: -1,
	})
	e.multiply(&product{
		m: c.in, n: c.images * rows * cols, k: c.out * tapRows * tapCols, narrow: e.narrow,
		left:  phaseWeights{w: w, c: c, firstY: tapY, firstX: tapX, taps: tapRows * tapCols, tapCols: tapCols},
		right: &patches, sink: to,
	})
}

// clearPhase sets positions of dx that no tap reaches to 0.
func (e *Engine) clearPhase(c convShape, to sink) {
	e.pool.run(c.images, func(_, n int) {
		for ch := range c.in {
			for y := range to.grid.height {
				at := to.offset + n*to.grid.imageStride + ch*to.rowStride + y*to.grid.rowPitch
				for x := range to.grid.width {
					to.v[at+x*to.grid.colPitch] = 0
				}
			}
		}
	})
}

// phaseWeights is the left operand of convGradPhase: row c, term k*taps+t is
// w[k][c] at the phase's tap t.
type phaseWeights struct {
	w              []float32
	c              convShape
	firstY, firstX int
	taps, tapCols  int
}

func (p phaseWeights) packRows(kr *kernels, dst []float32, row, rows, from, depth int) {
	size := p.c.KernelH * p.c.KernelW
	for ; rows > 0; row, rows = row+kr.mr, rows-kr.mr {
		n := min(kr.mr, rows)
		for i := range depth {
			k, t := (from+i)/p.taps, (from+i)%p.taps
			y, x := p.firstY+t/p.tapCols*p.c.StrideH, p.firstX+t%p.tapCols*p.c.StrideW
			at := (k*p.c.in+row)*size + y*p.c.KernelW + x
			to := dst[i*kr.mr : (i+1)*kr.mr]
			for r := range n {
				to[r] = p.w[at]
				at += size
			}
			clear(to[n:])
		}
		dst = dst[kr.mr*depth:]
	}
}

// turnedArea is the fewest places of a map for which the gradient of a 1x1 convolution's
// weights is computed with rows and columns exchanged: storing it takes longer then.
const turnedArea = 400

// ConvGradWeights sets dw and dbias, where they are not nil:
// dw (K, C kh kw) = dy (K, N Ho Wo) patches^T.
func (e *Engine) ConvGradWeights(dw, dbias, dy, x engine.Tensor, spec engine.ConvSpec) error {
	g := args{op: "conv gradient of weights"}
	u, s := g.get("dy", dy, 4), g.get("x", x, 4)
	dm, db := g.maybe("dw", dw, 4), g.maybe("dbias", dbias, 1)
	if g.err != nil {
		return g.err
	}
	shape := view{name: "w", shape: []int{u.shape[1], s.shape[1], spec.KernelH, spec.KernelW}}
	if spec.Depthwise {
		shape.shape[1] = 1
	}
	c := g.checkConv(u, s, shape, spec)
	g.want(dm, s, shape.shape...)
	g.want(db, u, c.out)
	g.apart(dm, u, s)
	g.apart(db, u, s)
	if g.err != nil {
		return g.err
	}
	if dm.v != nil {
		e.keeper.stop()
	}
	area, form := c.rows*c.cols, c.winogradForm()
	switch {
	case dm.v == nil:
	case spec.Depthwise:
		e.depthwiseGradWeights(c, dm.v, u.v, s.v)
	case form != nil:
		e.convGradFilters(form, c, dm.v, u.v, s.v)
	default:
		terms := c.in * c.KernelH * c.KernelW
		p := product{
			m: c.out, n: terms, k: c.images * area, narrow: e.narrow, left: planes{u.v, c.out, area},
			sink: sink{v: dm.v, rowStride: terms, grid: row(terms)},
		}
		switch {
		case c.pointwise() && c.in > c.out && area >= turnedArea && e.kernels.across != nil && !e.narrow:
			// The smaller factor is the one that is packed.
			p.m, p.n, p.left, p.right = c.in, c.out, planes{s.v, c.in, area}, planeTerms{u.v, c.out, area}
			p.sink = sink{v: dm.v, rowStride: 1, grid: grid{height: 1, width: c.out, colPitch: terms}}
		case c.pointwise():
			p.right = planeTerms{s.v, c.in, area}
		default:
			p.right = patchTerms{e.patches(c, s.v)}
		}
		e.multiply(&p)
	}
	if db.v != nil {
		e.pool.run(c.out, func(_, k int) {
			total := 0.0
			for n := range c.images {
				total += e.kernels.sum(u.v[(n*c.out+k)*area:][:area])
			}
			db.v[k] = float32(total)
		})
	}
	return nil
}

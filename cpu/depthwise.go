package cpu

import (
	"github.com/vernier-ml/vernier/engine"
)

// A depthwise convolution is one of planes: each channel of each image by the one
// kernel of the channel. A plane is taken apart into phases, padding included, as for
// pooling (see poolShape), where the cells at one tap of all windows are one run: so
// every tap is one multiplication of a long vector, whatever width, stride and padding
// are.

// windowed returns c as windows of planes.
func (c *convShape) windowed() poolShape {
	p := poolShape{
		PoolSpec: engine.PoolSpec{KernelH: c.KernelH, KernelW: c.KernelW, StrideH: c.StrideH, StrideW: c.StrideW, PadH: c.PadH, PadW: c.PadW},
		planes:   c.images * c.in, height: c.height, width: c.width, rows: c.rows, cols: c.cols,
	}
	p.layout()
	return p
}

// depthwise is Conv with one kernel a channel.
func (e *Engine) depthwise(c convShape, y, x, w []float32, scale, shift, residual []float32, ceiling float32) {
	p := c.windowed()
	kr, taps, area := e.kernels, len(p.taps), p.rows*p.cols
	size, windows := p.phases(), p.windows()
	e.eachGroup(&p, size+windows+taps+area, func(buf []float32, from, to int) {
		phases, run, by, sums := buf[:size], buf[size:][:windows], buf[size+windows:][:taps], buf[size+windows+taps:]
		clear(phases)
		for i := from; i < to; i++ {
			ch, start := i%c.in, float32(0)
			copy(by, w[ch*taps:])
			if scale != nil {
				kr.scale(by, by, scale[ch])
			}
			if shift != nil {
				start = shift[ch]
			}
			p.takeApart(kr, phases, x[i*p.height*p.width:])
			if residual == nil {
				kr.depthwise(run, phases, p.taps, by, start, ceiling)
				p.pack(kr, y[i*area:], run)
				continue
			}
			kr.depthwise(run, phases, p.taps, by, start, 0)
			p.pack(kr, sums, run)
			kr.affine(y[i*area:(i+1)*area], sums, residual[i*area:(i+1)*area], 0, 1, 0, ceiling)
		}
	})
}

// phaseTaps are the taps that cells of one phase meet.
type phaseTaps struct {
	at      []int // places in the run of windows, of the first cell
	weights []int // indices of the kernel
}

// turnedTaps returns the taps of each phase for a run of windows that begins lead
// places after the buffer's begin.
func (p *poolShape) turnedTaps(lead int) []phaseTaps {
	list := make([]phaseTaps, p.StrideH*p.StrideW)
	size := p.deep * p.wide
	for t, at := range p.taps {
		f := &list[at/size]
		f.at, f.weights = append(f.at, lead-at%size), append(f.weights, t)
	}
	return list
}

// depthwiseGradInput is the gradient of the input: cell i of a phase is the sum over
// the taps of the phase of w times dy at i less the tap's place. Around the windows,
// and between their rows, dy is 0.
func (e *Engine) depthwiseGradInput(c convShape, dx, dy, w []float32) {
	p := c.windowed()
	kr, taps := e.kernels, len(p.taps)
	size, windows, phase := p.phases(), p.windows(), p.deep*p.wide
	lead := phase - windows
	turned := p.turnedTaps(lead)
	e.eachGroup(&p, size+2*lead+windows+taps, func(buf []float32, from, to int) {
		phases, run, by := buf[:size], buf[size:][:2*lead+windows], buf[size+2*lead+windows:]
		clear(phases)
		clear(run)
		for i := from; i < to; i++ {
			weights := w[i%c.in*taps:]
			p.spread(kr, run[lead:], dy[i*p.rows*p.cols:])
			for f, t := range turned {
				if len(t.at) == 0 {
					continue // stays 0
				}
				for j, k := range t.weights {
					by[j] = weights[k]
				}
				kr.depthwise(phases[f*phase:(f+1)*phase], run, t.at, by[:len(t.at)], 0, 0)
			}
			p.putTogether(kr, dx[i*p.height*p.width:], phases)
		}
	})
}

// depthwiseGradWeights sums each channel over the images, in order.
func (e *Engine) depthwiseGradWeights(c convShape, dw, dy, x []float32) {
	p := c.windowed()
	kr, taps := e.kernels, len(p.taps)
	size, windows := p.phases(), p.windows()
	e.pool.run(c.in, func(worker, ch int) {
		buf := grow(&e.scratch.workers[worker].rows, size+windows+taps)
		phases, run, sums := buf[:size], buf[size:][:windows], buf[size+windows:]
		clear(phases)
		clear(run)
		total := make([]float64, taps)
		for n := range c.images {
			i := n*c.in + ch
			p.takeApart(kr, phases, x[i*p.height*p.width:])
			p.spread(kr, run, dy[i*p.rows*p.cols:])
			kr.depthwiseSums(sums, run, phases, p.taps)
			for t, v := range sums {
				total[t] += float64(v)
			}
		}
		for t, v := range total {
			dw[ch*taps+t] = float32(v)
		}
	})
}

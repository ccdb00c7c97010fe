//go:build cgo && linux && (amd64 || arm64)

package fake

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// Dnn convolves in float64, for one stream of a Driver.
type Dnn struct {
	Driver *Driver
	Stream device.Stream
	// Refuse, if not nil, says of which convolutions there is no algorithm.
	Refuse func(d device.Direction, c device.Conv) bool
	// Fail, if not nil, is what every search ends with.
	Fail error
	// Overwrites is a library that adds to no tensor.
	Overwrites bool
	// Plans counts the searches.
	Plans int
	convs []device.Conv
}

var _ device.Dnn = (*Dnn)(nil)

// Close does nothing.
func (n *Dnn) Close() error { return nil }

// Plan remembers the geometry, and spoils the output as a search does.
func (n *Dnn) Plan(d device.Direction, c device.Conv, t device.Operands, work device.Ptr, limit int64) (device.Plan, error) {
	if n.Driver.recording != 0 {
		return device.Plan{}, errors.New("a search for algorithms while a stream is recorded")
	}
	if !n.Driver.owns(work, limit) {
		return device.Plan{}, errors.New("the workspace is no device memory")
	}
	if n.Refuse != nil && n.Refuse(d, c) {
		return device.Plan{}, device.ErrNoAlgorithm
	}
	if n.Fail != nil {
		return device.Plan{}, n.Fail
	}
	n.Plans++
	n.convs = append(n.convs, c)
	p, size := output(d, c, t)
	err := n.Driver.do("Find", n.Stream, func() error {
		m, err := n.Driver.memory(p, int64(size*c.Type.Size()))
		for i := range m {
			m[i] = 0xff
		}
		return err
	})
	return device.Plan{Handle: uintptr(len(n.convs)), Algorithm: 1, Math: "float64", Workspace: limit / 2, Millis: .5, Found: 1}, err
}

func output(d device.Direction, c device.Conv, t device.Operands) (p device.Ptr, size int) {
	switch d {
	case device.Forward:
		return t.Y, c.N * c.Ho * c.Wo * c.K
	case device.GradInput:
		return t.X, c.N * c.H * c.W * c.C
	}
	return t.W, weights(c)
}

// weights is the number of weights.
func weights(c device.Conv) int {
	if c.Depthwise {
		return c.K * c.R * c.S
	}
	return c.K * c.R * c.S * c.C
}

// Run convolves.
func (n *Dnn) Run(d device.Direction, p device.Plan, t device.Operands, work device.Ptr) error {
	if p.Handle == 0 || int(p.Handle) > len(n.convs) {
		return fmt.Errorf("%d is no plan", p.Handle)
	}
	if t.Accumulate && n.Overwrites {
		return fmt.Errorf("beta is not 0: %w", device.ErrNoAlgorithm)
	}
	c := n.convs[p.Handle-1]
	return n.Driver.do("Convolve", n.Stream, func() error { return n.convolve(d, c, t) })
}

func (n *Dnn) convolve(d device.Direction, c device.Conv, t device.Operands) error {
	sizes := [3]int{c.N * c.H * c.W * c.C, weights(c), c.N * c.Ho * c.Wo * c.K}
	var v [3][]float64
	var in [3]numbers
	for i, p := range [3]device.Ptr{t.X, t.W, t.Y} {
		mem, err := n.Driver.memory(p, int64(sizes[i]*c.Type.Size()))
		if err != nil {
			return fmt.Errorf("convolution: operand %d: %w", i, err)
		}
		in[i] = numbers{mem, c.Type}
		v[i] = make([]float64, sizes[i])
		if (d == device.Forward && i == 2) || (d == device.GradInput && i == 0) || (d == device.GradWeights && i == 1) {
			continue
		}
		for j := range v[i] {
			v[i][j] = in[i].at(j)
		}
	}
	x, w, y := v[0], v[1], v[2]
	eachTap(c, func(ix, tap, iy int) {
		for k := range c.K {
			for ch := range c.C {
				px, pw, py := ix+ch, (k*c.R*c.S+tap)*c.C+ch, iy+k
				if c.Depthwise {
					if k != ch {
						continue
					}
					pw = k*c.R*c.S + tap
				}
				switch d {
				case device.Forward:
					y[py] += x[px] * w[pw]
				case device.GradInput:
					x[px] += y[py] * w[pw]
				default:
					w[pw] += y[py] * x[px]
				}
			}
		}
	})
	out := map[device.Direction]int{device.Forward: 2, device.GradInput: 0, device.GradWeights: 1}[d]
	for i, sum := range v[out] {
		if t.Accumulate {
			sum += in[out].at(i)
		}
		in[out].set(i, sum)
	}
	return nil
}

// eachTap calls f with the places, of channel 0, that a position of the kernel joins.
func eachTap(c device.Conv, f func(x, tap, y int)) {
	for n := range c.N {
		for i := range c.Ho {
			for j := range c.Wo {
				for r := range c.R {
					for s := range c.S {
						h, w := i*c.StrideH-c.PadH+r, j*c.StrideW-c.PadW+s
						if h >= 0 && h < c.H && w >= 0 && w < c.W {
							f(((n*c.H+h)*c.W+w)*c.C, r*c.S+s, ((n*c.Ho+i)*c.Wo+j)*c.K)
						}
					}
				}
			}
		}
	}
}

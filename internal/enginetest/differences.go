package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// derivative is an operation and its gradient: y = forward(in), and backward
// sets grads, one for each input, from dy.
type derivative struct {
	what     string
	in       []array
	y        []int
	forward  func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error
	backward func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, in []engine.Tensor) error
}

// grid draws distinct numbers, at least 0.11 apart and away from 0, so that a
// small step crosses no kink. All arrays of one shuffle are distinct together.
func grid(rng *rand.Rand, shapes ...[]int) []array {
	total := 0
	for _, s := range shapes {
		total += volume(s)
	}
	places := rng.Perm(total)
	var list []array
	for _, s := range shapes {
		a := array{s, make([]float32, volume(s))}
		for i := range a.v {
			a.v[i] = (float32(places[i]) - float32(total/2) + 0.4) * 0.11
		}
		places = places[len(a.v):]
		list = append(list, a)
	}
	return list
}

// differences compares every gradient with the engine's own forward pass.
func (s *suite) differences(t *testing.T) {
	rng := s.rng(t)
	var list []derivative
	list = append(list, elementDerivatives(rng)...)
	list = append(list, convDerivatives(rng)...)
	list = append(list, normDerivatives(rng)...)
	list = append(list, poolDerivatives(rng)...)
	list = append(list, rowDerivatives(rng)...)
	list = append(list, tokenDerivatives(rng)...)
	list = append(list, pairDerivatives(rng)...)
	for _, d := range list {
		s.checkDerivative(t, rng, d)
	}
}

// step of the differences. The functions bend on a scale of 0.1 and more, and
// float32 leaves 1e-6/step of noise.
const step = 1.0 / 128

func (s *suite) checkDerivative(t *testing.T, rng *rand.Rand, d derivative) {
	t.Helper()
	fail := func(err error) bool {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", d.what, err)
		}
		return err != nil
	}
	weights := normal(rng, d.y...)
	all, err := tensors(s.eng, append([]array{empty(d.y...), weights}, d.in...), 0)
	if fail(err) {
		return
	}
	y, dy, in := all[0], all[1], all[2:]
	destinations := make([]array, len(d.in))
	for i, a := range d.in {
		destinations[i] = empty(a.shape...)
	}
	grads, err := tensors(s.eng, destinations, float32(math.NaN()))
	if fail(err) || fail(d.forward(s.eng, y, in)) || fail(d.backward(s.eng, grads, dy, y, in)) {
		return
	}
	value := func() (sum float64, err error) {
		if err := d.forward(s.eng, y, in); err != nil {
			return 0, err
		}
		v, err := numbers(s.eng, y)
		for i, x := range v {
			sum += float64(x) * float64(weights.v[i])
		}
		return sum, err
	}
	for k, a := range d.in {
		got, err := numbers(s.eng, grads[k])
		if fail(err) {
			return
		}
		slope := make([]float64, len(a.v))
		for i := range a.v {
			if slope[i], err = centralDifference(s.eng, in[k], a, i, value); fail(err) {
				return
			}
		}
		fail(slopesAgree(fmt.Sprintf("input %d %v", k, a.shape), got, slope))
	}
}

// centralDifference moves element i of x, which holds a, both ways.
func centralDifference(e engine.Engine, x engine.Tensor, a array, i int, value func() (float64, error)) (float64, error) {
	at := a.v[i]
	defer func() { a.v[i] = at }()
	up, down := at+step, at-step
	var values [2]float64
	for j, v := range []float32{up, down} {
		a.v[i] = v
		if err := e.Write(x, a.v); err != nil {
			return 0, err
		}
		var err error
		if values[j], err = value(); err != nil {
			return 0, err
		}
	}
	a.v[i] = at
	return (values[0] - values[1]) / float64(up-down), e.Write(x, a.v)
}

func slopesAgree(what string, got []float32, slope []float64) error {
	most := 0.0
	for _, v := range slope {
		most = max(most, math.Abs(v))
	}
	for i, v := range slope {
		if !(math.Abs(float64(got[i])-v) <= 5e-3*most+5e-4) {
			return fmt.Errorf("%s: the gradient has %v at [%d], differences say %v", what, got[i], i, v)
		}
	}
	return nil
}

func elementDerivatives(rng *rand.Rand) []derivative {
	list := []derivative{{
		what: "relu", in: grid(rng, []int{3, 7}), y: []int{3, 7},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.ReLU(y, in[0]) },
		backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, _ []engine.Tensor) error {
			return e.ReLUGrad(grads[0], dy, y)
		},
	}, {
		what: "relu6", in: grid(rng, []int{9, 13}), y: []int{9, 13},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.ReLU6(y, in[0]) },
		backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, _ []engine.Tensor) error {
			return e.ReLU6Grad(grads[0], dy, y)
		},
	}, {
		what: "linear", in: []array{normal(rng, 3, 5), normal(rng, 4, 5), normal(rng, 4)}, y: []int{3, 4},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error {
			return e.Linear(y, in[0], in[1], in[2])
		},
		backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, in []engine.Tensor) error {
			return e.LinearGrad(grads[0], grads[1], grads[2], dy, in[0], in[1])
		},
	}, {
		what: "concat", in: []array{normal(rng, 2, 3, 4), normal(rng, 2, 2, 4)}, y: []int{2, 5, 4},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.Concat(y, in...) },
		backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, _ []engine.Tensor) error {
			if err := e.Slice(grads[0], dy, 0); err != nil {
				return err
			}
			return e.Slice(grads[1], dy, 3)
		},
	}}
	return list
}

func convDerivatives(rng *rand.Rand) []derivative {
	var list []derivative
	for _, g := range []convShape{
		{1, 2, 5, 4, 3, engine.SquareConv(3, 1, 1)}, {2, 2, 5, 6, 2, engine.SquareConv(3, 2, 1)}, {2, 3, 3, 2, 2, engine.SquareConv(1, 1, 0)},
		{1, 2, 4, 7, 2, engine.ConvSpec{KernelH: 2, KernelW: 3, StrideH: 3, StrideW: 2, PadH: 1, PadW: 2}},
		{1, 2, 6, 4, 3, engine.SameConv(3, 2, 6, 4)}, depthwise(2, 3, 5, 6, engine.SquareConv(3, 1, 1)),
		depthwise(1, 2, 7, 6, engine.SameConv(5, 2, 7, 6)), depthwise(1, 2, 5, 6, engine.SquareConv(7, 1, 3)),
	} {
		list = append(list, derivative{
			what: "conv, " + g.String(), in: []array{normal(rng, g.x()...), normal(rng, g.weights()...), normal(rng, g.k)}, y: g.y(),
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error {
				return e.Conv(y, in[0], in[1], g.spec, engine.Epilogue{Shift: in[2]})
			},
			backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, in []engine.Tensor) error {
				if err := e.ConvGradInput(grads[0], dy, in[1], g.spec); err != nil {
					return err
				}
				return e.ConvGradWeights(grads[1], grads[2], dy, in[0], g.spec)
			},
		})
	}
	return list
}

func poolDerivatives(rng *rand.Rand) []derivative {
	var list []derivative
	for _, g := range []poolShape{
		{1, 2, 5, 4, engine.SquarePool(3, 2, 1, false)}, {2, 1, 4, 5, engine.SquarePool(2, 1, 0, false)}, {1, 2, 6, 5, engine.SquarePool(3, 2, 0, true)},
	} {
		list = append(list, derivative{
			what: "max pool, " + g.String(), in: grid(rng, g.x()), y: g.y(),
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.MaxPool(y, in[0], g.spec) },
			backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, in []engine.Tensor) error {
				return e.MaxPoolGrad(grads[0], dy, in[0], y, g.spec)
			},
		})
		for _, countPad := range []bool{false, true} {
			g.spec.CountPad = countPad
			list = append(list, derivative{
				what: "average pool, " + g.String(), in: []array{normal(rng, g.x()...)}, y: g.y(),
				forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.AvgPool(y, in[0], g.spec) },
				backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, _ []engine.Tensor) error {
					return e.AvgPoolGrad(grads[0], dy, g.spec)
				},
			})
		}
	}
	return append(list, derivative{
		what: "global average", in: []array{normal(rng, 2, 3, 2, 3)}, y: []int{2, 3},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.GlobalAvg(y, in[0]) },
		backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, _ []engine.Tensor) error {
			return e.GlobalAvgGrad(grads[0], dy)
		},
	}, derivative{
		what: "global maximum", in: grid(rng, []int{2, 3, 2, 3}), y: []int{2, 3},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.GlobalMax(y, in[0]) },
		backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, in []engine.Tensor) error {
			return e.GlobalMaxGrad(grads[0], dy, in[0], y)
		},
	})
}

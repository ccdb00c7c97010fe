package enginetest

import (
	"fmt"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

func (s *suite) mix(t *testing.T) {
	rng := s.rng(t)
	for _, shape := range [][]int{{1, 1}, {1, 70}, {2, 3, 5, 7}, {13, 2, 17, 9}, {60, 3, 12, 12}, {67, 130}, {5, 4, 33}} {
		n := shape[0]
		x, m := normal(rng, shape...), normal(rng, n, n)
		for _, trans := range []bool{false, true} {
			s.compare(t, call{what: fmt.Sprintf("%v, transposed %v", shape, trans), out: []array{empty(shape...)}, in: []array{m, x},
				rel: s.opt.Sum, unit: math.Sqrt(float64(n)),
				f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Mix(out[0], in[0], in[1], trans) }})
		}
		one := array{[]int{n, n}, make([]float32, n*n)}
		for i := range n {
			one.v[i*n+i] = 1
		}
		s.compare(t, call{what: fmt.Sprintf("%v by the identity", shape), out: []array{empty(shape...)}, in: []array{one, x},
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Mix(out[0], in[0], in[1], false) }})
	}
}

func (s *suite) channelGrams(t *testing.T) {
	rng := s.rng(t)
	for _, shape := range [][]int{{1, 1}, {1, 3, 70}, {2, 3, 5, 7}, {13, 5, 17, 9}, {60, 2, 40, 40}, {67, 130}, {5, 4, 33}} {
		x := normal(rng, shape...)
		n := shape[0]
		if n > 1 { // equal items have equal products, to the last bit
			size := len(x.v) / n
			copy(x.v[size:2*size], x.v[:size])
		}
		area := volume(shape[2:])
		c := call{what: fmt.Sprint(shape), out: []array{empty(shape[1], n, n)}, in: []array{x}, rel: s.opt.Sum, unit: math.Sqrt(float64(area)),
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.ChannelGrams(out[0], in[0]) }}
		s.compare(t, c)
		got, err := c.on(s.eng)
		if err != nil {
			t.Fatal(err)
		}
		for k := 0; n > 1 && k < shape[1]; k++ {
			if g := got[0][k*n*n:]; g[0] != g[1] || g[0] != g[n+1] {
				t.Errorf("%v: products of two equal items are %v, %v, %v", shape, g[0], g[1], g[n+1])
			}
		}
	}
}

func mixOperations() []operation {
	list := []operation{{"channel grams", []operand{arg("g", 3, 2, 2), arg("x", 2, 3)},
		func(e engine.Engine, t []engine.Tensor) error { return e.ChannelGrams(t[0], t[1]) }}}
	for _, trans := range []bool{false, true} {
		list = append(list, operation{"mix", []operand{arg("y", 2, 3, 4), arg("s", 2, 2), arg("x", 2, 3, 4)},
			func(e engine.Engine, t []engine.Tensor) error { return e.Mix(t[0], t[1], t[2], trans) }})
	}
	return list
}

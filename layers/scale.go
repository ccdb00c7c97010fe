package layers

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// Scale adds s * x.
func (g *Graph) Scale(name string, x *Node, s float32) *Node {
	if g.bad(name, x) {
		return nil
	}
	y := g.as(KindScale, s).apply(name, x.Shape(), []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.Scale(y, in[0], s)
	}, func(dy *Node) []*Node {
		dx := g.does("scale").apply(name+" grad", x.Shape(), []*Node{dy}, func(dx engine.Tensor, in []engine.Tensor) error {
			return g.eng.Scale(dx, in[0], s)
		}, nil)
		return []*Node{g.mayOverwrite(dx, 0)}
	})
	return g.mayOverwrite(y, 0)
}

// ExpScale adds y = x * exp(log): every coordinate of the rows of x (B, h) times a
// positive factor whose logarithm is learned, one for all, log of shape (1), or one
// each, (h).
//
// Engines compute it as a normalization with fixed statistics, gamma being the
// factors; the exponentials, as many as log has numbers, are the host's.
func (g *Graph) ExpScale(name string, x, log *Node) *Node {
	if g.bad(name, x, log) {
		return nil
	}
	s, n := x.Shape(), log.Shape().TotalSize()
	if len(s) != 2 || len(log.Shape()) != 1 || n != 1 && n != s[1] {
		return g.fail(name, fmt.Errorf("want rows (B, h) and logarithms (1) or (h), got %v and %v", s, log.Shape()))
	}
	e := &expScale{eng: g.eng, log: make([]float32, n), factor: make([]float32, s[1])}
	if err := e.allocate(); err != nil {
		return g.fail(name, err)
	}
	return g.as(KindExpScale, nil).apply(name, s, []*Node{x, log}, func(y engine.Tensor, in []engine.Tensor) error {
		if err := e.read(in[1]); err != nil {
			return err
		}
		return e.eng.FrozenNorm(y, in[0], e.gamma, e.zero, e.zero, e.one, 0)
	}, func(dy *Node) []*Node {
		return g.does("exp scale grad").applyMulti(name+" grad", [][]int{g.wanted(x), g.wanted(log)}, []*Node{dy, x, log}, func(out, in []engine.Tensor) error {
			if err := e.read(in[2]); err != nil {
				return err
			}
			if out[1] == nil {
				return e.eng.FrozenNormGrad(out[0], nil, nil, in[0], in[1], e.gamma, e.zero, e.one, 0)
			}
			if err := e.eng.FrozenNormGrad(out[0], e.dgamma, nil, in[0], in[1], e.gamma, e.zero, e.one, 0); err != nil {
				return err
			}
			return e.write(out[1])
		}, nil)
	})
}

// expScale is what the passes of ExpScale have in common.
type expScale struct {
	eng                      engine.Engine
	gamma, dgamma, zero, one engine.Tensor // (h)
	log, factor              []float32     // on the host
}

func (e *expScale) allocate() (err error) {
	for _, t := range []*engine.Tensor{&e.gamma, &e.dgamma, &e.zero, &e.one} {
		if *t, err = e.eng.New(len(e.factor)); err != nil {
			return err
		}
	}
	for i := range e.factor {
		e.factor[i] = 1
	}
	return e.eng.Write(e.one, e.factor)
}

// read sets gamma to the exponentials.
func (e *expScale) read(log engine.Tensor) error {
	if err := e.eng.Read(e.log, log); err != nil {
		return err
	}
	for i := range e.factor {
		e.factor[i] = float32(math.Exp(float64(e.log[i%len(e.log)])))
	}
	return e.eng.Write(e.gamma, e.factor)
}

// write makes the gradient of the logarithms of that of gamma.
func (e *expScale) write(dlog engine.Tensor) error {
	grad := make([]float32, len(e.factor))
	if err := e.eng.Read(grad, e.dgamma); err != nil {
		return err
	}
	sums := make([]float64, len(e.log))
	for i, d := range grad {
		sums[i%len(sums)] += float64(d) * float64(e.factor[i])
	}
	for i, s := range sums {
		e.log[i] = float32(s)
	}
	return e.eng.Write(dlog, e.log)
}

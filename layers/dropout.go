package layers

import (
	"fmt"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/hash64"
)

// dropout is a dropout of a graph: its mask is an input, drawn on the host before a Run.
type dropout struct {
	name string
	rate float64
	kept float32   // what stands in mask where a number is kept
	mask *Node     // 0 where it is not
	host []float32 // of mask
}

// drop adds a mask of a shape, which keeps everything until it is drawn.
func (g *Graph) drop(name string, rate float64, kept float32, shape ...int) *Node {
	mask := g.Fixed(name+".mask", 1, shape...)
	if mask != nil {
		g.drops = append(g.drops, &dropout{name: name, rate: rate, kept: kept, mask: mask, host: make([]float32, mask.Shape().TotalSize())})
	}
	return mask
}

// checkRate refuses what is no share of numbers to leave out.
func checkRate(rate float64) error {
	if !(rate >= 0 && rate < 1) {
		return fmt.Errorf("the rate of dropout is %v, want 0 or more and less than 1", rate)
	}
	return nil
}

// Dropout adds x with each number set to 0 with probability rate and all others divided
// by 1-rate (Srivastava et al. 2014), for training; evaluation leaves it out. Which
// numbers are kept is what DrawDropout drew last; before that it is all of them. A rate
// of 0 adds nothing.
func (g *Graph) Dropout(name string, x *Node, rate float64) *Node {
	if g.bad(name, x) {
		return nil
	}
	if err := checkRate(rate); err != nil {
		return g.fail(name, err)
	}
	if rate == 0 {
		return x
	}
	mask := g.drop(name, rate, 1, x.Shape()...)
	if mask == nil {
		return nil
	}
	// The gradient of a ReLU is what passes numbers where another tensor is above 0.
	kept := g.mayOverwrite(g.does("dropout").apply(name, x.Shape(), []*Node{x, mask}, g.passed, func(dy *Node) []*Node {
		return []*Node{g.mayOverwrite(g.does("dropout grad").apply(name+" grad", x.Shape(), []*Node{dy, mask}, g.passed, nil), 0), nil}
	}), 0)
	return g.Scale(name+".scale", kept, float32(1/(1-rate)))
}

// DropPath adds x (B, ...) with each row along the first axis, an image, set to 0 with
// probability rate and all others divided by 1-rate, for training: an image whose branch
// is 0 skips it (Huang et al. 2016, stochastic depth). Which rows are kept is what
// DrawDropout drew last; before that it is all of them, undivided. A rate of 0 adds nothing.
func (g *Graph) DropPath(name string, x *Node, rate float64) *Node {
	if g.bad(name, x) {
		return nil
	}
	if err := checkRate(rate); err != nil {
		return g.fail(name, err)
	}
	if rate == 0 {
		return x
	}
	return g.ScaleRows(name, x, g.drop(name, rate, float32(1/(1-rate)), x.Shape()[0]))
}

// passed passes in[0] where in[1] is above 0.
func (g *Graph) passed(y engine.Tensor, in []engine.Tensor) error {
	return g.eng.ReLUGrad(y, in[0], in[1])
}

// DrawDropout draws what each Dropout and DropPath of the graph keeps in the next Run. The draw of a
// row, along the first axis, is a function of seed, step, the dropout's name and the
// row's number, which is first for row 0: parts of a batch get what the whole would.
func (g *Graph) DrawDropout(seed, step uint64, first int) error {
	for _, d := range g.drops {
		rows := d.mask.Shape()[0]
		width := len(d.host) / rows
		for i := range rows {
			d.draw(d.host[i*width:(i+1)*width], rand.NewPCG(hash64.Mix((seed^hash64.Text(d.name))+hash64.Gamma), hash64.Mix(step+hash64.Gamma)+uint64(first+i)))
		}
		if err := g.eng.Write(g.Value(d.mask), d.host); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// draw draws one row, two numbers from 64 bits.
func (d *dropout) draw(row []float32, r *rand.PCG) {
	limit := uint32(d.rate * (1 << 32))
	var bits uint64
	for j := range row {
		if j%2 == 0 {
			bits = r.Uint64()
		}
		row[j] = 0
		if uint32(bits) >= limit {
			row[j] = d.kept
		}
		bits >>= 32
	}
}

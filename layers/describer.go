package layers

import "github.com/vernier-ml/vernier/engine"

// description is what an op does.
type description struct {
	kind  Kind   // KindNone for what Steps does not describe
	spec  any    // as kind says
	what  string // the kind for an Observer
	phase engine.Phase
	// products counts the operations of products.
	products int
	// read counts the numbers that are read of each input; nil for all of all.
	read []int
	// isSmall says that all the op asks for is in Bundler's list.
	isSmall bool
	// activation says that the output is stored as activations are, whatever its axes.
	activation bool
	// sums lists the outputs that are sums over the batch and may be left in parts.
	sums []int
	// sumsAt says which output holds the sums of an output, if that is asked for, see sumsOf.
	sumsAt map[int]int
	// maps is how many outputs are stored as the first one is.
	maps int
	// joinable says that the output may be a part of the map that it is joined to.
	joinable bool
	// moves lists the leaves that the op writes.
	moves []*Node
	// second, if not nil, is how the outputs are computed a second time, see Recompute.
	second *second
}

// describer adds nodes with a description.
type describer struct {
	g *Graph
	description
}

// as describes a forward op for Steps.
func (g *Graph) as(kind Kind, spec any) describer {
	d := g.does(kind.String())
	d.kind, d.spec = kind, spec
	return d
}

// does describes an op that Steps knows nothing of.
func (g *Graph) does(what string) describer {
	phase := engine.PhaseForward
	if g.reverse {
		phase = engine.PhaseBackward
	}
	return describer{g, description{what: what, phase: phase}}
}

// doesLoss is does for the op that computes a loss.
func (g *Graph) doesLoss(what string) describer {
	d := g.does(what)
	d.phase = engine.PhaseLoss
	return d
}

// flops notes the multiplications and additions of the products by their definition.
func (d describer) flops(n int) describer {
	d.products = n
	return d
}

// reading notes how many numbers of each input are read.
func (d describer) reading(n ...int) describer {
	d.read = n
	return d
}

// small notes that the op is one for a bundle.
func (d describer) small() describer {
	d.isSmall = true
	return d
}

// summing notes outputs that may be left as parts of sums.
func (d describer) summing(outputs ...int) describer {
	d.sums = outputs
	return d
}

// alike notes that the first outputs are stored as the very first is.
func (d describer) alike(outputs int) describer {
	d.maps = outputs
	return d
}

// moving notes the leaves that the op writes.
func (d describer) moving(leaves ...*Node) describer {
	d.moves = leaves
	return d
}

// repeating says how the op is run a second time where that is not as the first time: with
// further outputs, which nobody reads.
func (d describer) repeating(spare [][]int, run func(out, in []engine.Tensor) error) describer {
	d.second = &second{spare, run}
	return d
}

// apply adds a node with a single output.
func (d describer) apply(name string, shape []int, in []*Node, run func(out engine.Tensor, in []engine.Tensor) error, grad func(dout *Node) []*Node) *Node {
	return d.applyMulti(name, [][]int{shape}, in, func(out, in []engine.Tensor) error { return run(out[0], in) }, grad)[0]
}

// count returns how many outputs are wanted.
func count(shapes [][]int) (n int) {
	for _, s := range shapes {
		if s != nil {
			n++
		}
	}
	return n
}

package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// The outputs of a graph's ops lie in one arena. Ops run in the order in which
// they were added (see op), so the graph alone says which op reads a value last;
// from then on its place is free for others. An op that may write over an input,
// and is the last to read it, takes the input's place for its own output.
//
// What is read after a run is never given away: values that no op reads,
// gradients of inputs and parameters, and those named by Keep.

// plan says where the outputs of ops lie.
type plan struct {
	spans   []span
	offsets []int64
	of      map[output]int // index of the span
	// readable outputs hold their value after a run.
	readable map[output]bool
	narrow   map[output]bool // stored as activations, see Narrower
	summed   map[output]bool // which may lie in parts, see Bundler
	parts    map[output]part // see Joiner
	usage    Usage
}

// output names one of the outputs of an op that has no alias.
type output struct {
	op *op
	i  int
}

// Usage is what the buffers of a graph's ops take, in bytes. Inputs and
// parameters are not counted.
type Usage struct {
	Arena int64 // of the arena in which all of them lie
	Alive int64 // most that holds a value at one time: no plan takes less
	Sum   int64 // if each had a place of its own
}

// Keep makes sure that the value of n can be read after a Run. Values that no op
// reads, gradients of inputs and parameters, and the latter themselves always can.
func (g *Graph) Keep(n *Node) {
	if n != nil {
		g.kept[n] = true
	}
}

// Nodes lists what the graph's ops compute, forward and in reverse, in the
// order in which it was added.
func (g *Graph) Nodes() []*Node {
	nodes := make([]*Node, len(g.ops))
	for i, o := range g.ops {
		nodes[i] = o.node
	}
	return nodes
}

// mayOverwrite says which inputs the op behind n may write over.
func (g *Graph) mayOverwrite(n *Node, inputs ...int) *Node {
	if o := g.byNode[n]; o != nil {
		o.overwrites = inputs
	}
	return n
}

// outputOf returns the output behind a node; ok is false for inputs and
// parameters.
func (g *Graph) outputOf(n *Node) (out output, ok bool) {
	o := g.byNode[n]
	if o == nil {
		return out, false
	}
	if o.alias != nil {
		return output{o.alias, o.output}, true
	}
	return output{o, o.output}, true
}

// lastReads returns the number of the op that reads an output last, and of the one
// where the last of those that do runs.
func (g *Graph) lastReads() (last, runs map[output]int) {
	last, runs = map[output]int{}, map[output]int{}
	for i, o := range g.ops {
		if o.alias != nil { // waits for its op's first output but does not read it
			continue
		}
		for _, n := range o.in {
			if out, ok := g.outputOf(n); ok {
				last[out] = i
				runs[out] = max(runs[out], o.runsAt())
			}
		}
	}
	return last, runs
}

// plan places every output. It makes nothing.
func (g *Graph) plan() (*plan, error) {
	g.arrangeBundles()
	p := &plan{of: map[output]int{}, readable: map[output]bool{}, narrow: g.narrowed(), summed: g.leftInParts()}
	last, runs := g.lastReads()
	for n := range g.kept {
		if out, ok := g.outputOf(n); ok {
			p.readable[out] = true
		}
	}
	p.parts = g.parts(p, last)
	begun := map[output]bool{}
	for i, o := range g.ops {
		if o.alias != nil {
			continue
		}
		for j, shape := range o.shapes {
			if shape == nil {
				continue
			}
			out := output{o, j}
			if part, ok := p.parts[out]; ok { // a map begins with the first of its parts
				out, shape = part.whole, part.whole.op.shapes[part.whole.i]
			}
			if begun[out] {
				continue
			}
			begun[out] = true
			death, read := runs[out]
			if !read {
				death = max(i, out.op.id, o.runsAt())
				if out.i == out.op.output {
					p.readable[out] = true
				}
			}
			if p.readable[out] {
				death = forever
			}
			bytes, err := g.footprint(shape, p.narrow[out], p.summed[out])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.name, err)
			}
			p.usage.Sum += bytes
			if source, ok := g.overwritten(out, last, runs, p); ok {
				p.of[out] = p.of[source]
				p.spans[p.of[source]].death = death
				continue
			}
			p.of[out] = len(p.spans)
			p.spans = append(p.spans, span{min(i, o.runsAt()), death, bytes})
		}
	}
	p.offsets, p.usage.Arena = pack(p.spans)
	p.usage.Alive = maxAlive(p.spans)
	return p, nil
}

// overwritten returns the output over which the op of out writes it, if any:
// one that the op may write over, reads once and is the last to read.
func (g *Graph) overwritten(out output, last, runs map[output]int, p *plan) (output, bool) {
	o := out.op
	if out.i != o.output {
		return output{}, false
	}
	for _, i := range o.overwrites {
		source, ok := g.outputOf(o.in[i])
		if !ok || p.readable[source] || p.narrow[source] != p.narrow[out] || p.summed[source] || last[source] != o.id || runs[source] != o.runsAt() || !sameShape(o.in[i].Shape(), o.shapes[out.i]) {
			continue
		}
		times := 0
		for _, n := range o.in {
			if other, ok := g.outputOf(n); ok && other == source {
				times++
			}
		}
		if times == 1 {
			return source, true
		}
	}
	return output{}, false
}

// allocate makes the arena and the tensors in it.
func (g *Graph) allocate(p *plan) (err error) {
	if g.arena, err = g.eng.Arena(p.usage.Arena); err != nil {
		return err
	}
	for out, i := range p.of {
		t, err := g.place(p.offsets[i], out.op.shapes[out.i], p.narrow[out], p.summed[out])
		if err != nil {
			return fmt.Errorf("%s: %w", out.op.name, err)
		}
		out.op.out[out.i] = t
	}
	for out, part := range p.parts {
		t, err := g.eng.(engine.Joiner).Part(part.whole.op.out[part.whole.i], part.from, out.op.shapes[out.i][1])
		if err != nil {
			return fmt.Errorf("%s: %w", out.op.name, err)
		}
		out.op.out[out.i] = t
	}
	for _, o := range g.ops {
		o.held, o.args = &value{o.result()}, make([]engine.Tensor, len(o.in))
	}
	return nil
}

// Usage plans the memory of the graph as it is now and says what that takes. Of
// a graph with a mistake, which Compile reports, it is zero.
func (g *Graph) Usage() Usage {
	if g.planned != nil {
		return g.planned.usage
	}
	if g.err != nil {
		return Usage{}
	}
	p, err := g.plan()
	if err != nil {
		return Usage{}
	}
	return p.usage
}

// Bytes is the memory in which the graph's ops compute, Usage().Arena.
func (g *Graph) Bytes() int64 { return g.Usage().Arena }

package layers

import (
	"errors"
	"slices"

	"github.com/vernier-ml/vernier/engine"
)

// On a Bundler the small ops of a graph, those on parameters and their gradients, run
// in two bundles: where the first of those runs that read only parameters, all of them
// do, and where the last of those runs that only such ops read, all of them do.

// bundle is small ops that run together, where at runs.
type bundle struct {
	ops  []*op
	at   *op
	work engine.Bundle // made in the first run, when parts of sums are known
}

// bundler returns the engine as a Bundler, or nil.
func (g *Graph) bundler() engine.Bundler {
	b, ok := g.eng.(engine.Bundler)
	if !ok || g.unfused {
		return nil
	}
	return b
}

// copiesWeights reports whether products read copies of weights, stored as
// activations, which a bundle makes.
func (g *Graph) copiesWeights() bool { return g.bundler() != nil && g.width(true) < g.width(false) }

// operand returns what a product of activations reads of a parameter: a copy, stored
// as they are, where the engine would make one for every product.
func (g *Graph) operand(p *Node) *Node {
	if _, leaf := g.values[p]; !leaf || !g.copiesWeights() {
		return p
	}
	if c := g.copies[p]; c != nil {
		return c
	}
	d := g.does("copy").small()
	d.activation = true
	c := d.apply(g.nameOf(p)+" copy", p.Shape(), []*Node{p}, func(dst engine.Tensor, in []engine.Tensor) error {
		return g.eng.Copy(dst, in[0])
	}, func(dy *Node) []*Node { return []*Node{dy} })
	g.copies[p] = c
	return c
}

// sum returns the gradient of a parameter of one axis as the sums that its op may
// leave in parts. nil stays nil.
func (g *Graph) sum(name string, d *Node) *Node {
	if d == nil || g.bundler() == nil {
		return d
	}
	return g.does("sum").small().apply(name, d.Shape(), []*Node{d}, func(dst engine.Tensor, in []engine.Tensor) error {
		return g.eng.Copy(dst, in[0])
	}, nil)
}

// arrangeBundles finds the bundles. It says so in the ops.
func (g *Graph) arrangeBundles() {
	for _, o := range g.ops {
		o.bundle = nil
	}
	if g.bundler() == nil {
		return
	}
	early := &bundle{}
	moved := map[*Node]bool{} // statistics that move while the graph runs
	for _, o := range g.ops {
		for _, n := range o.moves {
			moved[n] = true
		}
	}
	for _, o := range g.ops {
		if o.isSmall && g.readsParametersOnly(o, moved) {
			o.bundle = early
			early.ops = append(early.ops, o)
		}
	}
	late, readers := &bundle{}, g.readers()
	for i := len(g.ops) - 1; i >= 0; i-- {
		o := g.ops[i]
		if !o.isSmall || o.bundle != nil {
			continue
		}
		fits := !slices.ContainsFunc(o.in, func(n *Node) bool { return moved[n] })
		for _, r := range readers[o] {
			fits = fits && r.bundle == late
		}
		if fits {
			o.bundle = late
			late.ops = append(late.ops, o)
		}
	}
	slices.Reverse(late.ops)
	if n := len(early.ops); n > 0 {
		early.at = early.ops[0]
	}
	if n := len(late.ops); n > 0 {
		late.at = late.ops[n-1]
	}
}

// readsParametersOnly reports whether all inputs of o are leaves that stay as they
// are, or outputs of ops that are in a bundle already.
func (g *Graph) readsParametersOnly(o *op, moved map[*Node]bool) bool {
	for _, n := range o.in {
		if out, computed := g.outputOf(n); computed && out.op.bundle == nil || moved[n] {
			return false
		}
	}
	return true
}

// readers lists the ops that read an output of each.
func (g *Graph) readers() map[*op][]*op {
	list := map[*op][]*op{}
	for _, o := range g.ops {
		if o.alias != nil {
			continue
		}
		for _, n := range o.in {
			if out, ok := g.outputOf(n); ok {
				list[out.op] = append(list[out.op], o)
			}
		}
	}
	return list
}

// runsAt is the number of the op at which o runs.
func (o *op) runsAt() int {
	if o.bundle != nil {
		return o.bundle.at.id
	}
	return o.id
}

// leftInParts returns the outputs that an op may leave as parts of sums: those that only
// the bundle behind it reads.
func (g *Graph) leftInParts() map[output]bool {
	list := map[output]bool{}
	for _, o := range g.ops {
		for _, i := range o.sums {
			if o.shapes[i] != nil {
				list[output{o, i}] = true
			}
		}
	}
	for n := range g.kept {
		if out, ok := g.outputOf(n); ok {
			delete(list, out)
		}
	}
	read := map[output]bool{}
	for _, o := range g.ops {
		if o.alias != nil {
			continue
		}
		for _, n := range o.in {
			out, ok := g.outputOf(n)
			if !ok {
				continue
			}
			read[out] = true
			if o.bundle == nil {
				delete(list, out)
			}
		}
	}
	for out := range list {
		if !read[out] {
			delete(list, out)
		}
	}
	return list
}

// compute runs the op, or its bundle if that is the op where it runs. Looking for a
// number that is not finite, each op runs by itself.
func (o *op) compute(in []engine.Tensor) error {
	b := o.bundle
	switch {
	case b == nil || o.g.check:
		return o.run(o.out, in)
	case b.at != o:
		return nil
	case b.work == nil:
		work, err := o.g.bundler().Bundle(func() error {
			for _, small := range b.ops {
				if err := small.run(small.out, small.tensors()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		b.work = work
	}
	return b.work.Run()
}

// tensors returns those of the op's inputs.
func (o *op) tensors() []engine.Tensor {
	in := make([]engine.Tensor, len(o.in))
	for i, n := range o.in {
		if v, ok := o.g.values[n]; ok {
			in[i] = v
		} else if out, ok := o.g.outputOf(n); ok {
			in[i] = out.op.out[out.i]
		}
	}
	return in
}

// closeBundles gives back what they hold.
func (g *Graph) closeBundles() error {
	var errs []error
	for _, o := range g.ops {
		if b := o.bundle; b != nil && b.work != nil {
			errs = append(errs, b.work.Close())
			b.work = nil
		}
	}
	return errors.Join(errs...)
}

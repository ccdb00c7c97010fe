package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// ConvNorm describes a convolution, the normalization of its result, and what
// follows before the next: a residual to add, and ReLU or ReLU6.
type ConvNorm struct {
	Name     string // of the convolution and its parameters
	NormName string // of the normalization and its parameters
	ReLUName string // of the ReLU; empty for none
	ReLU6    bool   // it is one
	Out      int    // channels; for a depthwise convolution those of its input
	Spec     engine.ConvSpec
	Bias     bool // of the convolution
	Eps      float32
	Momentum float32
	// FrozenStats normalizes with the running statistics. All of it is then one
	// op, unless the graph is Unfused.
	FrozenStats bool
}

// ConvNormModule adds c on x. residual, of the shape of the result, is added
// before the ReLU; nil means none. Parameters are those of ConvModule and
// BatchNormModule.
func (g *Graph) ConvNormModule(c ConvNorm, x, residual *Node) *Node {
	if !c.FrozenStats || g.unfused {
		y := g.ConvModule(c.Name, x, c.Out, c.Spec, c.Bias)
		y = g.BatchNormModule(c.NormName, y, c.Eps, c.Momentum, c.FrozenStats)
		if residual != nil {
			y = g.Add(y, residual)
		}
		switch {
		case c.ReLUName == "":
		case c.ReLU6:
			y = g.ReLU6(c.ReLUName, y)
		default:
			y = g.ReLU(c.ReLUName, y)
		}
		return y
	}
	if g.bad(c.Name, x) {
		return nil
	}
	in := 1
	if len(x.Shape()) == 4 {
		in = x.Shape()[1]
	}
	w, bias := g.convParams(c.Name, in, c.Out, c.Spec, c.Bias)
	act := Identity
	switch {
	case c.ReLUName == "":
	case c.ReLU6:
		act = Rectified6
	default:
		act = Rectified
	}
	return g.FusedConv(c.Name, x, w, bias, residual, c.Spec, g.normParams(c.NormName, c.Out, c.Eps, c.Momentum, true), act)
}

// Unfused makes modules add an op for each layer, even where one op would do for
// several: Steps can then describe them.
func (g *Graph) Unfused() { g.unfused = true }

// Activation is what ends a FusedConv.
type Activation uint8

const (
	Identity   Activation = iota
	Rectified             // ReLU
	Rectified6            // ReLU6
)

// FusedConv adds y = act((x*w + bias - mean)/sqrt(var + eps)*gamma + beta +
// residual) as one op, with the frozen statistics of p.
// bias and residual may be nil.
//
// The normalized sums are never stored, and the gradients do not need them: with
// dz = dL/d(scale*s + shift), where s = x*w, scale = gamma/sqrt(var+eps), and G
// the gradient of the weights that dz gives without a scale,
//
//	dw[k] = scale[k] G[k]   dscale[k] = sum of dz s over channel k = <w[k], G[k]>
//
// since s is linear in w. So gamma gets its gradient also where it is 0.
func (g *Graph) FusedConv(name string, x, w, bias, residual *Node, spec engine.ConvSpec, p NormParams, act Activation) *Node {
	if g.bad(name, x, w, p.Gamma, p.Beta, p.Mean, p.Var) {
		return nil
	}
	shape, err := convShape(x, w, spec)
	if err != nil {
		return g.fail(name, err)
	}
	for _, n := range []*Node{bias, p.Gamma, p.Beta, p.Mean, p.Var} {
		if n != nil && !sameShape(n.Shape(), shape[1:2]) {
			return g.fail(name, fmt.Errorf("%s has shape %v, want (%d)", g.nameOf(n), n.Shape(), shape[1]))
		}
	}
	if residual != nil && !sameShape(residual.Shape(), shape) {
		return g.fail(name, fmt.Errorf("%s %v is to be added to %v", g.nameOf(residual), residual.Shape(), shape))
	}
	f := fusedConv{g: g, name: name, x: x, w: w, bias: bias, residual: residual, shape: shape, spec: spec, norm: p, act: act}
	f.fold()
	return f.forward()
}

// fusedConv is what the passes of FusedConv have in common.
type fusedConv struct {
	g                    *Graph
	name                 string
	x, w, bias, residual *Node
	shape                []int // of the result
	spec                 engine.ConvSpec
	norm                 NormParams
	act                  Activation
	scale, shift, y      *Node

	in inputs // of forward
	// places in it, -1 for none
	residualAt, biasAt, gammaAt, betaAt int
}

// fold adds the scale and the shift that the normalization comes to. It costs
// next to nothing, so each run does it: parameters may have moved.
func (f *fusedConv) fold() {
	g, p := f.g, f.norm
	var in inputs
	in.add(p.Gamma, p.Beta, p.Mean, p.Var)
	bias := in.add(f.bias)
	c := []int(p.Gamma.Shape())
	out := g.does("fold norm").small().applyMulti(f.name+" scale", [][]int{c, c}, in, func(out, in []engine.Tensor) error {
		return g.eng.FoldNorm(out[0], out[1], optional(in, bias), in[0], in[1], in[2], in[3], p.Eps)
	}, nil)
	f.scale, f.shift = out[0], out[1]
	for _, n := range out { // gradients go past it, see backward
		delete(g.needs, n)
	}
}

// what names the layers that are one op.
func (f *fusedConv) what() string {
	what := "conv+norm"
	if f.residual != nil {
		what += "+add"
	}
	switch f.act {
	case Rectified:
		what += "+relu"
	case Rectified6:
		what += "+relu6"
	}
	return what
}

// product counts the operations of the convolution.
func (f *fusedConv) product() int { return convProduct(f.shape, f.w) }

func (f *fusedConv) forward() *Node {
	g := f.g
	f.in.add(f.x, g.operand(f.w), f.scale, f.shift)
	f.residualAt = f.in.add(f.residual)
	// Not read, but gradients flow to them.
	f.biasAt, f.gammaAt, f.betaAt = f.in.add(f.bias), f.in.add(f.norm.Gamma), f.in.add(f.norm.Beta)
	d := g.does(f.what()).flops(f.product())
	d.joinable = f.residual == nil
	f.y = d.apply(f.name, f.shape, f.in, func(y engine.Tensor, in []engine.Tensor) error {
		e := engine.Epilogue{Scale: in[2], Shift: in[3], Residual: optional(in, f.residualAt), ReLU: f.act != Identity}
		if f.act == Rectified6 {
			e.Ceiling = engine.Ceiling6
		}
		return g.eng.Conv(y, in[0], in[1], f.spec, e)
	}, f.backward)
	if o := g.byNode[f.y]; o != nil {
		o.rectified = f.act == Rectified
		if f.residual != nil {
			o.overwrites = []int{f.residualAt}
		}
	}
	return f.y
}

// backward returns the gradients of the inputs. Those of the weights come first:
// they are the last to read x, whose place that of x may then take.
func (f *fusedConv) backward(dy *Node) []*Node {
	g := f.g
	switch f.act {
	case Rectified:
		dy = g.rectifiedGrad(f.name, dy, f.y)
	case Rectified6:
		dy = g.boundedGrad(f.name, dy, f.y)
	}
	ds := make([]*Node, len(f.in))
	if f.residual != nil {
		ds[f.residualAt] = dy
	}
	f.parameters(ds, dy)
	if g.needs[f.x] {
		scaled := g.does("scale rows").small().apply(f.name+" scaled weights", f.w.Shape(), []*Node{f.w, f.scale}, func(dst engine.Tensor, in []engine.Tensor) error {
			return g.eng.ScaleRows(dst, in[0], in[1])
		}, nil)
		ds[0] = g.convGradInput(f.name+" grad input", f.x, dy, scaled, f.spec, f.product())
	}
	return ds
}

// parameters adds the gradients of weights, bias, gamma and beta.
func (f *fusedConv) parameters(ds []*Node, dz *Node) {
	g := f.g
	var want [3][]int // of the gradients of bias, gamma and beta
	for i, n := range []*Node{f.bias, f.norm.Gamma, f.norm.Beta} {
		if n != nil {
			want[i] = g.wanted(n)
		}
	}
	sums := make([][]int, 2) // G, and the sums of dz
	if g.needs[f.w] || want[1] != nil {
		sums[0] = f.w.Shape()
	}
	affine := want[0] != nil || want[1] != nil || want[2] != nil
	var dshift *Node
	if affine {
		if dshift = g.sumsOf(dz, f.norm.Gamma.Shape()); dshift == nil {
			sums[1] = f.norm.Gamma.Shape()
		}
	}
	d := make([]*Node, 2)
	if sums[0] != nil || sums[1] != nil {
		product := 0
		if sums[0] != nil {
			product = f.product()
		}
		d = g.does("conv grad weights").flops(product).summing(1).applyMulti(f.name+" grad weights", sums, []*Node{dz, f.x}, func(out, in []engine.Tensor) error {
			return g.eng.ConvGradWeights(out[0], out[1], in[0], in[1], f.spec)
		}, nil)
	}
	if dshift == nil {
		dshift = d[1]
	}
	if affine {
		f.affine(ds, d[0], dshift, want)
	}
	if g.needs[f.w] {
		dw := g.does("scale rows").small().apply(f.name+" grad scaled", f.w.Shape(), []*Node{d[0], f.scale}, func(dw engine.Tensor, in []engine.Tensor) error {
			return g.eng.ScaleRows(dw, in[0], in[1])
		}, nil)
		ds[1] = g.mayOverwrite(dw, 0)
	}
}

// affine adds the wanted gradients of bias, gamma and beta.
func (f *fusedConv) affine(ds []*Node, unscaled, dshift *Node, want [3][]int) {
	g, p := f.g, f.norm
	var in inputs
	in.add(dshift, p.Gamma, p.Mean, p.Var)
	bias, dscale := in.add(f.bias), -1
	if want[1] != nil {
		dscale = in.add(g.does("row dots").small().apply(f.name+" grad scale", want[1], []*Node{f.w, unscaled}, func(d engine.Tensor, in []engine.Tensor) error {
			return g.eng.RowDots(d, in[0], in[1])
		}, nil))
	}
	d := g.does("fold norm grad").small().applyMulti(f.name+" grad norm", want[:], in, func(out, in []engine.Tensor) error {
		return g.eng.FoldNormGrad(out[0], out[1], out[2], optional(in, dscale), in[0], optional(in, bias), in[1], in[2], in[3], p.Eps)
	}, nil)
	for i, at := range []int{f.biasAt, f.gammaAt, f.betaAt} {
		if at >= 0 {
			ds[at] = d[i]
		}
	}
}

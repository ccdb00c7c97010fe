package layers

import "github.com/vernier-ml/vernier/engine"

// Modules add an operation together with its parameters, named as PyTorch
// names them: name.weight, name.bias, name.running_mean, name.running_var.

// ConvModule adds a convolution to out channels, those of x if it is depthwise. Weights start He-normal over
// fan-in; a bias starts at zero.
func (g *Graph) ConvModule(name string, x *Node, out int, spec engine.ConvSpec, bias bool) *Node {
	if g.bad(name, x) {
		return nil
	}
	in := 1
	if len(x.Shape()) == 4 {
		in = x.Shape()[1]
	}
	w, b := g.convParams(name, in, out, spec, bias)
	return g.Conv(name, x, w, b, spec)
}

func (g *Graph) convParams(name string, in, out int, spec engine.ConvSpec, bias bool) (w, b *Node) {
	if spec.Depthwise {
		in = 1
	}
	w = g.Param(name+".weight", Weight, HeNormal(in*spec.KernelH*spec.KernelW), out, in, spec.KernelH, spec.KernelW)
	if bias {
		b = g.Param(name+".bias", Bias, Constant(0), out)
	}
	return w, b
}

// BatchNormModule adds a batch normalization. frozen uses the running
// statistics, as in evaluation.
func (g *Graph) BatchNormModule(name string, x *Node, eps, momentum float32, frozen bool) *Node {
	if g.bad(name, x) {
		return nil
	}
	return g.BatchNorm(name, x, g.normParams(name, x.Shape()[1], eps, momentum, frozen))
}

func (g *Graph) normParams(name string, c int, eps, momentum float32, frozen bool) NormParams {
	return NormParams{
		Gamma:       g.Param(name+".weight", NormGain, Constant(1), c),
		Beta:        g.Param(name+".bias", NormBias, Constant(0), c),
		Mean:        g.Param(name+".running_mean", Buffer, Constant(0), c),
		Var:         g.Param(name+".running_var", Buffer, Constant(1), c),
		Eps:         eps,
		Momentum:    momentum,
		FrozenStats: frozen,
	}
}

// LinearModule adds a linear layer to out features. Weights start He-normal
// over fan-out, biases at zero, as Proxy-Anchor's embedding layer does.
func (g *Graph) LinearModule(name string, x *Node, out int) *Node {
	if g.bad(name, x) {
		return nil
	}
	in := x.Shape()[len(x.Shape())-1]
	w := g.Param(name+".weight", Weight, HeNormal(out), out, in)
	b := g.Param(name+".bias", Bias, Constant(0), out)
	return g.Linear(name, x, w, b)
}

// LayerNormModule adds a layer normalization over the last axis of x.
func (g *Graph) LayerNormModule(name string, x *Node, eps float32) *Node {
	if g.bad(name, x) {
		return nil
	}
	d := x.Shape()[len(x.Shape())-1]
	return g.LayerNorm(name, x, g.Param(name+".weight", NormGain, Constant(1), d), g.Param(name+".bias", NormBias, Constant(0), d), eps)
}

// TokenLinearModule adds a linear layer to out features over the last axis of
// x. Weights start normal with deviation 0.02, biases at zero, as those of
// vision transformers do.
func (g *Graph) TokenLinearModule(name string, x *Node, out int) *Node {
	return g.tokenLinear(name, "", x, nil, out)
}

package layers

// Modules add an operation together with its parameters, named as PyTorch
// names them: name.weight, name.bias, name.running_mean, name.running_var.

// ConvModule adds a convolution to out channels. Weights start He-normal over
// fan-in; a bias starts at zero.
func (g *Graph) ConvModule(name string, x *Node, out int, spec ConvSpec, bias bool) *Node {
	if g.bad(name, x) {
		return nil
	}
	in := 1
	if len(x.Shape()) == 4 {
		in = x.Shape()[1]
	}
	w := g.Param(name+".weight", Weight, HeNormal(in*spec.KernelH*spec.KernelW), out, in, spec.KernelH, spec.KernelW)
	var b *Node
	if bias {
		b = g.Param(name+".bias", Bias, Constant(0), out)
	}
	return g.Conv(name, x, w, b, spec)
}

// BatchNormModule adds a batch normalisation. frozen uses the running
// statistics, as in evaluation.
func (g *Graph) BatchNormModule(name string, x *Node, eps, momentum float32, frozen bool) *Node {
	if g.bad(name, x) {
		return nil
	}
	c := x.Shape()[1]
	return g.BatchNorm(name, x, NormParams{
		Gamma:       g.Param(name+".weight", NormGain, Constant(1), c),
		Beta:        g.Param(name+".bias", NormBias, Constant(0), c),
		Mean:        g.Param(name+".running_mean", Buffer, Constant(0), c),
		Var:         g.Param(name+".running_var", Buffer, Constant(1), c),
		Eps:         eps,
		Momentum:    momentum,
		FrozenStats: frozen,
	})
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

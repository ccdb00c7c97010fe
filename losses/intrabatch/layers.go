package intrabatch

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// Constants of the authors' code.
const (
	layerNormEps      = 1e-5
	batchNormEps      = 1e-5
	batchNormMomentum = 0.1
	hiddenTimes       = 4 // the MLP's middle is this many times as wide
)

// Spec says what the layers are.
type Spec struct {
	Classes int // of the logits
	Layers  int // of attention, one behind the other
	Heads   int // of each
	Width   int // of the rows that they see; 0 for that of the embeddings
	// Joined lets the logits see what every layer gives, side by side, not the last alone.
	Joined bool
	// Dropout is the share of weights, of what branches give, and of the MLP's middle, that a
	// step leaves out.
	Dropout float64
}

// Logits are what embeddings are classified by.
type Logits struct {
	Embeddings *layers.Node // (B, Classes), of the embeddings alone
	Batch      *layers.Node // (B, Classes), of what the batch makes of them
	Refined    *layers.Node // (B, Width), what the last layer of attention gives
}

// Add adds the layers over the embeddings u (B, h) of a batch:
//
//	Embeddings = W u + b
//	z = R u^ + r, u^ of length 1
//	z = LN(z + attention(z)), z = LN(z + MLP(z)), and so Layers times
//	Batch = F BN(z), the statistics those of the batch, without a shift
//
// Names of parameters begin with prefix. They belong to layers.Training.
func (s Spec) Add(g *layers.Graph, prefix string, u *layers.Node) (out Logits) {
	defer g.In(layers.Training)()
	if g.Err() != nil {
		return out
	}
	if err := s.check(u); err != nil {
		g.Fail("layers over the batch", err)
		return out
	}
	out.Embeddings = linear(g, prefix+"classifier", u, s.Classes)
	z := g.RowNorm(prefix+"rows", u, engine.RowNormSpec{Scale: 1, Eps: 1e-12})
	z = linear(g, prefix+"reduce", z, s.width(u))
	all := make([]*layers.Node, s.Layers)
	for i := range all {
		z = s.layer(g, fmt.Sprintf("%slayer%d.", prefix, i+1), z)
		all[i] = z
	}
	out.Refined = z
	if s.Joined {
		z = g.Concat(prefix+"joined", all...)
	}
	out.Batch = s.classify(g, prefix, z)
	return out
}

func (s Spec) width(u *layers.Node) int {
	if s.Width > 0 {
		return s.Width
	}
	return u.Shape()[1]
}

func (s Spec) check(u *layers.Node) error {
	if u == nil || len(u.Shape()) != 2 {
		return fmt.Errorf("want embeddings (B, h)")
	}
	if h := s.width(u); s.Heads < 1 || h%s.Heads != 0 {
		return fmt.Errorf("%d heads do not divide rows of %d numbers: take a number of heads that does, or another width", s.Heads, h)
	}
	if n := u.Shape()[0]; n < 2 {
		return fmt.Errorf("a batch of %d has nothing to connect: want 2 images or more", n)
	}
	if s.Classes < 1 || s.Layers < 1 || s.Width < 0 {
		return fmt.Errorf("%d classes, %d layers, width %d: want 1 or more of each, or 0 for the width of the embeddings", s.Classes, s.Layers, s.Width)
	}
	return nil
}

// layer adds attention and MLP, each with its branch around it and a normalization behind it.
func (s Spec) layer(g *layers.Graph, name string, z *layers.Node) *layers.Node {
	if z == nil {
		return nil
	}
	h := z.Shape()[1]
	branch := func(part string, y *layers.Node) {
		y = g.Dropout(name+part+".dropout", y, s.Dropout)
		z = g.LayerNormModule(name+part+".norm", g.Add(z, y), layerNormEps)
	}
	in := []*layers.Node{linear(g, name+"attention.qkv", z, 3*h)}
	if s.Dropout > 0 {
		n := z.Shape()[0]
		in = append(in, g.Dropout(name+"attention.weights", g.Fixed(name+"attention.ones", 1, n, s.Heads*n), s.Dropout))
	}
	branch("attention", linear(g, name+"attention.out", g.HostOp(name+"attention", Attention{s.Heads}, in...), h))
	y := g.ReLU(name+"mlp.relu", linear(g, name+"mlp.fc1", z, hiddenTimes*h))
	branch("mlp", linear(g, name+"mlp.fc2", g.Dropout(name+"mlp.middle", y, s.Dropout), h))
	return z
}

// classify adds the batch normalization without a shift and the classifier without a bias.
func (s Spec) classify(g *layers.Graph, prefix string, z *layers.Node) *layers.Node {
	if z == nil {
		return nil
	}
	name, h := prefix+"neck", z.Shape()[1]
	z = g.BatchNorm(name, z, layers.NormParams{
		Gamma: g.Param(name+".weight", layers.NormGain, layers.Constant(1), h),
		Beta:  g.Fixed(name+".bias", 0, h),
		Mean:  g.Param(name+".running_mean", layers.Buffer, layers.Constant(0), h),
		Var:   g.Param(name+".running_var", layers.Buffer, layers.Constant(1), h),
		Eps:   batchNormEps, Momentum: batchNormMomentum,
	})
	return g.Linear(prefix+"logits", z, g.Param(prefix+"logits.weight", layers.Weight, layers.UniformFanIn(h), s.Classes, h), nil)
}

// linear adds a linear layer whose weights start as PyTorch's do.
func linear(g *layers.Graph, name string, x *layers.Node, out int) *layers.Node {
	if x == nil {
		return nil
	}
	in := x.Shape()[1]
	w := g.Param(name+".weight", layers.Weight, layers.UniformFanIn(in), out, in)
	return g.Linear(name, x, w, g.Param(name+".bias", layers.Bias, layers.Constant(0), out))
}

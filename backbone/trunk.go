package backbone

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// trunk is a network of blocks, one after another.
type trunk struct {
	blocks     []Block
	after      []Block // those that the trunk's end cut off
	eps        float32 // of batch normalization
	momentum   float32
	relu6      bool // in place of ReLU
	pictures   Preprocessing
	tokens     bool     // instead of a map
	paths      bool     // blocks skip images as Mode.DropPath says
	classifier []string // patterns of names in the public files
}

// Block is a named part of a network.
type Block struct {
	// Name begins the names of its parameters, as the block's own Add gives them, and
	// is that by which training freezes a network up to a block.
	Name     string
	Channels int // features at each place of its output
	// Add adds the block on x to b.Graph and returns its output. It is called for each
	// graph that the network is part of, in training and in evaluation.
	Add func(b *Builder, x *layers.Node) *layers.Node
}

// finish applies the options that every trunk has.
func (t *trunk) finish(o options) (Backbone, error) {
	if o.momentum > 0 {
		t.momentum = o.momentum
	}
	if o.trunkEnd == "" {
		return t, nil
	}
	end := lastBlock(t.Blocks(), o.trunkEnd)
	if end < 0 {
		return nil, fmt.Errorf("%s=%s names no block (there is: %s)", optTrunkEnd, o.trunkEnd, strings.Join(t.Blocks(), ", "))
	}
	t.blocks, t.after = t.blocks[:end+1], t.blocks[end+1:]
	return t, nil
}

// Forward adds the blocks.
func (t *trunk) Forward(g *layers.Graph, x *layers.Node, mode Mode) *layers.Node {
	b := &Builder{Graph: g, mode: mode, eps: t.eps, momentum: t.momentum, relu6: t.relu6}
	first, end := mode.part(t.Blocks())
	add := func(i int, x *layers.Node) *layers.Node {
		bl := t.blocks[first+i]
		if x = bl.Add(b, x); x == nil {
			g.Fail(bl.Name, errors.New("the block returned no output"))
			return nil
		}
		if mode.Observe != nil {
			g.Keep(x)
			mode.Observe(bl.Name, x)
		}
		return x
	}
	if x = mode.chain(g, x, end-first, add); x == nil {
		return nil
	}
	if end == len(t.blocks) && end > first {
		t.checkOutput(g, x)
	}
	if mode.Flow != nil {
		if err := mode.Flow.missing(b.convs); err != nil {
			g.Fail("geometry flow", err)
		}
	}
	return x
}

// checkOutput notes a last block that does not do what it says.
func (t *trunk) checkOutput(g *layers.Graph, x *layers.Node) {
	last, s := t.blocks[len(t.blocks)-1], x.Shape()
	dims, axis, what := 4, 1, "a feature map (images, channels, height, width)"
	if t.tokens {
		dims, axis, what = 3, 2, "tokens (images, tokens, channels)"
	}
	switch {
	case len(s) != dims:
		g.Fail(last.Name, fmt.Errorf("the last block's output has shape %v, want %s", s, what))
	case s[axis] != last.Channels:
		g.Fail(last.Name, fmt.Errorf("the block's output has shape %v, with %d channels, but Block.Channels is %d", s, s[axis], last.Channels))
	}
}

func (t *trunk) Channels() int { return t.blocks[len(t.blocks)-1].Channels }

func (t *trunk) Tokens() bool { return t.tokens }

func (t *trunk) Blocks() []string {
	var names []string
	for _, b := range t.blocks {
		names = append(names, b.Name)
	}
	return names
}

// CheckSize accepts any side: where a map becomes too small, or two cannot be
// joined, building the graph fails.
func (t *trunk) CheckSize(int) error { return nil }

func (t *trunk) Preprocessing() Preprocessing { return t.pictures }

// Ignored also lists the blocks after the end: their parameters are named
// "block.part" or, in BN-Inception, "block_part".
func (t *trunk) Ignored() []string {
	out := append([]string(nil), t.classifier...)
	for _, b := range t.after {
		out = append(out, b.Name+".*", b.Name+"_*")
	}
	return out
}

// Builder adds the blocks of a network to a graph.
type Builder struct {
	Graph         *layers.Graph
	mode          Mode
	eps, momentum float32
	relu6         bool
	convs         []string // those that have been added, with an activation
}

// BatchStats reports whether the batch normalization of that name uses the statistics
// of the batch: in training, unless it is frozen.
func (b *Builder) BatchStats(norm string) bool {
	return b.mode.BatchStats != nil && b.mode.BatchStats(norm)
}

// BatchNorm adds a batch normalization with the parameters name.weight, name.bias,
// name.running_mean and name.running_var, which uses and moves its statistics as the
// run wants it.
func (b *Builder) BatchNorm(name string, x *layers.Node) *layers.Node {
	return b.Graph.BatchNormModule(name, x, b.eps, b.momentum, !b.BatchStats(name))
}

// convNorm adds a convolution and its batch normalization, whose parameters are
// named name.* and norm.*, and unless relu is empty a ReLU, or ReLU6. residual, if not nil,
// is added before that.
func (b *Builder) convNorm(name, norm, relu string, x, residual *layers.Node, out int, spec engine.ConvSpec, bias bool) *layers.Node {
	y := b.Graph.ConvNormModule(layers.ConvNorm{
		Name: name, NormName: norm, ReLUName: relu, ReLU6: b.relu6, Out: out, Spec: spec, Bias: bias,
		Eps: b.eps, Momentum: b.momentum, FrozenStats: !b.BatchStats(norm),
	}, x, residual)
	if relu == "" {
		return y
	}
	return b.activated(name, x, y)
}

// Conv adds a convolution to out channels without a bias, batch normalization and ReLU with the names
// name.conv and name.bn, the BasicConv2d of torchvision.
func (b *Builder) Conv(name string, x *layers.Node, out int, spec engine.ConvSpec) *layers.Node {
	return b.convNorm(name+".conv", name+".bn", name+".relu", x, nil, out, spec, false)
}

// maxPool returns a block that is a pooling of channels planes.
func maxPool(name string, channels int, spec engine.PoolSpec) Block {
	return Block{name, channels, func(b *Builder, x *layers.Node) *layers.Node { return b.Graph.MaxPool(name, x, spec) }}
}

// basicConv returns a block that is one convolution.
func basicConv(name string, out int, spec engine.ConvSpec) Block {
	return Block{name, out, func(b *Builder, x *layers.Node) *layers.Node { return b.Conv(name, x, out, spec) }}
}

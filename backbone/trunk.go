package backbone

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// trunk is a convolutional network: blocks, one after another.
type trunk struct {
	blocks     []block
	after      []block // those that the trunk's end cut off
	eps        float32 // of batch normalisation
	momentum   float32
	pictures   Preprocessing
	classifier []string // patterns of names in the public files
}

// block is a named part of a trunk.
type block struct {
	name     string
	channels int // of its output
	add      func(b *builder, x *layers.Node) *layers.Node
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
	b := &builder{g: g, mode: mode, eps: t.eps, momentum: t.momentum}
	first, end := mode.part(t.Blocks())
	for _, bl := range t.blocks[first:end] {
		x = bl.add(b, x)
		if mode.Observe != nil {
			g.Keep(x)
			mode.Observe(bl.name, x)
		}
	}
	if mode.Flow != nil {
		if err := mode.Flow.missing(b.convs); err != nil {
			g.Fail("geometry flow", err)
		}
	}
	return x
}

func (t *trunk) Channels() int { return t.blocks[len(t.blocks)-1].channels }

func (t *trunk) Tokens() bool { return false }

func (t *trunk) Blocks() []string {
	var names []string
	for _, b := range t.blocks {
		names = append(names, b.name)
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
		out = append(out, b.name+".*", b.name+"_*")
	}
	return out
}

// builder adds the layers of a trunk to a graph.
type builder struct {
	g             *layers.Graph
	mode          Mode
	eps, momentum float32
	convs         []string // those that have been added, with an activation
}

// convNorm adds a convolution and its batch normalisation, whose parameters are
// named name.* and norm.*, and unless relu is empty a ReLU. residual, if not nil,
// is added before that.
func (b *builder) convNorm(name, norm, relu string, x, residual *layers.Node, out int, spec engine.ConvSpec, bias bool) *layers.Node {
	batch := b.mode.BatchStats != nil && b.mode.BatchStats(norm)
	y := b.g.ConvNormModule(layers.ConvNorm{
		Name: name, NormName: norm, ReLUName: relu, Out: out, Spec: spec, Bias: bias,
		Eps: b.eps, Momentum: b.momentum, FrozenStats: !batch,
	}, x, residual)
	if relu == "" {
		return y
	}
	return b.activated(name, x, y)
}

// conv adds a convolution, batch normalisation and ReLU with the names
// name.conv and name.bn, the BasicConv2d of torchvision.
func (b *builder) conv(name string, x *layers.Node, out int, spec engine.ConvSpec) *layers.Node {
	return b.convNorm(name+".conv", name+".bn", name+".relu", x, nil, out, spec, false)
}

// maxPool returns a block that is a pooling of so many channels.
func maxPool(name string, channels int, spec engine.PoolSpec) block {
	return block{name, channels, func(b *builder, x *layers.Node) *layers.Node { return b.g.MaxPool(name, x, spec) }}
}

// basicConv returns a block that is one convolution.
func basicConv(name string, out int, spec engine.ConvSpec) block {
	return block{name, out, func(b *builder, x *layers.Node) *layers.Node { return b.conv(name, x, out, spec) }}
}

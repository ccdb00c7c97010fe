package backbone

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// convNeXt is ConvNeXt (Liu et al. 2022) as torchvision lays it out and names it. Its last
// block pools the map and normalizes the row: what an embedding is made of.
type convNeXt struct {
	name   string
	depths [4]int // blocks of the stages
	width  int    // channels of the first stage; each other one has twice those before it
	resize int    // of torchvision's weights
}

// convNeXts are the sizes by their names on the command line.
func convNeXts() []convNeXt {
	return []convNeXt{
		{"convnexttiny", [4]int{3, 3, 9, 3}, 96, 236},
		{"convnextsmall", [4]int{3, 3, 27, 3}, 96, 230},
		{"convnextbase", [4]int{3, 3, 27, 3}, 128, 232},
	}
}

const convNeXtEps = 1e-6

func (c convNeXt) new(o options) (Backbone, error) {
	t := &trunk{eps: convNeXtEps, pictures: o.pictures(224, c.resize, "imagenet"), classifier: []string{"classifier.2.*"}, tokens: true, paths: true}
	width, total, at := c.width, 0, 0
	for _, depth := range c.depths {
		total += depth
	}
	t.blocks = []Block{{"features.0", width, func(b *Builder, x *layers.Node) *layers.Node {
		x = b.Graph.ConvModule("features.0.0", x, c.width, engine.SquareConv(4, 4, 0), true)
		return channelNorm(b.Graph, "features.0.1", x)
	}}}
	for stage, depth := range c.depths {
		if stage > 0 {
			width *= 2
			out, name := width, fmt.Sprintf("features.%d", 2*stage)
			t.blocks = append(t.blocks, Block{name, out, func(b *Builder, x *layers.Node) *layers.Node {
				x = channelNorm(b.Graph, name+".0", x)
				return b.Graph.ConvModule(name+".1", x, out, engine.SquareConv(2, 2, 0), true)
			}})
		}
		for i := range depth {
			name := fmt.Sprintf("features.%d.%d", 2*stage+1, i)
			share := float64(at) / float64(total-1)
			t.blocks = append(t.blocks, Block{name, width, func(b *Builder, x *layers.Node) *layers.Node {
				return convNeXtBlock(b.Graph, name, x, b.mode.DropPath*share)
			}})
			at++
		}
	}
	t.blocks = append(t.blocks, Block{"classifier.0", width, func(b *Builder, x *layers.Node) *layers.Node {
		return pooledNorm(b.Graph, "classifier.0", x)
	}})
	net, err := t.finish(o)
	if len(t.after) > 0 {
		t.tokens = false
	}
	return net, err
}

// convNeXtBlock adds to x a depthwise 7x7 convolution and, at each place, a normalization
// over the channels and an MLP, whose output is scaled by channel. An image skips all that
// with probability drop.
func convNeXtBlock(g *layers.Graph, name string, x *layers.Node, drop float64) *layers.Node {
	if x == nil {
		return nil
	}
	width, h, w := x.Shape()[1], x.Shape()[2], x.Shape()[3]
	each := engine.SquareConv(7, 1, 3)
	each.Depthwise = true
	y := g.Tokens(name+".places", g.ConvModule(name+".block.0", x, width, each, true), nil, nil)
	y = g.LayerNormModule(name+".block.2", y, convNeXtEps)
	y = g.GELU(name+".block.4", g.TokenLinearModule(name+".block.3", y, 4*width), engine.GELUErf)
	y = g.ScaledLinearModule(name+".block.5", name+".layer_scale", y, width)
	y = g.DropPath(name+".path", y, drop)
	return g.Add(x, g.Map(name+".map", y, h, w))
}

// channelNorm adds a layer normalization over the channels at each place of a map.
func channelNorm(g *layers.Graph, name string, x *layers.Node) *layers.Node {
	if x == nil {
		return nil
	}
	s := x.Shape()
	return g.Map(name+".map", g.LayerNormModule(name, g.Tokens(name+".places", x, nil, nil), convNeXtEps), s[2], s[3])
}

// pooledNorm adds the normalization of the mean over a map, as one token (B, 1, C).
func pooledNorm(g *layers.Graph, name string, x *layers.Node) *layers.Node {
	if x == nil {
		return nil
	}
	h, w := x.Shape()[2], x.Shape()[3]
	mean := g.AvgPool(name+".pool", x, engine.PoolSpec{KernelH: h, KernelW: w, StrideH: h, StrideW: w})
	return g.LayerNormModule(name, g.Tokens(name+".token", mean, nil, nil), convNeXtEps)
}

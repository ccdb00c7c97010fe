package backbone

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// resNet is a residual network (He et al. 2016) as torchvision lays it out and names
// it. Its blocks are of two 3x3 convolutions, or bottlenecks whose stride is in the
// 3x3 convolution ("v1.5").
type resNet struct {
	name       string
	depths     [4]int // blocks of the groups layer1 to layer4
	bottleneck bool
}

// resNets are the sizes by their names on the command line.
func resNets() []resNet {
	return []resNet{
		{"resnet18", [4]int{2, 2, 2, 2}, false},
		{"resnet34", [4]int{3, 4, 6, 3}, false},
		{"resnet50", [4]int{3, 4, 6, 3}, true},
		{"resnet101", [4]int{3, 4, 23, 3}, true},
		{"resnet152", [4]int{3, 8, 36, 3}, true},
	}
}

// new returns the network. Its pictures are those of torchvision's first weights; the
// second ones (IMAGENET1K_V2, of ResNet-50, 101 and 152) want Resize 232.
func (r resNet) new(o options) (Backbone, error) {
	t := &trunk{eps: 1e-5, momentum: .1, pictures: o.pictures(224, 256, "imagenet"), classifier: []string{"fc.*"}}
	const stem = 64
	t.blocks = []Block{
		{"conv1", stem, func(b *Builder, x *layers.Node) *layers.Node {
			return b.convNorm("conv1", "bn1", "relu", x, nil, stem, engine.SquareConv(7, 2, 3), false)
		}},
		maxPool("maxpool", stem, engine.SquarePool(3, 2, 1, false)),
	}
	in := stem
	for i, depth := range r.depths {
		out := stem << i
		if r.bottleneck {
			out *= bottleneckFactor
		}
		for j := range depth {
			res := residual{name: fmt.Sprintf("layer%d.%d", i+1, j), in: in, out: out, stride: 1}
			if i > 0 && j == 0 {
				res.stride = 2
			}
			add := res.basic
			if r.bottleneck {
				add = res.bottleneck
			}
			t.blocks = append(t.blocks, Block{res.name, out, add})
			in = out
		}
	}
	return t.finish(o)
}

// bottleneckFactor is by how much the channels of a bottleneck's output exceed those
// inside it.
const bottleneckFactor = 4

// residual is a block whose convolutions are added to a shortcut.
type residual struct {
	name            string
	in, out, stride int
}

// part adds the block's convolution n and its normalization, and before the ReLU the
// shortcut unless it is nil.
func (r residual) part(b *Builder, n int, x, shortcut *layers.Node, out int, spec engine.ConvSpec) *layers.Node {
	name := func(what string) string { return fmt.Sprintf("%s.%s%d", r.name, what, n) }
	return b.convNorm(name("conv"), name("bn"), name("relu"), x, shortcut, out, spec, false)
}

// shortcut is x, brought to the shape of the output where that differs.
func (r residual) shortcut(b *Builder, x *layers.Node) *layers.Node {
	if r.in == r.out && r.stride == 1 {
		return x
	}
	return b.convNorm(r.name+".downsample.0", r.name+".downsample.1", "", x, nil, r.out, engine.SquareConv(1, r.stride, 0), false)
}

// basic adds two 3x3 convolutions, the first of which has the stride.
func (r residual) basic(b *Builder, x *layers.Node) *layers.Node {
	y := r.part(b, 1, x, nil, r.out, engine.SquareConv(3, r.stride, 1))
	return r.part(b, 2, y, r.shortcut(b, x), r.out, engine.SquareConv(3, 1, 1))
}

// bottleneck adds 1x1, 3x3 and 1x1 convolutions.
func (r residual) bottleneck(b *Builder, x *layers.Node) *layers.Node {
	inner := r.out / bottleneckFactor
	y := r.part(b, 1, x, nil, inner, engine.SquareConv(1, 1, 0))
	y = r.part(b, 2, y, nil, inner, engine.SquareConv(3, r.stride, 1))
	return r.part(b, 3, y, r.shortcut(b, x), r.out, engine.SquareConv(1, 1, 0))
}

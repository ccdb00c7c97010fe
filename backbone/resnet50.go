package backbone

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// newResNet50 returns ResNet-50 (He et al. 2016) as torchvision lays it out and
// names it: the stride of a bottleneck is in its 3x3 convolution ("v1.5").
func newResNet50(o options) (Backbone, error) {
	t := &trunk{eps: 1e-5, momentum: .1, pictures: o.pictures(224, 256, "imagenet"), classifier: []string{"fc.*"}}
	t.blocks = []Block{
		{"conv1", 64, func(b *Builder, x *layers.Node) *layers.Node {
			return b.convNorm("conv1", "bn1", "relu", x, nil, 64, engine.SquareConv(7, 2, 3), false)
		}},
		maxPool("maxpool", 64, engine.SquarePool(3, 2, 1, false)),
	}
	for i, depth := range []int{3, 4, 6, 3} {
		width := 64 << i
		for j := range depth {
			name := fmt.Sprintf("layer%d.%d", i+1, j)
			stride := 1
			if i > 0 && j == 0 {
				stride = 2
			}
			t.blocks = append(t.blocks, Block{name, 4 * width, func(b *Builder, x *layers.Node) *layers.Node {
				return bottleneck(b, name, x, width, stride, j == 0)
			}})
		}
	}
	return t.finish(o)
}

// bottleneck adds 1x1, 3x3 and 1x1 convolutions beside a shortcut, which the
// first block of a group brings to the new shape (project).
func bottleneck(b *Builder, name string, x *layers.Node, width, stride int, project bool) *layers.Node {
	part := func(n int, x, residual *layers.Node, out int, spec engine.ConvSpec) *layers.Node {
		name := func(what string) string { return fmt.Sprintf("%s.%s%d", name, what, n) }
		return b.convNorm(name("conv"), name("bn"), name("relu"), x, residual, out, spec, false)
	}
	y := part(1, x, nil, width, engine.SquareConv(1, 1, 0))
	y = part(2, y, nil, width, engine.SquareConv(3, stride, 1))
	if project {
		x = b.convNorm(name+".downsample.0", name+".downsample.1", "", x, nil, 4*width, engine.SquareConv(1, stride, 0), false)
	}
	return part(3, y, x, 4*width, engine.SquareConv(1, 1, 0))
}

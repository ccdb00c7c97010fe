package backbone

import (
	"fmt"

	"github.com/vernier-ml/vernier/layers"
)

// newResNet50 returns ResNet-50 (He et al. 2016) as torchvision lays it out and
// names it: the stride of a bottleneck is in its 3x3 convolution ("v1.5").
func newResNet50(o options) (Backbone, error) {
	t := &trunk{eps: 1e-5, momentum: .1, pictures: o.pictures(224, 256, "imagenet"), classifier: []string{"fc.*"}}
	t.blocks = []block{
		{"conv1", 64, func(b *builder, x *layers.Node) *layers.Node {
			x = b.g.ConvModule("conv1", x, 64, layers.SquareConv(7, 2, 3), false)
			return b.g.ReLU("relu", b.norm("bn1", x))
		}},
		maxPool("maxpool", 64, layers.SquarePool(3, 2, 1, false)),
	}
	for i, depth := range []int{3, 4, 6, 3} {
		width := 64 << i
		for j := range depth {
			name := fmt.Sprintf("layer%d.%d", i+1, j)
			stride := 1
			if i > 0 && j == 0 {
				stride = 2
			}
			t.blocks = append(t.blocks, block{name, 4 * width, func(b *builder, x *layers.Node) *layers.Node {
				return bottleneck(b, name, x, width, stride, j == 0)
			}})
		}
	}
	return t.finish(o)
}

// bottleneck adds 1x1, 3x3 and 1x1 convolutions beside a shortcut, which the
// first block of a group brings to the new shape (project).
func bottleneck(b *builder, name string, x *layers.Node, width, stride int, project bool) *layers.Node {
	part := func(n int, x *layers.Node, out int, spec layers.ConvSpec) *layers.Node {
		x = b.g.ConvModule(fmt.Sprintf("%s.conv%d", name, n), x, out, spec, false)
		return b.norm(fmt.Sprintf("%s.bn%d", name, n), x)
	}
	y := b.g.ReLU(name+".relu1", part(1, x, width, layers.SquareConv(1, 1, 0)))
	y = b.g.ReLU(name+".relu2", part(2, y, width, layers.SquareConv(3, stride, 1)))
	y = part(3, y, 4*width, layers.SquareConv(1, 1, 0))
	if project {
		x = b.g.ConvModule(name+".downsample.0", x, 4*width, layers.SquareConv(1, stride, 0), false)
		x = b.norm(name+".downsample.1", x)
	}
	return b.g.ReLU(name+".relu3", b.g.Add(y, x))
}

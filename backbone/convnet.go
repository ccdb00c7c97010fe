package backbone

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// newConvNet returns a small network for images of 28 to 64 pixels, trained
// from scratch: four times a 3x3 convolution, batch normalization, ReLU and,
// but after the last, 2x2 max pooling. Parameters are blockN.conv.* and
// blockN.bn.*.
func newConvNet(o options) (Backbone, error) {
	channels := []int{32, 64, 128, 128}
	t := &trunk{eps: 1e-5, momentum: .1, pictures: o.pictures(32, 0, "half")}
	for i, out := range channels {
		name := fmt.Sprintf("block%d", i+1)
		pool := i < len(channels)-1
		t.blocks = append(t.blocks, Block{name, out, func(b *Builder, x *layers.Node) *layers.Node {
			if x = b.Conv(name, x, out, engine.SquareConv(3, 1, 1)); pool {
				x = b.Graph.MaxPool(name+".pool", x, engine.SquarePool(2, 2, 0, false))
			}
			return x
		}})
	}
	return t.finish(o)
}

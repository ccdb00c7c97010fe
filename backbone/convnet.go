package backbone

import (
	"fmt"

	"github.com/vernier-ml/vernier/layers"
)

// ConvNet is a small network for images of 28 to 64 pixels: for each entry of
// Channels a 3x3 convolution, batch normalisation, ReLU and, but after the
// last, 2x2 max pooling. It is trained from scratch.
type ConvNet struct {
	Channels []int
}

// Preprocessing maps pixels to [-1, 1].
func (ConvNet) Preprocessing() Preprocessing {
	return Preprocessing{Size: 32, Range: 255, Mean: [3]float64{.5, .5, .5}, Std: [3]float64{.5, .5, .5}}
}

// Forward adds the network; parameters are blockN.conv.* and blockN.bn.*.
func (c ConvNet) Forward(g *layers.Graph, x *layers.Node, training bool) *layers.Node {
	for i, out := range c.Channels {
		block := fmt.Sprintf("block%d", i+1)
		x = g.ConvModule(block+".conv", x, out, layers.SquareConv(3, 1, 1), false)
		x = g.BatchNormModule(block+".bn", x, 1e-5, 0.1, !training)
		x = g.ReLU(block+".relu", x)
		if i < len(c.Channels)-1 {
			x = g.MaxPool(block+".pool", x, layers.SquarePool(2, 2, 0, false))
		}
	}
	return x
}

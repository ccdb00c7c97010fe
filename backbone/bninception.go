package backbone

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// newBNInception returns BN-Inception (Ioffe and Szegedy 2015) as Cadene's
// pretrained-models.pytorch lays it out and names it. Every convolution has a
// bias and is followed by batch normalization and ReLU.
//
// Sizes whose map is odd before inception_3c or inception_4e cannot be joined
// there; multiples of 32, 224 and 227 fit.
func newBNInception(o options) (Backbone, error) {
	t := &trunk{eps: 1e-5, momentum: .1, pictures: o.pictures(224, 256, "caffe"), classifier: []string{"last_linear.*"}}
	t.blocks = []Block{
		bnConv("conv1_7x7_s2", 64, 7, 2, 3),
		maxPool("pool1_3x3_s2", 64, engine.SquarePool(3, 2, 0, true)),
		bnConv("conv2_3x3_reduce", 64, 1, 1, 0),
		bnConv("conv2_3x3", 192, 3, 1, 1),
		maxPool("pool2_3x3_s2", 192, engine.SquarePool(3, 2, 0, true)),
		bnInception{name: "inception_3a", one: 64, three: [2]int{64, 64}, double: [2]int{64, 96}, proj: 32}.block(),
		bnInception{name: "inception_3b", one: 64, three: [2]int{64, 96}, double: [2]int{64, 96}, proj: 64}.block(),
		bnInception{name: "inception_3c", in: 320, three: [2]int{128, 160}, double: [2]int{64, 96}}.block(),
		bnInception{name: "inception_4a", one: 224, three: [2]int{64, 96}, double: [2]int{96, 128}, proj: 128}.block(),
		bnInception{name: "inception_4b", one: 192, three: [2]int{96, 128}, double: [2]int{96, 128}, proj: 128}.block(),
		bnInception{name: "inception_4c", one: 160, three: [2]int{128, 160}, double: [2]int{128, 160}, proj: 128}.block(),
		bnInception{name: "inception_4d", one: 96, three: [2]int{128, 192}, double: [2]int{160, 192}, proj: 128}.block(),
		bnInception{name: "inception_4e", in: 608, three: [2]int{128, 192}, double: [2]int{192, 256}}.block(),
		bnInception{name: "inception_5a", one: 352, three: [2]int{192, 320}, double: [2]int{160, 224}, proj: 128}.block(),
		bnInception{name: "inception_5b", one: 352, three: [2]int{192, 320}, double: [2]int{192, 224}, proj: 128, maxPool: true}.block(),
	}
	return t.finish(o)
}

// bnInception is a module of the network. Without one and proj it halves the
// map: its last convolutions and its pooling have stride 2, and the in channels
// of its input pass through the pooling into the output.
type bnInception struct {
	name          string
	in            int
	one           int
	three, double [2]int // channels of the reduction and of the 3x3 convolutions
	proj          int
	maxPool       bool // before the projection, instead of averaging
}

func (m bnInception) block() Block {
	channels := m.three[1] + m.double[1] + m.one + m.proj
	if m.one == 0 {
		channels += m.in
	}
	return Block{m.name, channels, m.add}
}

func (m bnInception) add(b *Builder, x *layers.Node) *layers.Node {
	halve := m.one == 0
	stride := 1
	if halve {
		stride = 2
	}
	conv := func(part string, x *layers.Node, out, kernel, stride int) *layers.Node {
		return b.biasedConv(m.name+"_"+part, x, out, engine.SquareConv(kernel, stride, kernel/2))
	}
	var parts []*layers.Node
	if !halve {
		parts = append(parts, conv("1x1", x, m.one, 1, 1))
	}
	three := conv("3x3_reduce", x, m.three[0], 1, 1)
	parts = append(parts, conv("3x3", three, m.three[1], 3, stride))
	double := conv("double_3x3_reduce", x, m.double[0], 1, 1)
	double = conv("double_3x3_1", double, m.double[1], 3, 1)
	parts = append(parts, conv("double_3x3_2", double, m.double[1], 3, stride))
	pool := m.name + "_pool"
	switch {
	case halve:
		parts = append(parts, b.Graph.MaxPool(pool, x, engine.SquarePool(3, 2, 0, true)))
	case m.maxPool:
		parts = append(parts, conv("pool_proj", b.Graph.MaxPool(pool, x, engine.SquarePool(3, 1, 1, true)), m.proj, 1, 1))
	default:
		spec := engine.SquarePool(3, 1, 1, true)
		spec.CountPad = true
		parts = append(parts, conv("pool_proj", b.Graph.AvgPool(pool, x, spec), m.proj, 1, 1))
	}
	return b.Graph.Concat(m.name, parts...)
}

// biasedConv adds convolution, batch normalization and ReLU with the names
// name.* and name_bn.*.
func (b *Builder) biasedConv(name string, x *layers.Node, out int, spec engine.ConvSpec) *layers.Node {
	return b.convNorm(name, name+"_bn", name+"_relu", x, nil, out, spec, true)
}

func bnConv(name string, out, kernel, stride, pad int) Block {
	return Block{name, out, func(b *Builder, x *layers.Node) *layers.Node {
		return b.biasedConv(name, x, out, engine.SquareConv(kernel, stride, pad))
	}}
}

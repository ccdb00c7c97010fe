package backbone

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// efficientNetLite is a network for small devices (Tan and Le 2019, without squeezing
// and with ReLU6) as the package efficientnet-lite-pytorch lays it out and names it,
// from TensorFlow's weights: convolutions have padding "same".
type efficientNetLite struct {
	name         string
	width, depth float64 // factors of channels and of blocks, but for stem and head
	size         int     // of images
}

// efficientNetLites are the sizes by their names on the command line.
func efficientNetLites() []efficientNetLite {
	return []efficientNetLite{
		{"efficientnetlite0", 1, 1, 224},
		{"efficientnetlite1", 1, 1.1, 240},
		{"efficientnetlite2", 1.1, 1.2, 260},
	}
}

// liteStages are the stages of the smallest network; the first and the last keep their
// number of blocks.
func liteStages() []liteStage {
	return []liteStage{
		{blocks: 1, kernel: 3, stride: 1, expand: 1, out: 16, fixed: true},
		{blocks: 2, kernel: 3, stride: 2, expand: 6, out: 24},
		{blocks: 2, kernel: 5, stride: 2, expand: 6, out: 40},
		{blocks: 3, kernel: 3, stride: 2, expand: 6, out: 80},
		{blocks: 3, kernel: 5, stride: 1, expand: 6, out: 112},
		{blocks: 4, kernel: 5, stride: 2, expand: 6, out: 192},
		{blocks: 1, kernel: 3, stride: 1, expand: 6, out: 320, fixed: true},
	}
}

// liteStage is a number of blocks, of which the first has the stride.
type liteStage struct {
	blocks, kernel, stride, expand, out int
	fixed                               bool
}

const (
	liteStem = 32
	liteHead = 1280
)

func (e efficientNetLite) new(o options) (Backbone, error) {
	t := &trunk{eps: 1e-3, momentum: .01, relu6: true, pictures: o.pictures(e.size, e.size+32, "lite"), classifier: []string{"_fc.*"}}
	t.pictures.Bicubic = true
	t.blocks = []Block{{"_conv_stem", liteStem, func(b *Builder, x *layers.Node) *layers.Node {
		return b.convNorm("_conv_stem", "_bn0", "relu", x, nil, liteStem, sameConv(x, 3, 2), false)
	}}}
	in := liteStem
	for _, s := range liteStages() {
		count, out := s.blocks, e.channels(s.out)
		if !s.fixed {
			count = ceil(e.depth * float64(count))
		}
		for i := range count {
			m := mobileBlock{name: fmt.Sprintf("_blocks.%d", len(t.blocks)-1), in: in, out: out, kernel: s.kernel, stride: 1, expand: s.expand}
			if i == 0 {
				m.stride = s.stride
			}
			t.blocks = append(t.blocks, Block{m.name, out, m.add})
			in = out
		}
	}
	t.blocks = append(t.blocks, Block{"_conv_head", liteHead, func(b *Builder, x *layers.Node) *layers.Node {
		return b.convNorm("_conv_head", "_bn1", "head", x, nil, liteHead, engine.SquareConv(1, 1, 0), false)
	}})
	net, err := t.finish(o)
	if len(t.after) > 0 {
		t.classifier = append(t.classifier, "_bn1.*") // of the head
	}
	return net, err
}

// channels is a number of channels times the width: the multiple of 8 next to it, but
// not below nine tenths.
func (e efficientNetLite) channels(n int) int {
	const multiple = 8
	want := float64(n) * e.width
	c := max(multiple, int(want+multiple/2)/multiple*multiple)
	if float64(c) < .9*want {
		c += multiple
	}
	return c
}

// ceil is the smallest integer that is not below x, which is not negative.
func ceil(x float64) int {
	n := int(x)
	if float64(n) < x {
		n++
	}
	return n
}

// mobileBlock is an inverted residual block (Sandler et al. 2018).
type mobileBlock struct {
	name                            string
	in, out, kernel, stride, expand int
}

// add expands the channels, convolves each by itself, and projects to few channels,
// without an activation; where the shape stays, the input is added.
func (m mobileBlock) add(b *Builder, x *layers.Node) *layers.Node {
	point := engine.SquareConv(1, 1, 0)
	wide, y := m.in*m.expand, x
	if m.expand != 1 {
		y = b.convNorm(m.name+"._expand_conv", m.name+"._bn0", m.name+".relu0", y, nil, wide, point, false)
	}
	channels := sameConv(y, m.kernel, m.stride)
	channels.Depthwise = true
	y = b.convNorm(m.name+"._depthwise_conv", m.name+"._bn1", m.name+".relu1", y, nil, wide, channels, false)
	var shortcut *layers.Node
	if m.stride == 1 && m.in == m.out {
		shortcut = x
	}
	return b.convNorm(m.name+"._project_conv", m.name+"._bn2", "", y, shortcut, m.out, point, false)
}

// sameConv is engine.SameConv for the map x; of none, after an error, it is any.
func sameConv(x *layers.Node, kernel, stride int) engine.ConvSpec {
	if x == nil || len(x.Shape()) != 4 {
		return engine.SquareConv(kernel, stride, 0)
	}
	return engine.SameConv(kernel, stride, x.Shape()[2], x.Shape()[3])
}

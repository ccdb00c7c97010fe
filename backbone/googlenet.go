package backbone

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// newGoogLeNet returns GoogLeNet (Szegedy et al. 2015) as torchvision lays it
// out and names it: with batch normalization, and 3x3 convolutions in the
// branch where the paper has 5x5.
func newGoogLeNet(o options) (Backbone, error) {
	t := &trunk{eps: 1e-3, momentum: .1, pictures: o.pictures(224, 256, "half"), classifier: []string{"fc.*", "aux1.*", "aux2.*"}}
	halve := engine.SquarePool(3, 2, 0, true)
	t.blocks = []Block{
		basicConv("conv1", 64, engine.SquareConv(7, 2, 3)),
		maxPool("maxpool1", 64, halve),
		basicConv("conv2", 64, engine.SquareConv(1, 1, 0)),
		basicConv("conv3", 192, engine.SquareConv(3, 1, 1)),
		maxPool("maxpool2", 192, halve),
		googLeNetModule{"inception3a", 64, [2]int{96, 128}, [2]int{16, 32}, 32}.block(),
		googLeNetModule{"inception3b", 128, [2]int{128, 192}, [2]int{32, 96}, 64}.block(),
		maxPool("maxpool3", 480, halve),
		googLeNetModule{"inception4a", 192, [2]int{96, 208}, [2]int{16, 48}, 64}.block(),
		googLeNetModule{"inception4b", 160, [2]int{112, 224}, [2]int{24, 64}, 64}.block(),
		googLeNetModule{"inception4c", 128, [2]int{128, 256}, [2]int{24, 64}, 64}.block(),
		googLeNetModule{"inception4d", 112, [2]int{144, 288}, [2]int{32, 64}, 64}.block(),
		googLeNetModule{"inception4e", 256, [2]int{160, 320}, [2]int{32, 128}, 128}.block(),
		maxPool("maxpool4", 832, engine.SquarePool(2, 2, 0, true)),
		googLeNetModule{"inception5a", 256, [2]int{160, 320}, [2]int{32, 128}, 128}.block(),
		googLeNetModule{"inception5b", 384, [2]int{192, 384}, [2]int{48, 128}, 128}.block(),
	}
	return t.finish(o)
}

// googLeNetModule holds the channels of a module's branches.
type googLeNetModule struct {
	name       string
	one        int
	two, three [2]int // reduction and convolution
	proj       int
}

func (m googLeNetModule) block() Block {
	return Block{m.name, m.one + m.two[1] + m.three[1] + m.proj, m.add}
}

func (m googLeNetModule) add(b *Builder, x *layers.Node) *layers.Node {
	one, three := engine.SquareConv(1, 1, 0), engine.SquareConv(3, 1, 1)
	b1 := b.Conv(m.name+".branch1", x, m.one, one)
	b2 := b.Conv(m.name+".branch2.0", x, m.two[0], one)
	b2 = b.Conv(m.name+".branch2.1", b2, m.two[1], three)
	b3 := b.Conv(m.name+".branch3.0", x, m.three[0], one)
	b3 = b.Conv(m.name+".branch3.1", b3, m.three[1], three)
	b4 := b.Graph.MaxPool(m.name+".branch4.0", x, engine.SquarePool(3, 1, 1, true))
	b4 = b.Conv(m.name+".branch4.1", b4, m.proj, one)
	return b.Graph.Concat(m.name, b1, b2, b3, b4)
}

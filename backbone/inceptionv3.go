package backbone

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// newInceptionV3 returns Inception-V3 (Szegedy et al. 2016) as torchvision lays
// it out and names it. torchvision's average pools count padding; with
// count-pad=false they do not, which is how TensorFlow's networks pool.
func newInceptionV3(o options) (Backbone, error) {
	t := &trunk{eps: 1e-3, momentum: .1, pictures: o.pictures(299, 342, "half"), classifier: []string{"fc.*", "AuxLogits.*"}}
	v := v3{engine.SquarePool(3, 1, 1, false)}
	v.average.CountPad = !o.realOnly
	halve := engine.SquarePool(3, 2, 0, false)
	t.blocks = []Block{
		basicConv("Conv2d_1a_3x3", 32, engine.SquareConv(3, 2, 0)),
		basicConv("Conv2d_2a_3x3", 32, engine.SquareConv(3, 1, 0)),
		basicConv("Conv2d_2b_3x3", 64, engine.SquareConv(3, 1, 1)),
		maxPool("maxpool1", 64, halve),
		basicConv("Conv2d_3b_1x1", 80, engine.SquareConv(1, 1, 0)),
		basicConv("Conv2d_4a_3x3", 192, engine.SquareConv(3, 1, 0)),
		maxPool("maxpool2", 192, halve),
		v.a("Mixed_5b", 32),
		v.a("Mixed_5c", 64),
		v.a("Mixed_5d", 64),
		v.b("Mixed_6a"),
		v.c("Mixed_6b", 128),
		v.c("Mixed_6c", 160),
		v.c("Mixed_6d", 160),
		v.c("Mixed_6e", 192),
		v.d("Mixed_7a"),
		v.e("Mixed_7b"),
		v.e("Mixed_7c"),
	}
	return t.finish(o)
}

// v3 makes the modules of the network, named as in torchvision (A to E). Figures
// are those of the paper.
type v3 struct {
	average engine.PoolSpec
}

// branch adds convolutions to one branch of a module.
type branch struct {
	b    *Builder
	name string // of the module and the branch
	x    *layers.Node
}

func (r branch) conv(part string, out, kernelH, kernelW, stride int, padded bool) branch {
	spec := engine.ConvSpec{KernelH: kernelH, KernelW: kernelW, StrideH: stride, StrideW: stride}
	if padded {
		spec.PadH, spec.PadW = kernelH/2, kernelW/2
	}
	return branch{r.b, r.name, r.b.Conv(r.name+part, r.x, out, spec)}
}

// same adds a convolution that keeps the size of the map.
func (r branch) same(part string, out, kernelH, kernelW int) branch {
	return r.conv(part, out, kernelH, kernelW, 1, true)
}

// halving adds a 3x3 convolution of stride 2 without padding.
func (r branch) halving(part string, out int) branch { return r.conv(part, out, 3, 3, 2, false) }

// a is the module of figure 5: 5x5, two 3x3, pooling.
func (v v3) a(name string, proj int) Block {
	return Block{name, 64 + 64 + 96 + proj, func(b *Builder, x *layers.Node) *layers.Node {
		at := func(part string) branch { return branch{b, name + "." + part, x} }
		return b.Graph.Concat(name,
			at("branch1x1").same("", 64, 1, 1).x,
			at("branch5x5").same("_1", 48, 1, 1).same("_2", 64, 5, 5).x,
			at("branch3x3dbl").same("_1", 64, 1, 1).same("_2", 96, 3, 3).same("_3", 96, 3, 3).x,
			v.pooled(b, name, x, proj))
	}}
}

// b halves the map of 288 channels (figure 10).
func (v3) b(name string) Block {
	return Block{name, 384 + 96 + 288, func(b *Builder, x *layers.Node) *layers.Node {
		at := func(part string) branch { return branch{b, name + "." + part, x} }
		return b.Graph.Concat(name,
			at("branch3x3").halving("", 384).x,
			at("branch3x3dbl").same("_1", 64, 1, 1).same("_2", 96, 3, 3).halving("_3", 96).x,
			b.Graph.MaxPool(name+".branch_pool", x, engine.SquarePool(3, 2, 0, false)))
	}}
}

// c is the module of figure 6: 7x7 convolutions split into 1x7 and 7x1.
func (v v3) c(name string, width int) Block {
	return Block{name, 4 * 192, func(b *Builder, x *layers.Node) *layers.Node {
		at := func(part string) branch { return branch{b, name + "." + part, x} }
		return b.Graph.Concat(name,
			at("branch1x1").same("", 192, 1, 1).x,
			at("branch7x7").same("_1", width, 1, 1).same("_2", width, 1, 7).same("_3", 192, 7, 1).x,
			at("branch7x7dbl").same("_1", width, 1, 1).same("_2", width, 7, 1).same("_3", width, 1, 7).
				same("_4", width, 7, 1).same("_5", 192, 1, 7).x,
			v.pooled(b, name, x, 192))
	}}
}

// d halves the map of 768 channels.
func (v3) d(name string) Block {
	return Block{name, 320 + 192 + 768, func(b *Builder, x *layers.Node) *layers.Node {
		at := func(part string) branch { return branch{b, name + "." + part, x} }
		return b.Graph.Concat(name,
			at("branch3x3").same("_1", 192, 1, 1).halving("_2", 320).x,
			at("branch7x7x3").same("_1", 192, 1, 1).same("_2", 192, 1, 7).same("_3", 192, 7, 1).halving("_4", 192).x,
			b.Graph.MaxPool(name+".branch_pool", x, engine.SquarePool(3, 2, 0, false)))
	}}
}

// e is the module of figure 7: 1x3 and 3x1 beside each other.
func (v v3) e(name string) Block {
	return Block{name, 320 + 2*384 + 2*384 + 192, func(b *Builder, x *layers.Node) *layers.Node {
		at := func(part string) branch { return branch{b, name + "." + part, x} }
		three := at("branch3x3").same("_1", 384, 1, 1)
		double := at("branch3x3dbl").same("_1", 448, 1, 1).same("_2", 384, 3, 3)
		return b.Graph.Concat(name,
			at("branch1x1").same("", 320, 1, 1).x,
			three.same("_2a", 384, 1, 3).x, three.same("_2b", 384, 3, 1).x,
			double.same("_3a", 384, 1, 3).x, double.same("_3b", 384, 3, 1).x,
			v.pooled(b, name, x, 192))
	}}
}

// pooled is the branch that averages and projects.
func (v v3) pooled(b *Builder, name string, x *layers.Node, out int) *layers.Node {
	x = b.Graph.AvgPool(name+".pool", x, v.average)
	return branch{b, name + ".branch_pool", x}.same("", out, 1, 1).x
}

package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/layers"
)

// headPrefix begins the names of the head's parameters: embedding.weight and
// embedding.bias as in Proxy-Anchor's files, embedding.norm.* before them.
const headPrefix = "embedding."

// The batch normalization of the head has the constants of PyTorch.
const (
	headEps      = 1e-5
	headMomentum = 0.1
)

func (s Spec) pool(g *layers.Graph, x *layers.Node) *layers.Node {
	switch s.Pool {
	case PoolNone:
		return x
	case PoolAvg:
		return g.GlobalAvg("pool", x)
	case PoolMax:
		return g.GlobalMax("pool", x)
	case PoolCls:
		return g.Token("pool", x, 0)
	default:
		return g.Add(g.GlobalAvg("pool.avg", x), g.GlobalMax("pool.max", x))
	}
}

// Head names what comes after pooling: HeadLinear, HeadNone, "mlp:512,512" for a linear
// layer behind two hidden ones of 512 numbers, or "residual:512" for one behind features
// to which what a hidden layer makes of them is added. Hidden layers end in a ReLU.
type Head string

const (
	// HeadLinear is a linear layer with bias.
	HeadLinear Head = "linear"
	// HeadNone leaves the pooled features as they are.
	HeadNone Head = "none"

	headMLP      = "mlp"
	headResidual = "residual"
)

// residualWidth is that of a residual head's hidden layer where the name says none.
const residualWidth = 512

// Heads lists how the values of Spec.Head are written.
func Heads() []string {
	return []string{string(HeadLinear), string(HeadNone), headMLP + ":WIDTH,...", headResidual + "[:WIDTH]"}
}

// layout is what a Head says.
type layout struct {
	widths   []int // of the hidden layers
	residual bool
}

func (h Head) parse() (l layout, err error) {
	kind, rest, has := strings.Cut(string(h), ":")
	l.residual = kind == headResidual
	switch {
	case (h == HeadLinear || h == HeadNone) && !has:
		return l, nil
	case l.residual && !has:
		l.widths = []int{residualWidth}
		return l, nil
	case kind != headMLP && !l.residual:
		return l, fmt.Errorf("unknown head %q (there is: %s)", string(h), strings.Join(Heads(), ", "))
	}
	for _, text := range strings.Split(rest, ",") {
		w, err := strconv.Atoi(text)
		if err != nil || w < 1 || w > 65536 {
			return l, fmt.Errorf("head %q: %q is not the width of a hidden layer, from 1 to 65536; write it as in %s:512", string(h), text, kind)
		}
		l.widths = append(l.widths, w)
	}
	if l.residual && len(l.widths) != 1 {
		return l, fmt.Errorf("head %q: a residual head has one hidden layer", string(h))
	}
	return l, nil
}

// head adds what turns pooled features (B, C) into embeddings (B, h). The last layer's
// weights start as Proxy-Anchor's: He-normal over fan-out, with zero biases; those of
// hidden layers He-normal over fan-in; and a residual head as a linear one.
func (m *Model) head(g *layers.Graph, x *layers.Node, training bool) *layers.Node {
	if m.Spec.Head == HeadNone {
		return x
	}
	defer g.In(layers.Head)()
	l, err := m.Spec.Head.parse()
	if err != nil {
		g.Fail("head", err)
		return nil
	}
	if l.residual {
		const name = headPrefix + headResidual
		y := m.hidden(g, name+".fc1", x, l.widths[0], training)
		x = g.Add(x, m.linear(g, name+".fc2", y, width(x), layers.Constant(0)))
	} else {
		for i, w := range l.widths {
			x = m.hidden(g, fmt.Sprintf("%shidden%d", headPrefix, i+1), x, w, training)
		}
	}
	x = m.headNorm(g, headPrefix+"norm", x, training)
	if len(l.widths) == 0 {
		x = m.dropout(g, headPrefix+"dropout", x, training)
	}
	return g.LinearModule(strings.TrimSuffix(headPrefix, "."), x, m.Spec.Dim)
}

// hidden adds a linear layer to w numbers with its normalization, ReLU and dropout.
func (m *Model) hidden(g *layers.Graph, name string, x *layers.Node, w int, training bool) *layers.Node {
	x = m.headNorm(g, name+".norm", x, training)
	x = g.ReLU(name+".relu", m.linear(g, name, x, w, layers.HeNormal(width(x))))
	return m.dropout(g, name+".dropout", x, training)
}

// linear adds a linear layer to out numbers whose weights start so.
func (m *Model) linear(g *layers.Graph, name string, x *layers.Node, out int, start layers.Init) *layers.Node {
	w := g.Param(name+".weight", layers.Weight, start, out, width(x))
	return g.Linear(name, x, w, g.Param(name+".bias", layers.Bias, layers.Constant(0), out))
}

func (m *Model) headNorm(g *layers.Graph, name string, x *layers.Node, training bool) *layers.Node {
	switch m.Spec.HeadNorm {
	case HeadNormBatch:
		return g.BatchNormModule(name, x, headEps, headMomentum, !training || !m.ownStats(name))
	case HeadNormLayer:
		return g.LayerNormModule(name, x, headEps)
	}
	return x
}

func (m *Model) dropout(g *layers.Graph, name string, x *layers.Node, training bool) *layers.Node {
	if !training {
		return x
	}
	return g.Dropout(name, x, m.Spec.Dropout)
}

// width is the length of the rows of x (B, C); 1 where building has failed already.
func width(x *layers.Node) int {
	if x == nil {
		return 1
	}
	return x.Shape()[1]
}

// HeadWeights returns the weights (h, C) of the head's linear layer as they stand
// in a graph that Forward has been added to, or nil if there is none.
func (m *Model) HeadWeights(g *layers.Graph) *layers.Node {
	p := m.Params.Get(headPrefix + "weight")
	if p == nil {
		return nil
	}
	defer g.In(layers.Head)()
	return g.Param(p.Name, p.Role, layers.Constant(0), p.Value.Shape()...)
}

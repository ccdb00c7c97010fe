package model

import (
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

// head adds what turns pooled features (B, C) into embeddings (B, h). The
// weights start as Proxy-Anchor's: He-normal over fan-out, with zero biases.
func (m *Model) head(g *layers.Graph, x *layers.Node, training bool) *layers.Node {
	if m.Spec.Head == HeadNone {
		return x
	}
	defer g.In(layers.Head)()
	norm := headPrefix + "norm"
	switch m.Spec.HeadNorm {
	case HeadNormBatch:
		x = g.BatchNormModule(norm, x, headEps, headMomentum, !training || !m.ownStats(norm))
	case HeadNormLayer:
		x = g.LayerNormModule(norm, x, headEps)
	}
	return g.LinearModule(strings.TrimSuffix(headPrefix, "."), x, m.Spec.Dim)
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

package train

import (
	"fmt"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/model"
)

// network is the graph of one training step.
type network struct {
	g         *layers.Graph
	images    *layers.Node // (B, 3, S, S)
	embedding *layers.Node // (B, h)
	loss      *losses.Node
}

// objective is what a network is trained for.
type objective struct {
	loss    losses.Loss
	terms   []losses.Term
	memory  losses.MemoryOptions
	classes int
	seed    uint64
}

func (c Config) objective(classes int) (o objective, err error) {
	o = objective{memory: losses.MemoryOptions{Size: c.Loss.Memory, Start: c.Loss.MemoryStart}, classes: classes, seed: c.Seed}
	if o.loss, err = c.newLoss(classes); err != nil {
		return o, err
	}
	o.terms, err = c.newTerms(classes)
	return o, err
}

// buildNetwork compiles model, metric, loss and their gradients for a batch
// size. The loss's own parameters join the model's.
func buildNetwork(m *model.Model, o objective, batch int) (*network, error) {
	g := layers.NewGraph(m.Params.Engine(), m.Params)
	size := m.Spec.Input.Size
	n := &network{g: g, images: g.Input("images", batch, 3, size, size)}
	raw := m.Raw(g, n.images, true)
	n.embedding = m.Normalize(g, raw, true)
	var err error
	n.loss, err = losses.Op(g, o.loss, n.embedding, losses.OpOptions{
		Metric: m.Spec.Metric, Classes: o.classes, Seed: o.seed,
		Normalize: func(rows *layers.Node) *layers.Node { return m.NormalizeProxies(g, rows) },
		Memory:    o.memory, Terms: o.terms, Raw: raw, Weights: m.HeadWeights(g),
	})
	if err != nil {
		return nil, err
	}
	g.Keep(n.embedding)
	g.Backward(n.loss.Loss, nil)
	if err := g.Compile(); err != nil {
		return nil, fmt.Errorf("training graph: %w", err)
	}
	return n, nil
}

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

// buildNetwork compiles model, metric, loss and their gradients for a batch
// size. The loss's own parameters join the model's.
func buildNetwork(m *model.Model, loss losses.Loss, classes, batch int, seed uint64) (*network, error) {
	g := layers.NewGraph(m.Params.Engine(), m.Params)
	size := m.Spec.Input.Size
	n := &network{g: g, images: g.Input("images", batch, 3, size, size)}
	n.embedding = m.Forward(g, n.images, true)
	var err error
	n.loss, err = losses.Op(g, loss, n.embedding, losses.OpOptions{
		Metric: m.Spec.Metric, Classes: classes, Seed: seed,
		Normalize: func(rows *layers.Node) *layers.Node { return m.NormalizeProxies(g, rows) },
	})
	if err != nil {
		return nil, err
	}
	g.Backward(n.loss.Loss, nil)
	if err := g.Compile(); err != nil {
		return nil, fmt.Errorf("training graph: %w", err)
	}
	return n, nil
}

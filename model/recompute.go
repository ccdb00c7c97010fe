package model

import (
	"fmt"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
)

// Recompute makes training keep the output of every together-th block of the backbone for
// the reverse pass, which computes the others again: less memory for more time, at the same
// bits (layers.Graph.Recompute). 0 keeps all. Graphs built before do not notice.
func (m *Model) Recompute(together int) error {
	if together != 0 && !backbone.Recomputes(m.net) {
		return fmt.Errorf("backbone %s is not made of blocks that could be computed again", m.Spec.Backbone)
	}
	m.again = max(together, 0)
	return nil
}

// RecomputeLeast is Recompute with the number of blocks by which a step on the given number
// of images takes least memory, as planned. It returns that number, which is 0 where keeping
// all takes no more, and the bytes of activations and gradients with it and without.
func (m *Model) RecomputeLeast(images int) (together int, bytes, without int64, err error) {
	for n := 0; n <= maxTogether && n < len(m.net.Blocks()); n++ {
		if err := m.Recompute(n); err != nil {
			return 0, 0, 0, err
		}
		b, err := m.stepBytes(images)
		if err != nil {
			return 0, 0, 0, err
		}
		if n == 0 {
			without, bytes = b, b
		} else if b < bytes {
			together, bytes = n, b
		}
	}
	return together, bytes, without, m.Recompute(together)
}

// maxTogether is the largest number of blocks that RecomputeLeast tries: of n equal blocks
// about the root of n take least, and networks have at most 50.
const maxTogether = 8

// stepBytes is what activations and gradients of a step on images take.
func (m *Model) stepBytes(images int) (int64, error) {
	g := layers.NewGraph(m.Params.Engine(), m.Params)
	out := m.Raw(g, g.Input("images", m.InputShape(images)...), true)
	if out == nil {
		return 0, fmt.Errorf("model: %s at %d pixels: %w", m.Spec.Backbone, m.Spec.Input.Size, g.Err())
	}
	g.Backward(out, g.Input("gradient of the embeddings", out.Shape()...))
	if err := g.Err(); err != nil {
		return 0, fmt.Errorf("model: %w", err)
	}
	return g.Bytes(), nil
}

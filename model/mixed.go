package model

import (
	"fmt"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
)

// MixedEmbedder turns whole batches into embeddings as a network with geometry
// flow does in training, but with running statistics: what an image gives
// depends on the images beside it. Embedder leaves the flow out.
type MixedEmbedder struct {
	model *Model
	flow  *backbone.Flow
	sizes map[int]*mixedGraph // by number of images
}

// mixedGraph is the network for batches of one size.
type mixedGraph struct {
	g    *layers.Graph
	x, e *layers.Node
}

// NewMixedEmbedder returns an embedder of batches that are mixed by flow, which
// backbone.ParseFlow takes. Empty, it is the model's own; a model without is then
// an error.
func (m *Model) NewMixedEmbedder(flow string) (*MixedEmbedder, error) {
	e := &MixedEmbedder{model: m, flow: m.flow, sizes: map[int]*mixedGraph{}}
	if flow != "" {
		var err error
		if e.flow, err = backbone.ParseFlow(flow); err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
	}
	if e.flow == nil || m.net.Tokens() {
		return nil, fmt.Errorf("model: the network has no geometry flow that could mix a batch")
	}
	return e, nil
}

// Flow is what batches are mixed by, in full.
func (e *MixedEmbedder) Flow() string { return e.flow.String() }

// Embed appends the embeddings of one batch, n x 3 x size x size preprocessed
// numbers, to dst, row after row. Each n that comes is compiled once.
func (e *MixedEmbedder) Embed(dst, images []float32) ([]float32, error) {
	side := e.model.Spec.Input.Size
	one := 3 * side * side
	if len(images) == 0 || len(images)%one != 0 {
		return nil, fmt.Errorf("model: %d numbers are not a batch of images of %d", len(images), one)
	}
	n := len(images) / one
	b, err := e.graph(n)
	if err != nil {
		return nil, fmt.Errorf("model: a batch of %d images: %w", n, err)
	}
	eng := b.g.Engine()
	if err := eng.Write(b.g.Value(b.x), images); err != nil {
		return nil, err
	}
	if err := b.g.Run(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	out := make([]float32, n*e.model.Spec.Dim)
	if err := eng.Read(out, b.g.Value(b.e)); err != nil {
		return nil, err
	}
	return append(dst, out...), nil
}

func (e *MixedEmbedder) graph(n int) (*mixedGraph, error) {
	if b := e.sizes[n]; b != nil {
		return b, nil
	}
	m := e.model
	b := &mixedGraph{g: layers.NewGraph(m.Params.Engine(), m.Params)}
	b.x = b.g.Input("images", n, 3, m.Spec.Input.Size, m.Spec.Input.Size)
	b.e = m.Normalize(b.g, m.raw(b.g, b.x, false, e.flow), false)
	if err := b.g.Compile(); err != nil {
		return nil, err
	}
	e.sizes[n] = b
	return b, nil
}

// Close releases the graphs.
func (e *MixedEmbedder) Close() error {
	for _, b := range e.sizes {
		if err := b.g.Close(); err != nil {
			return err
		}
	}
	return nil
}

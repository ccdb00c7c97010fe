package model

import (
	"fmt"

	"github.com/vernier-ml/vernier/layers"
)

// activationBudget is how many bytes of activations an Embedder may hold.
const activationBudget = 128 << 20

// Embedder turns images into embeddings, in evaluation mode: what an image
// gives does not depend on the images beside it.
type Embedder struct {
	batch, row  int
	g           *layers.Graph
	x, e        *layers.Node
	pixels, out []float32
}

// NewEmbedder compiles the network for batches of at most the given size; of
// fewer images where a large network would need more than 128 MiB. It reads
// the model's parameters at each call, so it can be kept while they are trained.
func (m *Model) NewEmbedder(batch int) (*Embedder, error) { return newEmbedder(batch, m.evaluation) }

// EmbedderBytes is the memory in which NewEmbedder computes.
func (m *Model) EmbedderBytes(batch int) int64 {
	g, _, _, err := m.evaluation(1)
	if err != nil {
		return 0
	}
	return g.Bytes() * int64(min(batch, max(1, int(activationBudget/max(1, g.Bytes())))))
}

// newEmbedder compiles what build makes for n images.
func newEmbedder(batch int, build func(n int) (g *layers.Graph, in, out *layers.Node, err error)) (*Embedder, error) {
	if batch < 1 {
		return nil, fmt.Errorf("model: a batch of %d images", batch)
	}
	if batch > 1 {
		if g, _, _, err := build(1); err == nil && g.Bytes() > 0 {
			batch = max(1, min(batch, int(activationBudget/g.Bytes())))
		}
	}
	g, x, e, err := build(batch)
	if err != nil {
		return nil, err
	}
	if err := g.Compile(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	size := e.Shape().TotalSize()
	return &Embedder{batch: batch, row: size / batch, g: g, x: x, e: e,
		pixels: make([]float32, x.Shape().TotalSize()), out: make([]float32, size)}, nil
}

// evaluation builds the network for a batch of so many images.
func (m *Model) evaluation(batch int) (g *layers.Graph, images, embeddings *layers.Node, err error) {
	g = layers.NewGraph(m.Params.Engine(), m.Params)
	images, embeddings, err = m.evaluate(g, batch)
	return g, images, embeddings, err
}

// evaluate adds the network in evaluation to g, with an input of its own.
func (m *Model) evaluate(g *layers.Graph, batch int) (images, embeddings *layers.Node, err error) {
	images = g.Input("images", m.InputShape(batch)...)
	embeddings = m.Forward(g, images, false)
	if err := g.Err(); err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	return images, embeddings, nil
}

// Embed appends the embeddings of n images to dst, row after row, and returns
// it. images holds n preprocessed images, of the model's InputShape; n is
// arbitrary.
func (e *Embedder) Embed(dst, images []float32) ([]float32, error) {
	one := len(e.pixels) / e.batch
	if len(images)%one != 0 {
		return nil, fmt.Errorf("model: %d numbers are not a whole number of images of %d", len(images), one)
	}
	eng := e.g.Engine()
	for len(images) > 0 {
		n := min(len(images)/one, e.batch)
		copy(e.pixels, images[:n*one])
		clear(e.pixels[n*one:])
		images = images[n*one:]
		if err := eng.Write(e.g.Value(e.x), e.pixels); err != nil {
			return nil, err
		}
		if err := e.g.Run(); err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
		if err := eng.Read(e.out, e.g.Value(e.e)); err != nil {
			return nil, err
		}
		dst = append(dst, e.out[:n*e.row]...)
	}
	return dst, nil
}

// Close releases the graph.
func (e *Embedder) Close() error { return e.g.Close() }

package model

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// activationBudget is how many bytes of activations an Embedder may hold.
const activationBudget = 128 << 20

// Embedder turns images into embeddings, in evaluation mode: what an image
// gives does not depend on the images beside it.
type Embedder struct {
	batch, row   int
	g            *layers.Graph
	x, e         *layers.Node
	numbers, out []float32

	feed   engine.Feed // nil before TakePixels
	pixels []uint8
}

// NewEmbedder compiles the network for batches of at most the given size; of
// fewer images where a large network would need more than 128 MiB. It reads
// the model's parameters at each call, so it can be kept while they are trained.
func (m *Model) NewEmbedder(batch int) (*Embedder, error) { return newEmbedder(batch, m.evaluation) }

// EmbedderBatch is how many of a batch of images NewEmbedder's network takes at once: as
// many as leave its activations within 128 MiB, and at least 1.
func (m *Model) EmbedderBatch(batch int) int { return affordable(batch, m.evaluation) }

// affordable is EmbedderBatch for what build makes. What cannot be built is reported
// when it is built for use.
func affordable(batch int, build func(n int) (g *layers.Graph, in, out *layers.Node, err error)) int {
	if batch <= 1 {
		return batch
	}
	g, _, _, err := build(1)
	if err != nil || g.Bytes() <= 0 {
		return batch
	}
	return max(1, min(batch, int(activationBudget/g.Bytes())))
}

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
	batch = affordable(batch, build)
	g, x, e, err := build(batch)
	if err != nil {
		return nil, err
	}
	if err := g.Compile(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	size := e.Shape().TotalSize()
	return &Embedder{batch: batch, row: size / batch, g: g, x: x, e: e,
		numbers: make([]float32, x.Shape().TotalSize()), out: make([]float32, size)}, nil
}

// Batch is how many images the network takes at once.
func (e *Embedder) Batch() int { return e.batch }

// evaluation builds the network for batch images at once.
func (m *Model) evaluation(batch int) (g *layers.Graph, images, embeddings *layers.Node, err error) {
	g = layers.NewGraph(m.Params.Engine(), m.Params)
	images, embeddings, err = m.evaluate(g, batch)
	return g, images, embeddings, err
}

// evaluate adds the network in evaluation to g, with an input of its own.
func (m *Model) evaluate(g *layers.Graph, batch int) (images, embeddings *layers.Node, err error) {
	views := m.views()
	images = g.Input("images", m.InputShape(batch*views)...)
	embeddings = m.Normalize(g, meanOfViews(g, m.Raw(g, images, false), views), false)
	if err := g.Err(); err != nil {
		return nil, nil, fmt.Errorf("model: %w", err)
	}
	return images, embeddings, nil
}

// SetCrops makes networks that are built from now on look at n crops of each picture in
// evaluation: 1, 5 or 10; 0 leaves the number as it is. It is part of the specification:
// embeddings of other numbers are those of another model.
func (m *Model) SetCrops(n int) error {
	if n == 0 {
		return nil
	}
	spec := m.Spec
	if spec.Input = spec.Input.Single(); n > 1 {
		spec.Input.Crops = n
	}
	if m.Width() > 0 && n > 1 {
		return fmt.Errorf("model: it takes rows of numbers, of which there are no %d crops", n)
	}
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	m.Spec = spec
	return nil
}

// views is the number of crops of each image that evaluation looks at.
func (m *Model) views() int {
	if m.entry != "" || m.Width() > 0 {
		return 1
	}
	return m.Spec.Input.Views()
}

// meanOfViews adds the means (n, h) of every views rows of x (n views, h): of what the head
// gives, before it is normalized, as evaluation of faces and in re-identification is done.
func meanOfViews(g *layers.Graph, x *layers.Node, views int) *layers.Node {
	if views == 1 || x == nil {
		return x
	}
	n, h := x.Shape()[0]/views, x.Shape()[1]
	rows := g.Reshape("crops", x, n, views, h)
	return g.GlobalAvg("mean of crops", g.Map("crops.map", rows, views, 1))
}

// Embed appends the embeddings of n images to dst, row after row, and returns
// it. images holds n preprocessed images, of the model's InputShape, or of Spec.Input's Crops
// one after the other; n is arbitrary.
func (e *Embedder) Embed(dst, images []float32) ([]float32, error) {
	return e.each(dst, len(images), func(from int) error {
		clear(e.numbers[copy(e.numbers, images[from:]):])
		return e.g.Engine().Write(e.g.Value(e.x), e.numbers)
	}, func(int) error { return nil })
}

// TakePixels readies the embedder for EmbedPixels: it says which numbers stand for
// bytes. The engine has to take bytes (layers.Feeder).
func (e *Embedder) TakePixels(numbers engine.ByteNumbers) (err error) {
	if e.feed != nil {
		return nil
	}
	f, ok := e.g.Engine().(engine.Feeder)
	if !ok {
		return fmt.Errorf("model: %s takes images as numbers, not as bytes", e.g.Engine().Name())
	}
	if e.feed, err = f.Feed(e.g.Value(e.x), numbers); err != nil {
		return fmt.Errorf("model: bytes of images: %w", err)
	}
	e.pixels = make([]uint8, len(e.numbers))
	return nil
}

// EmbedPixels is Embed for images of 8-bit pixels, (n, H, W, 3), after TakePixels.
// They travel to the engine while it works on those before.
func (e *Embedder) EmbedPixels(dst []float32, images []uint8) ([]float32, error) {
	if e.feed == nil {
		return nil, errors.New("model: the embedder does not know what bytes stand for (TakePixels)")
	}
	send := func(from int) error {
		if from >= len(images) {
			return nil
		}
		clear(e.pixels[copy(e.pixels, images[from:]):])
		return e.feed.Send(e.pixels)
	}
	if err := send(0); err != nil {
		return nil, err
	}
	return e.each(dst, len(images), func(int) error { return e.feed.Arrive() }, send)
}

// each embeds images of size numbers or bytes in all. give brings those from an
// index on to the graph; meanwhile is called with the index of the next ones, when
// the engine has begun to embed.
func (e *Embedder) each(dst []float32, size int, give, meanwhile func(from int) error) ([]float32, error) {
	one := len(e.numbers) / e.batch
	if size%one != 0 {
		return nil, fmt.Errorf("model: %d numbers are not a whole number of images of %d", size, one)
	}
	for from := 0; from < size; from += len(e.numbers) {
		if err := give(from); err != nil {
			return nil, err
		}
		if err := e.g.Run(); err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
		if err := meanwhile(from + len(e.numbers)); err != nil {
			return nil, err
		}
		if err := e.g.Engine().Read(e.out, e.g.Value(e.e)); err != nil {
			return nil, err
		}
		n := min((size-from)/one, e.batch)
		dst = append(dst, e.out[:n*e.row]...)
	}
	return dst, nil
}

// Close releases the graph.
func (e *Embedder) Close() error {
	var err error
	if e.feed != nil {
		err = e.feed.Close()
		e.feed = nil
	}
	return errors.Join(err, e.g.Close())
}

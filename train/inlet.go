package train

import (
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// inlet is how the images of batches come to the input of a graph: as numbers, or on
// an engine that takes them (layers.Feeder) as bytes, which may travel ahead of the
// step that reads them.
type inlet struct {
	eng  engine.Engine
	g    *layers.Graph
	seed uint64        // of dropout
	to   engine.Tensor // (n, C, H, W)
	feed engine.Feed   // nil for numbers
	// sent is the batch of which images are on their way, those from a number on;
	// nil for none.
	sent *data.Batch
	from int

	first    int             // the image of the whole batch that the first of a batch's numbers are of
	observer engine.Observer // may be nil

	numbers []float32 // room for the last part of a batch
	pixels  []uint8
}

func newInlet(g *layers.Graph, images *layers.Node, seed uint64) *inlet {
	return &inlet{eng: g.Engine(), g: g, seed: seed, to: g.Value(images)}
}

// takePixels makes the inlet take bytes.
func (in *inlet) takePixels(f engine.Feeder, norm transform.Normalization) (err error) {
	if in.feed, err = f.Feed(in.to, engine.NewByteNumbers(norm.Bytes())); err != nil {
		return fmt.Errorf("bytes of images: %w", err)
	}
	return nil
}

// send starts the way of the images of a batch from a number on, which give will be
// asked for later, if the inlet takes bytes.
func (in *inlet) send(b *data.Batch, from int) error {
	if in.feed == nil {
		return nil
	}
	in.sent = nil
	err := engine.Observe(in.observer, &uploading, func() error {
		return in.feed.Send(padded(&in.pixels, b.Pixels, in.index(from), in.to.Size()))
	})
	if err != nil {
		return err
	}
	in.sent, in.from = b, from
	return nil
}

// give makes the input hold the images of a batch from a number on, as many as it
// has room for, for the work that is asked for from now on. After the last there are
// zeros, or black ones.
func (in *inlet) give(b *data.Batch, from int) error {
	if err := in.draw(in.g, b, from); err != nil {
		return err
	}
	if in.feed == nil {
		return engine.Observe(in.observer, &uploading, func() error {
			return in.eng.Write(in.to, padded(&in.numbers, b.Images, in.index(from), in.to.Size()))
		})
	}
	if in.sent != b || in.from != from {
		if err := in.send(b, from); err != nil {
			return err
		}
	}
	in.sent = nil
	return engine.Observe(in.observer, &uploading, in.feed.Arrive)
}

// draw draws the dropouts of a graph for the images of a batch from a number on. The place of
// the batch in the run stands for the step: a run that continues from a checkpoint draws what
// one that never stopped does.
func (in *inlet) draw(g *layers.Graph, b *data.Batch, from int) error {
	return g.DrawDropout(in.seed, uint64(b.Next.Epoch)<<32|uint64(b.Next.Batch), from)
}

// index is where an image begins among the numbers or bytes of its batch.
func (in *inlet) index(image int) int { return (image - in.first) * (in.to.Size() / in.to.Shape()[0]) }

// padded returns n elements of x from an index on. Where there are fewer they are
// copied to room, with zeros after them.
func padded[T any](room *[]T, x []T, from, n int) []T {
	if rest := x[min(from, len(x)):]; len(rest) < n {
		if *room == nil {
			*room = make([]T, n)
		}
		clear((*room)[copy(*room, rest):])
		return *room
	}
	return x[from : from+n]
}

// bytes is the memory of the host in which two batches wait for their way.
func (in *inlet) bytes() int64 {
	if in.feed == nil {
		return 0
	}
	return 2 * int64(in.to.Size())
}

func (in *inlet) close() error {
	if in.feed == nil {
		return nil
	}
	err := in.feed.Close()
	in.feed, in.sent = nil, nil
	return err
}

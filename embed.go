package vernier

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vernier-ml/vernier/model"
)

// maxBatch is the largest number of images that the network takes at once.
const maxBatch = 64

// Embed returns the embedding of every image, Dim numbers long, in their order. Images
// are decoded in parallel and go through the network in batches; large numbers of them
// take no more memory than one batch. A row depends on its image alone, but for its
// last bits, which the number of images of the call may change: rows are those of
// vernier embed with the same images, to the bit.
//
// If images cannot be decoded, their rows are nil, all others are there, and the
// error has an *ImageError for each. After any other error there are no rows.
func (m *Model) Embed(ctx context.Context, images ...Image) ([][]float32, error) {
	size := m.networks.size(len(images))
	rows := make([][]float32, 0, len(images))
	var faults []error
	for from := 0; from < len(images); from += size {
		batch := images[from:min(from+size, len(images))]
		numbers, bad := m.prepare(ctx, batch)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		x, err := m.compute(ctx, size, numbers)
		if err != nil {
			return nil, err
		}
		for i, img := range batch {
			row := x[i*m.Dim() : (i+1)*m.Dim() : (i+1)*m.Dim()]
			if bad[i] == nil {
				bad[i] = checkFinite(row)
			}
			if bad[i] != nil {
				row = nil
				faults = append(faults, &ImageError{from + i, img.name, bad[i]})
			}
			rows = append(rows, row)
		}
	}
	if len(faults) > 0 {
		return rows, fmt.Errorf("vernier: %w", errors.Join(faults...))
	}
	return rows, nil
}

// checkFinite refuses an embedding that nothing can be compared with.
func checkFinite(row []float32) error {
	for _, v := range row {
		if v-v != 0 { // of NaN and infinities only
			return fmt.Errorf("its embedding holds %v: the network's numbers overflow on this image", v)
		}
	}
	return nil
}

// prepare decodes images side by side. It returns their numbers, one image after the
// other, and for each image why it has none, or nil.
func (m *Model) prepare(ctx context.Context, images []Image) (numbers []float32, bad []error) {
	one := m.input
	numbers, bad = make([]float32, one*len(images)), make([]error, len(images))
	var all sync.WaitGroup
	for i, img := range images {
		if err := m.workers.Acquire(ctx, 1); err != nil {
			break // the context has ended
		}
		all.Go(func() {
			defer m.workers.Release(1)
			bad[i] = m.numbers(ctx, numbers[i*one:(i+1)*one], img)
		})
	}
	all.Wait()
	return numbers, bad
}

// compute embeds prepared images by the network for batches of a size.
func (m *Model) compute(ctx context.Context, size int, numbers []float32) ([]float32, error) {
	if err := m.lock(ctx); err != nil {
		return nil, err
	}
	defer m.unlock()
	e, err := m.networks.of(size)
	if err != nil {
		return nil, fmt.Errorf("vernier: %s: %w", m.name, err)
	}
	rows, err := e.Embed(nil, numbers)
	if err != nil {
		return nil, fmt.Errorf("vernier: %s: %w", m.name, err)
	}
	return rows, nil
}

// networks are a model's networks for batches of some sizes, the latest used first.
type networks struct {
	model *model.Model
	limit int // of images in a batch
	kept  []network
}

type network struct {
	*model.Embedder
	size int
}

// maxNetworks is how many networks are kept: of an image, a pair and many images.
const maxNetworks = 3

// size is how many of n images go through the network at once.
func (n *networks) size(images int) int { return min(max(images, 1), n.limit) }

// of returns the network for batches of a size.
func (n *networks) of(size int) (*model.Embedder, error) {
	for i, k := range n.kept {
		if k.size == size {
			copy(n.kept[1:i+1], n.kept[:i])
			n.kept[0] = k
			return k.Embedder, nil
		}
	}
	if len(n.kept) == maxNetworks {
		last := n.kept[maxNetworks-1]
		n.kept = n.kept[:maxNetworks-1]
		if err := last.Close(); err != nil {
			return nil, err
		}
	}
	e, err := n.model.NewEmbedder(size)
	if err != nil {
		return nil, err
	}
	n.kept = append([]network{{e, size}}, n.kept...)
	return e, nil
}

func (n *networks) close() error {
	var errs []error
	for _, k := range n.kept {
		errs = append(errs, k.Close())
	}
	n.kept = nil
	return errors.Join(errs...)
}

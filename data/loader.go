package data

import (
	"context"
	"errors"
	"fmt"
	"image"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
)

// DefaultCacheBytes is how much decoded image data a Loader keeps by default.
const DefaultCacheBytes = 256 << 20

// LoaderOptions tune a Loader. The zero value is fine. None of them changes what
// is in a batch, but Seed and MaxBad.
type LoaderOptions struct {
	Seed     uint64 // of the augmentation
	Workers  int    // goroutines that decode; 0 means one a CPU
	Prefetch int    // batches prepared ahead; 0 means 2
	// MaxBad is the number of images that may turn out unreadable before the
	// loader gives up. In training a bad image is replaced by the next of its
	// class, in All it is left out.
	MaxBad int
	// CacheBytes bounds the decoded images kept in memory; 0 means
	// DefaultCacheBytes, negative none.
	CacheBytes int64
	// Pixels makes batches of Pixels instead of Images, for an engine that makes the
	// numbers of them itself. Every step of a Pipeline works on 8-bit pixels, so
	// that none of it is lost; features have no pixels.
	Pixels bool
	// Share says which of the n items of a batch of Epoch are loaded, those from first to
	// end, less one, where other processes load the others; nil for all. An item is
	// varied as it is where all are loaded.
	Share func(n int) (first, end int)
}

// Loader turns lists of items into batches.
type Loader struct {
	set      *Set
	shape    [3]int // of an item's numbers
	pipeline *transform.Pipeline
	features *featureRows // in place of pipeline, see NewFeatureLoader
	rows     rowStore     // likewise, of a set of rows
	o        LoaderOptions
	memo     *memo
	byClass  [][]int

	mu     sync.Mutex
	bad    map[int]error
	free   [][]float32
	unused [][]uint8
}

// NewLoader loads images of set through pipeline. Of a set of rows of numbers (Set.Width)
// it loads these as they are: the pipeline is nil, and Pixels counts for nothing.
func NewLoader(set *Set, pipeline *transform.Pipeline, o LoaderOptions) (*Loader, error) {
	if width := set.Width(); width > 0 || pipeline == nil {
		if width == 0 {
			return nil, fmt.Errorf("%s holds images, and there is no pipeline for them: want one that NewPipeline makes (only sets of rows of features go without)", set.title())
		}
		if pipeline != nil {
			return nil, fmt.Errorf("%s holds rows of %d numbers, where images are wanted", set.title(), width)
		}
		o.Pixels = false
		l, err := newLoader(set, [3]int{width, 1, 1}, o)
		if err != nil {
			return nil, err
		}
		l.rows = set.store.(rowStore)
		return l, nil
	}
	if err := pipeline.Check(); err != nil {
		return nil, fmt.Errorf("loader: %w", err)
	}
	l, err := newLoader(set, [3]int{3, pipeline.H, pipeline.W}, o)
	if err != nil {
		return nil, err
	}
	l.pipeline, l.memo = pipeline, newMemo(len(set.Items), l.o.CacheBytes)
	return l, nil
}

func newLoader(set *Set, shape [3]int, o LoaderOptions) (*Loader, error) {
	if err := set.check(); err != nil {
		return nil, fmt.Errorf("loader: %w", err)
	}
	if len(set.Items) == 0 {
		return nil, fmt.Errorf("%s: no images", set.title())
	}
	if o.Workers < 0 || o.Prefetch < 0 || o.MaxBad < 0 {
		return nil, fmt.Errorf("loader: workers %d, prefetch %d, bad images %d; they must not be negative", o.Workers, o.Prefetch, o.MaxBad)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Prefetch == 0 {
		o.Prefetch = 2
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	return &Loader{set: set, shape: shape, o: o, byClass: set.ByClass(), bad: map[int]error{}}, nil
}

// size is the length of an item's numbers.
func (l *Loader) size() int { return l.shape[0] * l.shape[1] * l.shape[2] }

// Bytes is Normalization.Bytes of the pipeline; ok is false where batches hold
// numbers.
func (l *Loader) Bytes() (table [3][256]float32, reverse, ok bool) {
	if !l.o.Pixels {
		return table, false, false
	}
	table, reverse = l.pipeline.Norm.Bytes()
	return table, reverse, true
}

// Epoch yields the batches of an epoch from number from on, in order. Workers run
// while the loop does and end with it. After an error nothing follows; the error
// of an image is an *ImageError.
func (l *Loader) Epoch(ctx context.Context, s Sampler, epoch, from int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		plan, err := l.plan(s, epoch)
		if err != nil {
			yield(nil, err)
			return
		}
		if from < 0 || from > len(plan) {
			yield(nil, fmt.Errorf("loader: start at batch %d of an epoch of %d", from, len(plan)))
			return
		}
		stream{l, epoch, false}.run(ctx, plan, from, yield)
	}
}

// plan lists the items of an epoch's batches, which a sampler of a program's own may
// have wrong.
func (l *Loader) plan(s Sampler, epoch int) ([][]int, error) {
	if s == nil {
		return nil, errors.New("loader: the sampler is nil")
	}
	plan := s.Epoch(epoch)
	for b, items := range plan {
		for _, i := range items {
			if i < 0 || i >= len(l.set.Items) {
				return nil, fmt.Errorf("loader: the sampler put item %d into batch %d of epoch %d; items run from 0 to %d", i, b, epoch, len(l.set.Items)-1)
			}
		}
	}
	return plan, nil
}

// All yields every item once, in order, in batches of the given size; the last
// may be smaller. Unreadable images are left out, up to MaxBad.
func (l *Loader) All(ctx context.Context, size int) iter.Seq2[*Batch, error] {
	return l.Range(ctx, 0, len(l.set.Items), size)
}

// Range is All for the items from first to end, less one.
func (l *Loader) Range(ctx context.Context, first, end, size int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		if size < 1 || first < 0 || first > end || end > len(l.set.Items) {
			yield(nil, fmt.Errorf("loader: items %d to %d of %d in batches of %d", first, end, len(l.set.Items), size))
			return
		}
		items := make([]int, end-first)
		for i := range items {
			items[i] = first + i
		}
		stream{l, 0, true}.run(ctx, chunks(items, size), 0, yield)
	}
}

// BadImage is an image that could not be used, and why.
type BadImage struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// BadItems lists the unreadable items met so far, in order.
func (l *Loader) BadItems() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.bad))
}

// Bad lists the unreadable images met so far, in the order of the set.
func (l *Loader) Bad() []BadImage {
	items := l.BadItems()
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]BadImage, len(items))
	for k, i := range items {
		list[k] = BadImage{l.set.Where(i), reason(l.bad[i])}
	}
	return list
}

// reason is an image's error without its path.
func reason(err error) string {
	if e := (*ImageError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// NoteBad notes images that could not be read elsewhere, by their number in the set, and
// why. It is an error if there are now more than MaxBad.
func (l *Loader) NoteBad(reasons map[int]string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for item, reason := range reasons {
		if l.bad[item] == nil {
			l.bad[item] = errors.New(reason)
		}
	}
	if n := len(l.bad); n > l.o.MaxBad {
		return fmt.Errorf("%d unreadable images, at most %d are skipped", n, l.o.MaxBad)
	}
	return nil
}

// excuse notes a bad image and returns an error once there are too many. What is
// not the image's fault is never excused.
func (l *Loader) excuse(item int, err error) error {
	if image := (*ImageError)(nil); !errors.As(err, &image) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad[item] = err
	switch n := len(l.bad); {
	case l.o.MaxBad == 0:
		return err
	case n > l.o.MaxBad:
		return fmt.Errorf("%d unreadable images, at most %d are skipped; the last: %w", n, l.o.MaxBad, err)
	}
	return nil
}

// fill writes the numbers or pixels of one item. visit counts earlier uses in the
// epoch: it is the number of a view, where a batch has several of an image.
func (l *Loader) fill(ctx context.Context, dst cell, item, epoch, visit int) error {
	draw := func() *rand.Rand {
		return newRand(l.o.Seed, mixString("augment"), uint64(epoch), uint64(item), uint64(visit))
	}
	if l.rows != nil {
		it := l.set.Items[item]
		if err := l.rows.row(dst.images, it); err != nil {
			return &ImageError{l.rows.name(it), err}
		}
		return nil
	}
	if l.features != nil {
		return l.features.fill(dst.images, item, draw)
	}
	var r *rand.Rand
	if l.pipeline.Random() {
		r = draw()
	}
	pipeline := l.pipeline.View(visit)
	if crop, ok := pipeline.FirstCrop(); ok && l.memo.full.Load() && l.memo.get(item) == nil {
		m, err := l.set.loadPart(ctx, item, func(w, h int) image.Rectangle { return crop.Box(w, h, r) })
		if err != nil {
			return err
		}
		return l.finish(pipeline, dst, item, crop.Resize(m), r, 1)
	}
	m, err := l.prepared(ctx, item)
	if err != nil {
		return err
	}
	return l.finish(pipeline, dst, item, m, r, pipeline.Fixed)
}

// finish runs the pipeline's steps from number from on, and writes what they end with.
func (l *Loader) finish(p *transform.Pipeline, dst cell, item int, m *pixels.RGB, r *rand.Rand, from int) error {
	m, err := p.Finish(m, r, from)
	if err != nil {
		return &ImageError{l.set.Where(item), err}
	}
	if dst.pixels == nil {
		p.Numbers(dst.images, m)
		return nil
	}
	for y := range m.H {
		copy(dst.pixels[3*y*m.W:], m.Row(y))
	}
	return nil
}

// prepared returns an item after the steps that draw nothing.
func (l *Loader) prepared(ctx context.Context, item int) (*pixels.RGB, error) {
	if m := l.memo.get(item); m != nil {
		return m, nil
	}
	m, err := l.set.Load(ctx, item)
	if err != nil {
		return nil, err
	}
	if m, err = l.pipeline.Prepare(m); err != nil {
		return nil, &ImageError{l.set.Where(item), err}
	}
	l.memo.put(item, m)
	return m, nil
}

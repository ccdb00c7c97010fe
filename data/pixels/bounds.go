package pixels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/sync/semaphore"
)

// All images, whoever asks for them, are decoded by a Decoder, and what one may
// cost is bounded here: its pixels and bytes, the memory of all that are decoded
// at one time, and the work that a small file can ask for.

// DefaultMaxPixels is the largest image that is decoded unless Options
// says otherwise: 50 million pixels, 150 MB decoded.
const DefaultMaxPixels = 50_000_000

// DefaultMemory is the memory of all decodes of a Decoder at one time
// unless Options says otherwise: 1 GiB, what the costliest image of
// DefaultMaxPixels takes.
const DefaultMemory = 1 << 30

const (
	// plainBytes and bytesPerPixel bound a file: what no pixels account for
	// (profiles, notes, previews), and the widest pixel stored without compression.
	plainBytes    = 64 << 20
	bytesPerPixel = 8
	// rgbBytes is a pixel of the result.
	rgbBytes = 3
	// maxVisits is how many times a decoder may go over an image, freeVisits the
	// number of samples up to which that does not matter.
	maxVisits  = 64
	freeVisits = 1 << 26
)

// PixelLimit is the largest number of pixels that an image may have.
func (o Options) PixelLimit() int64 {
	if o.MaxPixels > 0 {
		return o.MaxPixels
	}
	return DefaultMaxPixels
}

// MemoryLimit is the memory of all decodes at one time, in bytes.
func (o Options) MemoryLimit() int64 {
	if o.Memory > 0 {
		return o.Memory
	}
	return DefaultMemory
}

// ByteLimit is the largest size of an image file, in bytes.
func (o Options) ByteLimit() int64 {
	return plainBytes + min(o.PixelLimit(), math.MaxInt64/bytesPerPixel/2)*bytesPerPixel
}

// header is what a file says of its image, without the pixels.
type header struct {
	w, h int
	// memory is what decoding takes besides the file and the result, in bytes.
	memory int64
}

// check refuses images without pixels and with too many.
func (h header) check(o Options) error {
	if h.w <= 0 || h.h <= 0 {
		return fmt.Errorf("%w: %d x %d", ErrNoPixels, h.w, h.h)
	}
	if int64(h.w) > o.PixelLimit()/int64(h.h) {
		return fmt.Errorf("%w: %d x %d pixels, at most %d pixels are decoded", ErrTooLarge, h.w, h.h, o.PixelLimit())
	}
	return nil
}

// CheckSize refuses images of w x h pixels that are not decoded.
func (o Options) CheckSize(w, h int) error { return header{w: w, h: h}.check(o) }

// cost is the memory that decoding takes, with the file of the given size.
func (h header) cost(size int64) int64 {
	return size + h.memory + rgbBytes*int64(h.w)*int64(h.h)
}

// checkWork refuses a file whose decoder would visit too many samples for an
// image that has so few. what says what visits them.
func checkWork(visits, samples int64, what string) error {
	limit := maxVisits*samples + freeVisits
	if visits <= limit {
		return nil
	}
	return fmt.Errorf("%w: %s go over %d samples, at most %d are decoded", ErrTooMuchWork, what, visits, limit)
}

// Decoder decodes images. Several goroutines may use it at one time; those for
// whose images there is no memory wait.
type Decoder struct {
	o      Options
	memory *semaphore.Weighted
	total  int64
}

// NewDecoder returns a Decoder with its own share of memory.
func NewDecoder(o Options) *Decoder {
	total := o.MemoryLimit()
	return &Decoder{o, semaphore.NewWeighted(total), total}
}

// Options are those that d was made with.
func (d *Decoder) Options() Options { return d.o }

// claim waits for memory. What is larger than all there is waits for all of it.
func (d *Decoder) claim(ctx context.Context, bytes int64) (release func(), err error) {
	bytes = min(bytes, d.total)
	if err := d.memory.Acquire(ctx, bytes); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { d.memory.Release(bytes) }, nil
}

// watched is a file for decoders that know no context: it ends when the context
// does. Reading stops at each of pauses, ascending places in the file, so that a
// decoder asks for what follows when it gets there.
type watched struct {
	ctx    context.Context
	file   []byte
	at     int
	pauses []int
}

func (w *watched) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	for len(w.pauses) > 0 && w.pauses[0] <= w.at {
		w.pauses = w.pauses[1:]
	}
	end := len(w.file)
	if len(w.pauses) > 0 {
		end = min(end, w.pauses[0])
	}
	n := copy(p, w.file[w.at:end])
	w.at += n
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// ReadAt is for decoders that do not read from front to back.
func (w *watched) ReadAt(p []byte, at int64) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	if at < 0 {
		return 0, errors.New("read before the start of the file")
	}
	n := copy(p, w.file[min(at, int64(len(w.file))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Size reads the width and height of an image in pixels from the head of its file.
func Size(file []byte) (w, h int, err error) {
	_, head, err := examine(file, Options{})
	return head.w, head.h, err
}

package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
)

// fileStore holds images as files of a source.
type fileStore struct {
	source source
	decode *Decoder
}

func (s fileStore) name(it Item) string { return s.source.name(it.Path) }
func (s fileStore) close() error        { return s.source.close() }

// stamp changes when the item's file does.
func (s fileStore) stamp(it Item) (string, error) { return s.source.stamp(it.Path) }

func (s fileStore) settings() string {
	o := s.decode.o
	return fmt.Sprintf("alpha %d, EXIF %v, at most %d pixels", o.Alpha, o.EXIF, o.maxPixels())
}

func (s fileStore) content(it Item) ([]byte, error) {
	r, size, err := s.source.open(it.Path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readBounded(r, size, s.decode.o.maxBytes())
}

func (s fileStore) image(ctx context.Context, it Item) (*RGB, error) { return s.part(ctx, it, nil) }

// part reads the head of a file first: what is no image, or too large, is not
// read further. Then it waits for the memory that the file and its pixels take.
func (s fileStore) part(ctx context.Context, it Item, choose func(w, h int) image.Rectangle) (*RGB, error) {
	for claimed := int64(0); ; {
		m, need, err := s.attempt(ctx, it, choose, claimed)
		if !errors.Is(err, errMoreMemory) {
			return m, err
		}
		claimed = need
	}
}

// errMoreMemory asks for another attempt: only the whole file told what it takes.
var errMoreMemory = errors.New("more memory is needed")

// attempt claims at least the given memory. With errMoreMemory it says how much
// to claim next time.
func (s fileStore) attempt(ctx context.Context, it Item, choose func(w, h int) image.Rectangle, claimed int64) (m *RGB, need int64, err error) {
	r, size, err := s.source.open(it.Path)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	head, f, h, err := examineHead(r, size, s.decode.o)
	if err != nil {
		return nil, 0, err
	}
	need = max(h.cost(size), claimed)
	release, err := s.decode.claim(ctx, need)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	file := head
	if size > headBytes {
		if file, err = readBounded(io.MultiReader(bytes.NewReader(head), r), size, s.decode.o.maxBytes()); err != nil {
			return nil, 0, err
		}
	}
	if h.w == 0 {
		if f, h, err = examine(file, s.decode.o); err != nil {
			return nil, 0, err
		}
		if cost := h.cost(size); min(cost, s.decode.total) > min(need, s.decode.total) {
			return nil, cost, errMoreMemory
		}
	}
	m, err = s.decode.decode(ctx, file, f, h, choose)
	return m, 0, err
}

// headBytes is how much of a file is read to see what it is. A photograph's size
// stands behind its notes and its preview.
const headBytes = 1 << 16

// examineHead reads the beginning of a file of size bytes. The header is empty
// where it lies further behind.
func examineHead(r io.Reader, size int64, o DecodeOptions) (head []byte, f format, h header, err error) {
	if head, err = readBounded(io.LimitReader(r, headBytes), min(size, headBytes), headBytes); err != nil {
		return nil, f, h, err
	}
	f, h, err = examine(head, o)
	if errors.Is(err, ErrTruncated) && size > headBytes {
		h, err = header{}, nil
	}
	if err == nil && size > o.maxBytes() {
		err = fmt.Errorf("%w: a file of %d bytes, at most %d are read for %d pixels", ErrTooLarge, size, o.maxBytes(), o.maxPixels())
	}
	return head, f, h, err
}

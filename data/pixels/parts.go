package pixels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
)

// DecodeFrom decodes the image of a file that open opens, which it may do more than
// once. The head of the file is read first: what is no image, or too large, is not read
// further. Then it waits for the memory that the file and its pixels take. choose, if
// not nil, says which part of an image of w x h pixels is wanted.
func (d *Decoder) DecodeFrom(ctx context.Context, open func() (r io.ReadCloser, size int64, err error), choose func(w, h int) image.Rectangle) (*RGB, error) {
	for claimed := int64(0); ; {
		m, need, err := d.attempt(ctx, open, choose, claimed)
		if !errors.Is(err, errMoreMemory) {
			return m, err
		}
		claimed = need
	}
}

// attempt claims at least the given memory. With errMoreMemory it says how much
// to claim next time.
func (d *Decoder) attempt(ctx context.Context, open func() (io.ReadCloser, int64, error), choose func(w, h int) image.Rectangle, claimed int64) (m *RGB, need int64, err error) {
	r, size, err := open()
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	head, f, h, err := examineHead(r, size, d.o)
	if err != nil {
		return nil, 0, err
	}
	need = max(h.cost(size), claimed)
	release, err := d.claim(ctx, need)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	file := head
	if size > headBytes {
		if file, err = ReadBounded(io.MultiReader(bytes.NewReader(head), r), size, d.o.ByteLimit()); err != nil {
			return nil, 0, err
		}
	}
	if h.w == 0 {
		if f, h, err = examine(file, d.o); err != nil {
			return nil, 0, err
		}
		if cost := h.cost(size); min(cost, d.total) > min(need, d.total) {
			return nil, cost, errMoreMemory
		}
	}
	m, err = d.decode(ctx, file, f, h, choose)
	return m, 0, err
}

// errMoreMemory asks for another attempt: only the whole file says what it takes.
var errMoreMemory = errors.New("more memory is needed")

// headBytes is how much of a file is read to see what it is. A photograph's size
// stands behind its notes and its preview.
const headBytes = 1 << 16

// examineHead reads the beginning of a file of size bytes. The header is empty
// where it lies further behind.
func examineHead(r io.Reader, size int64, o Options) (head []byte, f format, h header, err error) {
	if head, err = ReadBounded(io.LimitReader(r, headBytes), min(size, headBytes), headBytes); err != nil {
		return nil, f, h, err
	}
	f, h, err = examine(head, o)
	if errors.Is(err, ErrTruncated) && size > headBytes {
		h, err = header{}, nil
	}
	if err == nil && size > o.ByteLimit() {
		err = fmt.Errorf("%w: a file of %d bytes, at most %d are read for %d pixels", ErrTooLarge, size, o.ByteLimit(), o.PixelLimit())
	}
	return head, f, h, err
}

// ReadBounded reads what claims to be size bytes. It takes memory as the bytes
// come, and refuses more than limit of them and another number than size.
func ReadBounded(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%w: a file of %d bytes, at most %d are read", ErrTooLarge, size, limit)
	}
	const trusted = 4 << 20 // bytes that are made room for on the word of a header
	b := make([]byte, 0, min(size, trusted)+1)
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > size:
			return nil, fmt.Errorf("longer than the %d bytes that it claims to have", size)
		case errors.Is(err, io.EOF) && int64(len(b)) == size: // where an archive has verified its checksum
			return b, nil
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			room := 2 * int64(cap(b))
			if 8*int64(len(b)) >= size { // an eighth is there: the rest is believed
				room = size + 1
			}
			b = append(make([]byte, 0, room), b...)
		}
	}
}

package weights

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// pickleReader reads a stream of pickles through a small buffer and knows how
// much of it is left, so that a length in the stream can be judged before
// memory is given to it.
type pickleReader struct {
	src  io.ReaderAt
	size int64 // of src
	next int64 // offset of the byte after the buffer
	buf  []byte
	pos  int // of the next byte in buf
}

func newPickleReader(src io.ReaderAt, size int64) *pickleReader {
	return &pickleReader{src: src, size: size}
}

// offset returns the position in src.
func (r *pickleReader) offset() int64 { return r.next - int64(len(r.buf)-r.pos) }

func (r *pickleReader) left() int64 { return r.size - r.offset() }

var errPickleCut = errors.New("the pickle is cut off")

// fill makes at least n bytes available in the buffer.
func (r *pickleReader) fill(n int) error {
	if int64(n) > r.left() {
		return errPickleCut
	}
	have := copy(r.buf, r.buf[r.pos:])
	want := int(min(int64(max(n, 8<<10)), int64(have)+r.size-r.next))
	if cap(r.buf) < want {
		r.buf = append(make([]byte, 0, want), r.buf[:have]...)
	}
	r.buf, r.pos = r.buf[:want], 0
	if err := readAt(r.src, r.buf[have:], r.next); err != nil {
		return err
	}
	r.next += int64(want - have)
	return nil
}

// bytes returns the next n bytes, valid until the next call.
func (r *pickleReader) bytes(n int) ([]byte, error) {
	if len(r.buf)-r.pos < n {
		if err := r.fill(n); err != nil {
			return nil, err
		}
	}
	p := r.buf[r.pos : r.pos+n]
	r.pos += n
	return p, nil
}

func (r *pickleReader) byte() (byte, error) {
	p, err := r.bytes(1)
	if err != nil {
		return 0, err
	}
	return p[0], nil
}

// long returns the next n bytes for good, n being a length from the stream.
func (r *pickleReader) long(n uint64, b *budget) ([]byte, error) {
	if n > uint64(r.left()) {
		return nil, fmt.Errorf("a string of %d bytes, of which %d are there", n, r.left())
	}
	if err := b.take(int64(n)); err != nil {
		return nil, err
	}
	out := make([]byte, n)
	had := copy(out, r.buf[r.pos:])
	r.pos += had
	if had < len(out) {
		// The buffer is used up; take the rest past it.
		if err := readAt(r.src, out[had:], r.next); err != nil {
			return nil, err
		}
		r.next += int64(len(out) - had)
	}
	return out, nil
}

// text returns the next n bytes as a string, n being a length from the stream.
func (r *pickleReader) text(n uint64, b *budget) (string, error) {
	if n > uint64(r.left()) {
		return "", fmt.Errorf("a string of %d bytes, of which %d are there", n, r.left())
	}
	if err := b.take(int64(n)); err != nil {
		return "", err
	}
	var s strings.Builder
	s.Grow(int(n))
	for left := int(n); left > 0; {
		if r.pos == len(r.buf) {
			if err := r.fill(1); err != nil {
				return "", err
			}
		}
		take := r.buf[r.pos:min(len(r.buf), r.pos+left)]
		s.Write(take)
		r.pos += len(take)
		left -= len(take)
	}
	return s.String(), nil
}

// skip passes over n bytes.
func (r *pickleReader) skip(n uint64) error {
	if n > uint64(r.left()) {
		return errPickleCut
	}
	r.seek(r.offset() + int64(n))
	return nil
}

// seek goes to an offset in src.
func (r *pickleReader) seek(off int64) {
	if first := r.next - int64(len(r.buf)); off >= first && off <= r.next {
		r.pos = int(off - first)
		return
	}
	r.buf, r.pos, r.next = r.buf[:0], 0, off
}

// maxLine bounds the names in a GLOBAL opcode.
const maxLine = 256

// line returns text up to a newline, which it drops.
func (r *pickleReader) line() (string, error) {
	var line bytes.Buffer
	for line.Len() <= maxLine {
		c, err := r.byte()
		if err != nil {
			return "", err
		}
		if c == '\n' {
			return line.String(), nil
		}
		line.WriteByte(c)
	}
	return "", fmt.Errorf("the name of a global is longer than %d bytes", maxLine)
}

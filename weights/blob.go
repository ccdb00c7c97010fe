package weights

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// chunkSize is the size of the buffers through which data passes; a multiple of
// every element size.
const chunkSize = 64 << 10

// blob is a run of bytes in a file, plain or deflated.
type blob struct {
	src  io.ReaderAt
	off  int64 // of the packed bytes in src
	pack int64 // number of packed bytes; equals size if not deflated
	size int64 // number of bytes after unpacking

	what     string // name for messages
	deflated bool
	crc      uint32 // of the unpacked bytes; 0: not recorded
	// limit is the largest array that a tensor of this file may unfold to.
	limit int64
	// scratch is shared by the blobs of a file.
	scratch *scratch

	once sync.Once
	bad  error
}

// scratch keeps what reading needs only for a moment: inflaters (40 KiB each) and
// buffers of chunkSize.
type scratch struct{ inflaters, chunks sync.Pool }

// chunk returns a buffer of n bytes, and what to call when done.
func (s *scratch) chunk(n int64) ([]byte, func()) {
	if n != chunkSize { // small data, or elements larger than a chunk
		return make([]byte, n), func() {}
	}
	p, ok := s.chunks.Get().(*[chunkSize]byte)
	if !ok {
		p = new([chunkSize]byte)
	}
	return p[:], func() { s.chunks.Put(p) }
}

// unfoldLimit is the size of the largest array that a file may describe. It
// stops stride-0 views and deflated zeros from filling the memory.
func unfoldLimit(fileSize int64) int64 { return max(4*fileSize, 1<<20) }

// open returns the unpacked bytes in order, and what to call when done.
func (b *blob) open() (io.Reader, func()) {
	packed := io.NewSectionReader(b.src, b.off, b.pack)
	if !b.deflated {
		return packed, func() {}
	}
	if old, ok := b.scratch.inflaters.Get().(io.Reader); ok {
		if r, ok := old.(flate.Resetter); ok && r.Reset(packed, nil) == nil {
			return old, func() { b.scratch.inflaters.Put(old) }
		}
	}
	r := flate.NewReader(packed)
	return r, func() { b.scratch.inflaters.Put(r) }
}

// verify reads the whole blob once, where it has a checksum or is deflated, so
// that what it holds is known before memory is given to it.
func (b *blob) verify() error {
	if b.crc == 0 && !b.deflated {
		return nil
	}
	b.once.Do(func() { b.bad = b.check() })
	return b.bad
}

func (b *blob) check() error {
	sum := crc32.NewIEEE()
	r, done := b.open()
	defer done()
	buf, free := b.scratch.chunk(min(chunkSize, b.size+1))
	defer free()
	n, err := io.CopyBuffer(sum, io.LimitReader(r, b.size+1), buf)
	switch {
	case err != nil:
		return fmt.Errorf("%q: %w", b.what, noEOF(err))
	case n > b.size:
		return fmt.Errorf("%q: unpacks to more than the %d bytes that the directory states", b.what, b.size)
	case n < b.size:
		return fmt.Errorf("%q: unpacks to %d bytes, the directory states %d", b.what, n, b.size)
	case b.crc != 0 && sum.Sum32() != b.crc:
		return fmt.Errorf("%q: checksum %08x, the directory states %08x: the file is damaged", b.what, sum.Sum32(), b.crc)
	}
	return nil
}

// random returns the unpacked bytes for access in any order. A deflated blob is
// unpacked into memory.
func (b *blob) random() (io.ReaderAt, error) {
	if err := b.verify(); err != nil {
		return nil, err
	}
	if !b.deflated {
		return io.NewSectionReader(b.src, b.off, b.size), nil
	}
	if b.size > b.limit {
		return nil, fmt.Errorf("%q: unpacks to %d bytes, too much for a file of this size", b.what, b.size)
	}
	p := make([]byte, b.size)
	r, done := b.open()
	defer done()
	if _, err := io.ReadFull(r, p); err != nil {
		return nil, fmt.Errorf("%q: %w", b.what, noEOF(err))
	}
	return bytes.NewReader(p), nil
}

// noEOF makes an end of file that came too early readable.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the data end too early")
	}
	return err
}

// readAt fills p from offset off.
func readAt(r io.ReaderAt, p []byte, off int64) error {
	if n, err := r.ReadAt(p, off); n < len(p) {
		return noEOF(err)
	}
	return nil
}

// window reads small pieces at slowly moving offsets through one buffer, which
// must hold the largest piece.
type window struct {
	r    io.ReaderAt
	size int64
	buf  []byte
	off  int64
	n    int
}

// at returns n bytes at off, valid until the next call.
func (w *window) at(off int64, n int) ([]byte, error) {
	if off < w.off || off+int64(n) > w.off+int64(w.n) {
		want := min(int64(cap(w.buf)), w.size-off)
		if want < int64(n) {
			return nil, errors.New("the data end too early")
		}
		w.buf = w.buf[:want]
		w.n = 0
		if err := readAt(w.r, w.buf, off); err != nil {
			return nil, err
		}
		w.off, w.n = off, int(want)
	}
	i := int(off - w.off)
	return w.buf[i : i+n], nil
}

package unpack

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// ErrSurplus says that other bytes follow the end of a compressed stream.
var ErrSurplus = errors.New("other bytes follow the end of the compressed data: the file was damaged or is several files joined; unpack it, look at the result and give that")

var gzipMagic = []byte{0x1f, 0x8b}

// Gzip reads the members of a gzip file one after the other, as one stream. Zeros behind
// the last member are padding, as programs that copy blocks leave it. Other bytes end the
// stream, too: Surplus tells of them.
type Gzip struct {
	file    *bufio.Reader
	member  *gzip.Reader
	surplus bool
	err     error
}

// NewGzip reads the header of the first member.
func NewGzip(r io.Reader) (*Gzip, error) {
	g := &Gzip{file: bufio.NewReaderSize(r, 1<<16)}
	var err error
	if g.member, err = gzip.NewReader(g.file); err != nil {
		return nil, err
	}
	g.member.Multistream(false)
	return g, nil
}

// Surplus reports, once Read has returned io.EOF, whether something that is neither a
// member nor padding follows.
func (g *Gzip) Surplus() bool { return g.surplus }

// Read implements io.Reader. At the end of each member its checksum is verified.
func (g *Gzip) Read(p []byte) (int, error) {
	for g.err == nil {
		n, err := g.member.Read(p)
		if !errors.Is(err, io.EOF) {
			g.err = err
			return n, err
		}
		if g.err = g.next(); n > 0 {
			return n, nil
		}
	}
	return 0, g.err
}

// next goes to the next member, and returns io.EOF if there is none.
func (g *Gzip) next() error {
	for {
		head, err := g.file.Peek(2)
		switch {
		case bytes.Equal(head, gzipMagic):
			if err := g.member.Reset(g.file); err != nil {
				return err
			}
			g.member.Multistream(false)
			return nil
		case len(head) == 0:
			return err
		case head[0] != 0:
			g.surplus = true
			return io.EOF
		}
		if _, err := g.file.Discard(1); err != nil {
			return err
		}
	}
}

// ReadAll reads the rest, at most limit bytes and one more, which the caller looks for,
// and returns ErrSurplus where other bytes follow.
func (g *Gzip) ReadAll(limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(g, limit+1))
	if err == nil && g.surplus {
		err = ErrSurplus
	}
	return b, err
}

// Package zipfile opens ZIP archives that strangers made. Package archive/zip reads all
// of an archive's directory into memory, where it takes several times its size on the
// disk; here an archive of little but directory is refused before that.
package zipfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
)

const (
	// floor is the size of a directory that any archive may have, whatever else is in it.
	floor = 64 << 10
	// Of larger ones a part of the archive may be directory. An entry has 46 bytes and its
	// name there, and at least 30 bytes and its name before.
	part, of = 46, 46 + 30
	// ends is what is read to find the directory: the end of the file, of which the
	// comment has up to 64 KiB, twice; and what a buffer reads beyond the directory.
	ends = 160 << 10
)

// ErrDirectory says that an archive consists of little but its directory.
var ErrDirectory = errors.New("a zip archive of little but its directory")

// NewReader opens an archive of size bytes. Its directory takes less than 4 times the
// size of the archive in memory, plus 1 MiB. The error is ErrDirectory if it would take
// more, else one of package zip's.
func NewReader(r io.ReaderAt, size int64) (*zip.Reader, error) {
	g := &gate{r: r, left: max(floor, size/of*part) + ends}
	z, err := zip.NewReader(g, size)
	g.open = true
	if errors.Is(g.err, ErrDirectory) {
		return nil, fmt.Errorf("%w: more than %d of its %d bytes", ErrDirectory, max(floor, size/of*part), size)
	}
	return z, err
}

// gate lets a number of bytes pass, and all when it is open.
type gate struct {
	r    io.ReaderAt
	left int64
	open bool
	err  error
}

func (g *gate) ReadAt(p []byte, at int64) (int, error) {
	if g.open {
		return g.r.ReadAt(p, at)
	}
	if g.left -= int64(len(p)); g.left < 0 {
		g.err = ErrDirectory
		return 0, g.err
	}
	return g.r.ReadAt(p, at)
}

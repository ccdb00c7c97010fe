package weights

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/vernier-ml/vernier/internal/zipfile"
)

// zipLocalMagic and zipEndMagic are what an archive begins with; the second an empty one.
const (
	zipLocalMagic = "PK\x03\x04"
	zipEndMagic   = "PK\x05\x06"
)

// archive is a ZIP archive of arrays or storages.
type archive struct {
	src     io.ReaderAt
	size    int64
	entries []*zip.File
	index   map[string]*zip.File

	scratch scratch
}

// openArchive reads the directory of a file of the given size.
func openArchive(r io.ReaderAt, size int64, b *budget) (*archive, error) {
	z, err := zipfile.NewReader(r, size)
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("a zip archive without its directory, or with a damaged one: the file is cut off or still being downloaded")
	}
	if err != nil {
		return nil, fmt.Errorf("zip directory: %w", err)
	}
	a := &archive{src: r, size: size, entries: z.File, index: map[string]*zip.File{}}
	for _, e := range z.File {
		if err := b.take(int64(unsafe.Sizeof(*e)) + 2*int64(len(e.Name)+len(e.Extra)+len(e.Comment)) + 64); err != nil { // 64: its slots
			return nil, err
		}
		if !utf8.ValidString(e.Name) {
			return nil, fmt.Errorf("zip directory: the name %q is not UTF-8", e.Name)
		}
		if _, twice := a.index[e.Name]; twice {
			return nil, fmt.Errorf("zip directory: the entry %q appears twice", e.Name)
		}
		a.index[e.Name] = e
	}
	return a, nil
}

// has reports whether there is an entry of a name.
func (a *archive) has(name string) bool { return a.index[name] != nil }

// find locates the bytes of an entry by its name.
func (a *archive) find(name string) (*blob, error) {
	e := a.index[name]
	if e == nil {
		return nil, fmt.Errorf("the archive has no entry %q", name)
	}
	return a.blob(e)
}

// blob locates the bytes of an entry.
func (a *archive) blob(e *zip.File) (*blob, error) {
	if e.Flags&1 != 0 {
		return nil, fmt.Errorf("the zip entry %q is encrypted", e.Name)
	}
	if e.Method != zip.Store && e.Method != zip.Deflate {
		return nil, fmt.Errorf("the zip entry %q is compressed by method %d; only stored (0) and deflated (8) are known", e.Name, e.Method)
	}
	if e.Method == zip.Store && e.CompressedSize64 != e.UncompressedSize64 {
		return nil, fmt.Errorf("the zip entry %q is stored, but of %d bytes in %d", e.Name, e.UncompressedSize64, e.CompressedSize64)
	}
	off, err := e.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("the zip entry %q has no header where the directory says: %w", e.Name, noEOF(err))
	}
	if off < 0 || off > a.size || e.CompressedSize64 > uint64(a.size-off) || e.UncompressedSize64 > math.MaxInt64 {
		return nil, fmt.Errorf("the zip entry %q (%d bytes at %d) does not lie in the file of %d bytes", e.Name, e.CompressedSize64, off, a.size)
	}
	return &blob{src: a.src, off: off, pack: int64(e.CompressedSize64), size: int64(e.UncompressedSize64), what: e.Name,
		deflated: e.Method == zip.Deflate, scratch: &a.scratch, crc: e.CRC32, limit: unfoldLimit(a.size)}, nil
}

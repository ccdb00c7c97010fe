package source

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/unpack"
)

// tarTree is a .tar archive: an index of where its files begin, and the bytes.
type tarTree struct {
	root  string
	bytes io.ReaderAt
	index *index[extent]
	file  io.Closer
}

type extent struct {
	at, size int64
	modified int64
}

// maxUnpacked bounds the compressed archives that are unpacked into memory: their
// streams cannot be read from the middle.
const maxUnpacked = 1 << 29

func openTar(w *progress.Tracker, root string) (*tarTree, error) {
	f, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	index, err := indexTar(w, f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	return &tarTree{root, f, index, f}, nil
}

// openPackedTar opens a tar archive that is compressed by gzip or bzip2.
func openPackedTar(w *progress.Tracker, root, kind string) (*tarTree, error) {
	f, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	packed := w.File(f, "unpacking "+filepath.Base(root)+", MB", info.Size())
	plain, surplus, err := unpackTar(packed, kind)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	packed.End()
	r := bytes.NewReader(plain)
	index, err := indexTar(w, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	if surplus {
		index.faults = append(index.faults, "other bytes follow the compressed archive and are not read: it was damaged, or several files were joined, and images may be missing")
	}
	return &tarTree{root, r, index, io.NopCloser(nil)}, nil
}

// unpackTar unpacks a compressed tar archive in memory; surplus says that something else
// follows it in its file.
func unpackTar(r io.Reader, kind string) (plain []byte, surplus bool, err error) {
	var packed io.Reader
	var gz *unpack.Gzip
	if kind == "gzip" {
		gz, err = unpack.NewGzip(r)
		packed = gz
	} else {
		packed = bzip2.NewReader(r)
	}
	if err == nil {
		plain, err = io.ReadAll(io.LimitReader(packed, maxUnpacked+1))
	}
	if len(plain) > 0 && errors.Is(err, bzip2.StructuralError("bad magic value in continuation file")) {
		surplus, err = true, nil
	}
	var damaged bzip2.StructuralError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, false, fmt.Errorf("damaged %s file: %w: it was cut off, or is still being copied", kind, pixels.ErrTruncated)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, new(flate.CorruptInputError)), errors.As(err, &damaged):
		return nil, false, fmt.Errorf("damaged %s file: %w: copy or fetch it again", kind, err)
	case err != nil:
		return nil, false, err
	case len(plain) > maxUnpacked:
		return nil, false, fmt.Errorf("%w: a compressed archive of more than %d bytes; unpack it and give the folder", pixels.ErrTooLarge, maxUnpacked)
	case len(bytes.Trim(plain, "\x00")) == 0:
		return nil, false, fmt.Errorf("a %s file of an empty archive", kind)
	case !isTar(plain):
		return nil, false, fmt.Errorf("a %s file, but not of a tar archive: it holds %s", kind, notArchive(plain[:min(len(plain), archiveHead)]))
	}
	return plain, surplus || gz != nil && gz.Surplus(), nil
}

// indexTar notes where the files of an archive begin.
func indexTar(w *progress.Tracker, r io.ReadSeeker) (*index[extent], error) {
	const task = "listing the archive"
	index := newIndex[extent]()
	blocks := &endMark{ReadSeeker: r}
	archive := tar.NewReader(blocks)
	for {
		if err := w.Step(task, len(index.files), 0); err != nil {
			return nil, err
		}
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("damaged tar archive: %w: it was cut off, or is still being copied", pixels.ErrTruncated)
		}
		if err != nil {
			return nil, fmt.Errorf("damaged tar archive: %w", err)
		}
		at, err := r.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		noteTarEntry(index, h, at)
	}
	w.End(task, len(index.files))
	if !blocks.seen {
		index.faults = append(index.faults, "the tar archive has no end mark: it may have been cut off, and images be missing")
	}
	if more, err := goesOn(w.Until(r)); err != nil {
		return nil, err
	} else if more {
		index.faults = append(index.faults, "the tar archive continues after its end mark, and what follows is not read: unpack archives that were joined, and give the folder")
	}
	index.settle()
	return index, nil
}

// noteTarEntry notes an entry whose content begins at a place.
func noteTarEntry(index *index[extent], h *tar.Header, at int64) {
	name, ok := index.name(h.Name)
	if !ok {
		return
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		if h.Typeflag == tar.TypeGNUSparse || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "" {
			index.refuse(name, errors.New("stored as a sparse file, which cannot be read in place; unpack the archive and give the folder"))
			return
		}
		index.add(name, extent{at, h.Size, h.ModTime.UnixNano()})
	case tar.TypeSymlink:
		index.symbolic(name, h.Linkname)
	case tar.TypeLink:
		if target, ok := EntryName(h.Linkname); ok {
			index.hard(name, target)
		} else {
			index.refuse(name, fmt.Errorf("a link to %q, which is no file", h.Linkname))
		}
	case tar.TypeFifo, tar.TypeChar, tar.TypeBlock:
		index.refuse(name, irregular(h.FileInfo().Mode()))
	case tar.TypeDir, tar.TypeXGlobalHeader, 'D', 'V': // folders, comments, a volume's name
	default:
		index.refuse(name, fmt.Errorf("an entry of kind %q, which is not read", h.Typeflag))
	}
}

// endMark watches the blocks that the reader of an archive reads for the zeros that stand
// at an archive's end.
type endMark struct {
	io.ReadSeeker
	seen bool // the last block read holds zeros only
}

func (m *endMark) Read(p []byte) (int, error) {
	n, err := m.ReadSeeker.Read(p)
	if n > 0 {
		m.seen = n == 512 && len(bytes.Trim(p[:n], "\x00")) == 0
	}
	return n, err
}

// goesOn reports whether anything but zeros follows.
func goesOn(r io.Reader) (bool, error) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := r.Read(buffer)
		switch {
		case len(bytes.Trim(buffer[:n], "\x00")) > 0:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
	}
}

func (s *tarTree) Name(file string) string { return s.root + "!" + file }

func (s *tarTree) Close() error { return s.file.Close() }

func (s *tarTree) List(*progress.Tracker) (*Listing, error) { return &s.index.Listing, nil }

func (s *tarTree) Open(name string) (io.ReadCloser, int64, error) {
	e, err := s.index.find(name)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(io.NewSectionReader(s.bytes, e.at, e.size)), e.size, nil
}

func (s *tarTree) Stamp(name string) (string, error) {
	e, err := s.index.find(name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %d", e.size, e.modified), nil
}

package source

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/internal/zipfile"
)

// zipTree is a .zip archive. Entries are decompressed when they are asked for.
type zipTree struct {
	root  string
	file  io.Closer
	index *index[*zip.File]
}

func openZip(w *progress.Tracker, root string) (*zipTree, error) {
	f, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	r, err := readZip(f)
	if errors.Is(err, zip.ErrFormat) {
		err = errors.New("its directory, which stands at the end, is missing or damaged: the file was cut off, or is still being copied")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: damaged zip archive: %w", root, err)
	}
	index, err := indexZip(w, r)
	if err == nil && len(r.File) == 0 {
		err = errors.New("an empty zip archive: make or fetch it again")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	return &zipTree{root, f, index}, nil
}

func readZip(f *os.File) (*zip.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return zipfile.NewReader(f, info.Size())
}

// indexZip notes the entries of an archive.
func indexZip(w *progress.Tracker, r *zip.Reader) (*index[*zip.File], error) {
	index := newIndex[*zip.File]()
	windows := separatedByBackslashes(r)
	for i, f := range r.File {
		if err := w.Step("listing the archive", i, len(r.File)); err != nil {
			return nil, err
		}
		name, ok := index.name(zipName(f, windows))
		if !ok {
			continue
		}
		switch mode := f.Mode(); {
		case mode.IsDir():
		case mode&fs.ModeSymlink != 0:
			if target, err := zipLink(f); err != nil {
				index.refuse(name, fmt.Errorf("a link that cannot be read: %w", err))
			} else {
				index.symbolic(name, target)
			}
		case !mode.IsRegular():
			index.refuse(name, irregular(mode))
		default:
			index.add(name, f)
		}
	}
	w.End("listing the archive", len(r.File))
	index.settle()
	return index, nil
}

// separatedByBackslashes reports whether no name of an archive has a slash and some have
// backslashes: then these separate folders, whatever system the archive says it is from.
func separatedByBackslashes(r *zip.Reader) bool {
	found := false
	for _, f := range r.File {
		if strings.Contains(f.Name, "/") {
			return false
		}
		found = found || strings.Contains(f.Name, `\`)
	}
	return found
}

// zipName is an entry's name with forward slashes. Some programs of Windows write
// backslashes, which in an archive of Unix with slashes are a part of the name.
func zipName(f *zip.File, windows bool) string {
	const unix, macOS = 3, 19
	if system := f.CreatorVersion >> 8; !windows && (system == unix || system == macOS) {
		return f.Name
	}
	return strings.ReplaceAll(f.Name, `\`, "/")
}

// zipLink reads where a symbolic link leads to, which is its content.
func zipLink(f *zip.File) (string, error) {
	r, size, err := openZipFile(f)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := pixels.ReadBounded(r, size, maxEntryName)
	return string(b), err
}

func (s *zipTree) Name(file string) string { return s.root + "!" + file }

func (s *zipTree) Close() error { return s.file.Close() }

func (s *zipTree) List(*progress.Tracker) (*Listing, error) { return &s.index.Listing, nil }

func (s *zipTree) Open(name string) (io.ReadCloser, int64, error) {
	f, err := s.index.find(name)
	if err != nil {
		return nil, 0, err
	}
	return openZipFile(f)
}

func openZipFile(f *zip.File) (io.ReadCloser, int64, error) {
	const encrypted = 1
	if f.Flags&encrypted != 0 {
		return nil, 0, errors.New("encrypted in the archive; unpack it and give the folder")
	}
	r, err := f.Open()
	if errors.Is(err, zip.ErrAlgorithm) {
		err = fmt.Errorf("compressed by method %d of zip archives, which is not read; unpack the archive and give the folder", f.Method)
	}
	return r, int64(min(f.UncompressedSize64, math.MaxInt64-1)), err
}

func (s *zipTree) Stamp(name string) (string, error) {
	f, err := s.index.find(name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %08x", f.UncompressedSize64, f.CRC32), nil
}

package data

import (
	"archive/zip"
	"errors"
	"fmt"
	"github.com/vernier-ml/vernier/data/pixels"
	"io"
	"io/fs"
	"math"
	"strings"
)

// zipSource is a .zip archive. Entries are decompressed when they are asked for.
type zipSource struct {
	root   string
	reader *zip.ReadCloser
	index  *archiveIndex[*zip.File]
}

func openZip(root string) (*zipSource, error) {
	r, err := zip.OpenReader(root)
	if errors.Is(err, zip.ErrFormat) {
		return nil, fmt.Errorf("%s: damaged zip archive: its directory, which stands at the end, is missing or damaged: the file was cut off, or is still being copied", root)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: damaged zip archive: %w", root, err)
	}
	return &zipSource{root, r, indexZip(&r.Reader)}, nil
}

// indexZip notes the entries of an archive.
func indexZip(r *zip.Reader) *archiveIndex[*zip.File] {
	index := newArchiveIndex[*zip.File]()
	for _, f := range r.File {
		name, ok := index.name(zipName(f))
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
	index.settle()
	return index
}

// zipName is an entry's name with forward slashes. Some programs of Windows write
// backslashes, which in an archive of Unix are a part of the name.
func zipName(f *zip.File) string {
	const unix, macOS = 3, 19
	if system := f.CreatorVersion >> 8; system == unix || system == macOS {
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

func (s *zipSource) name(file string) string { return s.root + "!" + file }

func (s *zipSource) close() error { return s.reader.Close() }

func (s *zipSource) list() (*listing, error) { return &s.index.listing, nil }

func (s *zipSource) open(name string) (io.ReadCloser, int64, error) {
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

func (s *zipSource) stamp(name string) (string, error) {
	f, err := s.index.find(name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %08x", f.UncompressedSize64, f.CRC32), nil
}

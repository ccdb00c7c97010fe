package data

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// tarSource is a .tar archive: an index of where its files begin, and the bytes.
type tarSource struct {
	root  string
	bytes io.ReaderAt
	files map[string]extent
	file  io.Closer
}

type extent struct {
	at, size int64
	modified int64
}

// maxUnpacked bounds the .tgz archives that are unpacked into memory: a gzip
// stream cannot be read from the middle.
const maxUnpacked = 1 << 29

func openTar(root string) (*tarSource, error) {
	f, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	s := &tarSource{root: root, bytes: f, file: f}
	if err := s.index(f); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func openTarGzip(root string) (*tarSource, error) {
	f, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: damaged gzip file: %w", root, err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("%s: damaged gzip file: %w", root, err)
	}
	if len(plain) > maxUnpacked {
		return nil, fmt.Errorf("%s: %w: a compressed archive of more than %d bytes; unpack it and give the folder", root, ErrTooLarge, maxUnpacked)
	}
	r := bytes.NewReader(plain)
	s := &tarSource{root: root, bytes: r, file: io.NopCloser(nil)}
	return s, s.index(r)
}

// index notes where the files begin. r must be what s.bytes reads.
func (s *tarSource) index(r io.ReadSeeker) error {
	s.files = map[string]extent{}
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: damaged tar archive: %w", s.root, err)
		}
		name, ok := entryName(h.Name)
		if h.Typeflag != tar.TypeReg || !ok {
			continue
		}
		at, err := r.Seek(0, io.SeekCurrent)
		if err != nil {
			return fmt.Errorf("%s: %w", s.root, err)
		}
		s.files[name] = extent{at, h.Size, h.ModTime.UnixNano()}
	}
}

func (s *tarSource) name(file string) string { return s.root + "!" + file }

func (s *tarSource) close() error { return s.file.Close() }

func (s *tarSource) list() ([]string, error) {
	names := make([]string, 0, len(s.files))
	for name := range s.files {
		names = append(names, name)
	}
	return names, nil
}

func (s *tarSource) open(name string) (io.ReadCloser, int64, error) {
	e, ok := s.files[name]
	if !ok {
		return nil, 0, errNotInArchive
	}
	return io.NopCloser(io.NewSectionReader(s.bytes, e.at, e.size)), e.size, nil
}

func (s *tarSource) stamp(name string) (string, error) {
	e, ok := s.files[name]
	if !ok {
		return "", errNotInArchive
	}
	return fmt.Sprintf("%d %d", e.size, e.modified), nil
}

var errNotInArchive = fmt.Errorf("not in the archive: %w", fs.ErrNotExist)

// entryName brings an archive's name of a file into the form that list returns;
// false for folders. Some Windows programs write backslashes.
func entryName(name string) (string, bool) {
	name = strings.ReplaceAll(name, `\`, "/")
	if strings.HasSuffix(name, "/") {
		return "", false
	}
	name = path.Clean("/" + name)[1:]
	return name, name != ""
}

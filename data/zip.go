package data

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
)

// zipSource is a .zip archive. Entries are decompressed when they are asked for.
type zipSource struct {
	root   string
	reader *zip.ReadCloser
	files  map[string]*zip.File
}

func openZip(root string) (*zipSource, error) {
	r, err := zip.OpenReader(root)
	if err != nil {
		return nil, fmt.Errorf("%s: damaged zip archive: %w", root, err)
	}
	s := &zipSource{root, r, make(map[string]*zip.File, len(r.File))}
	for _, f := range r.File {
		name, ok := entryName(f.Name)
		if f.FileInfo().IsDir() || !ok {
			continue
		}
		s.files[name] = f // of two entries of one name the later counts
	}
	return s, nil
}

func (s *zipSource) name(file string) string { return s.root + "!" + file }

func (s *zipSource) close() error { return s.reader.Close() }

func (s *zipSource) list() ([]string, error) {
	names := make([]string, 0, len(s.files))
	for name := range s.files {
		names = append(names, name)
	}
	return names, nil
}

func (s *zipSource) open(name string) (io.ReadCloser, int64, error) {
	f, ok := s.files[name]
	if !ok {
		return nil, 0, errNotInArchive
	}
	const encrypted = 1
	if f.Flags&encrypted != 0 {
		return nil, 0, errors.New("encrypted in the archive")
	}
	r, err := f.Open()
	return r, int64(min(f.UncompressedSize64, math.MaxInt64-1)), err
}

func (s *zipSource) stamp(name string) (string, error) {
	f, ok := s.files[name]
	if !ok {
		return "", errNotInArchive
	}
	return fmt.Sprintf("%d %08x", f.UncompressedSize64, f.CRC32), nil
}

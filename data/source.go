package data

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxFileBytes bounds the size of one image or list file.
const maxFileBytes = 1 << 30

// source is a tree of files: a folder or an archive read in place.
type source interface {
	// list returns the paths of all files, with forward slashes, in no order.
	list() ([]string, error)
	// read returns a file's bytes. A missing file is fs.ErrNotExist.
	read(name string) ([]byte, error)
	// name says where a file lies, for messages.
	name(file string) string
	// stamp changes when a file changes: cheap, without reading it.
	stamp(name string) (string, error)
	close() error
}

// openSource opens a folder or an archive by what it is, not by its name.
func openSource(root string) (source, error) {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such folder or archive", root)
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return folderSource{root}, nil
	}
	head := make([]byte, 4)
	f, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	n, err := io.ReadFull(f, head)
	f.Close()
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	if magic := string(head[:n]); magic == "PK\x03\x04" || magic == "PK\x05\x06" {
		return openZip(root)
	}
	return nil, fmt.Errorf("%s: neither a folder nor a .zip archive", root)
}

// folderSource is a folder on disk.
type folderSource struct{ root string }

func (s folderSource) path(name string) string {
	if path.IsAbs(name) || filepath.IsAbs(filepath.FromSlash(name)) {
		return filepath.FromSlash(name)
	}
	return filepath.Join(s.root, filepath.FromSlash(name))
}

func (s folderSource) name(file string) string { return s.path(file) }

func (s folderSource) close() error { return nil }

func (s folderSource) read(name string) ([]byte, error) {
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	if info.IsDir() {
		return nil, errors.New("a folder, not a file")
	}
	return readBounded(f, info.Size())
}

func (s folderSource) stamp(name string) (string, error) {
	info, err := os.Stat(s.path(name))
	if err != nil {
		return "", bare(err)
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano()), nil
}

// list follows links to folders, each folder once.
func (s folderSource) list() ([]string, error) {
	var files []string
	seen := map[string]bool{}
	var walk func(rel string) error
	walk = func(rel string) error {
		dir := filepath.Join(s.root, filepath.FromSlash(rel))
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		if seen[real] {
			return nil
		}
		seen[real] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(rel, e.Name())
			isDir := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				info, err := os.Stat(filepath.Join(dir, e.Name()))
				if err != nil { // a dead link: reading it will say so
					files = append(files, name)
					continue
				}
				isDir = info.IsDir()
			}
			if !isDir {
				files = append(files, name)
			} else if !isJunk(name) {
				if err := walk(name); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(""); err != nil {
		return nil, fmt.Errorf("listing %s: %w", s.root, err)
	}
	return files, nil
}

// bare drops the path that package os puts into its errors; the caller adds it.
func bare(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

func readBounded(r io.Reader, size int64) ([]byte, error) {
	if size > maxFileBytes {
		return nil, fmt.Errorf("%w: a file of %d bytes, at most %d are read", ErrTooLarge, size, maxFileBytes)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return b, nil
}

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
		// Some Windows programs write backslashes.
		name := path.Clean("/" + strings.ReplaceAll(f.Name, `\`, "/"))[1:]
		if f.FileInfo().IsDir() || strings.HasSuffix(f.Name, `\`) || name == "" {
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

func (s *zipSource) read(name string) ([]byte, error) {
	f, ok := s.files[name]
	if !ok {
		return nil, fmt.Errorf("not in the archive: %w", fs.ErrNotExist)
	}
	const encrypted = 1
	if f.Flags&encrypted != 0 {
		return nil, errors.New("encrypted in the archive")
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := readBounded(r, int64(min(f.UncompressedSize64, maxFileBytes+1)))
	if err != nil {
		return nil, err
	}
	// The checksum is verified when the end is met.
	if _, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF {
		if err == nil {
			err = errors.New("longer than the archive says")
		}
		return nil, err
	}
	return b, nil
}

func (s *zipSource) stamp(name string) (string, error) {
	f, ok := s.files[name]
	if !ok {
		return "", fs.ErrNotExist
	}
	return fmt.Sprintf("%d %08x", f.UncompressedSize64, f.CRC32), nil
}

// isJunk knows what operating systems leave behind.
func isJunk(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case strings.HasPrefix(part, "._"), strings.EqualFold(part, ".DS_Store"), strings.EqualFold(part, "Thumbs.db"),
			strings.EqualFold(part, "desktop.ini"), part == "__MACOSX", part == "@eaDir":
			return true
		}
	}
	return false
}

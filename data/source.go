package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxFileBytes bounds the size of one list file.
const maxFileBytes = 1 << 30

// source is a tree of files: a folder or an archive read in place.
type source interface {
	// list returns the paths of all files, with forward slashes, in no order.
	list() ([]string, error)
	// open starts to read a file and returns the number of bytes it claims to
	// have, which nobody has counted. A missing file is fs.ErrNotExist.
	open(name string) (io.ReadCloser, int64, error)
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
	switch archiveKind(root) {
	case "zip":
		return openZip(root)
	case "tar":
		return openTar(root)
	case "gzip":
		return openTarGzip(root)
	}
	return nil, fmt.Errorf("%s: neither a folder nor a .zip, .tar or .tgz archive", root)
}

// archiveKind looks at a file's first bytes: zip, tar, gzip or "".
func archiveKind(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	switch head = head[:n]; {
	case prefix("PK\x03\x04", "PK\x05\x06")(head):
		return "zip"
	case prefix("\x1f\x8b")(head):
		return "gzip"
	case n == 512 && string(head[257:262]) == "ustar":
		return "tar"
	}
	return ""
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

func (s folderSource) open(name string) (io.ReadCloser, int64, error) {
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, 0, bare(err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("a folder, not a file")
	}
	if err != nil {
		f.Close()
		return nil, 0, bare(err)
	}
	return f, info.Size(), nil
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

// readFile returns the bytes of a file that is no image, at most maxFileBytes.
func readFile(s source, name string) ([]byte, error) {
	r, size, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readBounded(r, size, maxFileBytes)
}

// readBounded reads what claims to be size bytes. It takes memory as the bytes
// come, and refuses more than limit of them and another number than size.
func readBounded(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%w: a file of %d bytes, at most %d are read", ErrTooLarge, size, limit)
	}
	const trusted = 4 << 20 // bytes that are made room for on the word of a header
	b := bytes.NewBuffer(make([]byte, 0, min(size, trusted)+bytes.MinRead))
	// The end is asked for too: there an archive verifies its checksum.
	n, err := b.ReadFrom(io.LimitReader(r, size+1))
	switch {
	case err != nil:
		return nil, err
	case n < size:
		return nil, io.ErrUnexpectedEOF
	case n > size:
		return nil, fmt.Errorf("longer than the %d bytes that it claims to have", size)
	}
	return b.Bytes(), nil
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

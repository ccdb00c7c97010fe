package data

import (
	"errors"
	"fmt"
	"github.com/vernier-ml/vernier/data/pixels"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxFileBytes bounds the size of one list file.
const maxFileBytes = 1 << 30

// source is a tree of files: a folder or an archive read in place.
type source interface {
	list(*work) (*listing, error)
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
func openSource(w *work, root string) (source, error) {
	src, err := openRawSource(w, root)
	if err != nil {
		return nil, err
	}
	return namedSource{src}, nil
}

func openRawSource(w *work, root string) (source, error) {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such folder or archive", root)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, bare(err))
	}
	if info.IsDir() {
		return folderSource{root}, nil
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w, neither a folder nor an archive", root, irregular(info.Mode()))
	}
	head, err := readHead(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, bare(err))
	}
	switch kind := archiveKindOf(head); kind {
	case "zip":
		return openZip(w, root)
	case "tar":
		return openTar(w, root)
	case "gzip", "bzip2":
		return openPackedTar(w, root, kind)
	}
	return nil, fmt.Errorf("%s: %s", root, notArchive(head))
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
	file := s.path(name)
	// Looked at before it is opened: to open a pipe is to wait for who writes to it.
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		if target, e := os.Readlink(file); e == nil {
			return nil, 0, fmt.Errorf("a link to %s, which is not there: %w", target, fs.ErrNotExist)
		}
	}
	if err == nil && !info.Mode().IsRegular() {
		err = irregular(info.Mode())
	}
	if err != nil {
		return nil, 0, bare(err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, bare(err)
	}
	return f, info.Size(), nil
}

// irregular says what is no regular file.
func irregular(mode fs.FileMode) error {
	what := "not a regular file"
	switch {
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		return errors.New(what)
	}
	return errors.New(what + ", not a file")
}

func (s folderSource) stamp(name string) (string, error) {
	info, err := os.Stat(s.path(name))
	if err != nil {
		return "", bare(err)
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano()), nil
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
	return pixels.ReadBounded(r, size, maxFileBytes)
}

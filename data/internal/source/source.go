package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/vernier-ml/vernier/data/internal/progress"
	"github.com/vernier-ml/vernier/data/pixels"
)

// maxFileBytes bounds the size of one list file.
const maxFileBytes = 1 << 30

// Tree is a tree of files: a folder or an archive read in place.
type Tree interface {
	List(*progress.Tracker) (*Listing, error)
	// Open starts to read a file and returns the number of bytes it claims to
	// have, which nobody has counted. A missing file is fs.ErrNotExist.
	Open(name string) (io.ReadCloser, int64, error)
	// Name says where a file lies, for messages.
	Name(file string) string
	// Stamp changes when a file changes: cheap, without reading it.
	Stamp(name string) (string, error)
	Close() error
}

// Open opens a folder or an archive by what it is, not by its name.
func Open(w *progress.Tracker, root string) (Tree, error) {
	src, err := openRaw(w, root)
	if err != nil {
		return nil, err
	}
	return Named{src}, nil
}

func openRaw(w *progress.Tracker, root string) (Tree, error) {
	info, err := os.Stat(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such folder or archive", root)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, bare(err))
	}
	if info.IsDir() {
		return Folder{root}, nil
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w, neither a folder nor an archive", root, irregular(info.Mode()))
	}
	head, err := readHead(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, bare(err))
	}
	switch kind := kindOf(head); kind {
	case "zip":
		return openZip(w, root)
	case "tar":
		return openTar(w, root)
	case "gzip", "bzip2":
		return openPackedTar(w, root, kind)
	}
	return nil, fmt.Errorf("%s: %s", root, notArchive(head))
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

// bare drops the path that package os puts into its errors; the caller adds it.
func bare(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// ReadFile returns the bytes of a file that is no image, at most maxFileBytes.
func ReadFile(s Tree, name string) ([]byte, error) {
	r, size, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return pixels.ReadBounded(r, size, maxFileBytes)
}

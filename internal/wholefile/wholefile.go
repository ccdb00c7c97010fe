// Package wholefile writes files that appear as a whole or not at all: under another
// name beside their own at first, synced, and renamed. What was there before stays
// as it was until then.
package wholefile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// File is a file that has no name of its own yet. CloseAtomicallyReplace gives it
// that; Cleanup drops it, and does nothing after CloseAtomicallyReplace, so that it
// can be deferred.
type File = renameio.PendingFile

// Create opens a file that will be at path. It will have the permissions of one that
// is there, or 0644 less the umask. A symbolic link is followed, so that what it
// points at is replaced and not the link. Folders and devices are errors.
func Create(path string) (*File, error) {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder, a file name is needed", path)
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file and cannot be replaced", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := renameio.NewPendingFile(target, renameio.WithTempDir(filepath.Dir(target)),
		renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", path, err)
	}
	return f, nil
}

// Write makes a file of what write writes, or leaves alone what is at path if that
// fails.
func Write(path string, write func(io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	b := bufio.NewWriter(f)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// WriteBytes makes a file of a text.
func WriteBytes(path string, text []byte) error {
	return Write(path, func(w io.Writer) error { _, err := w.Write(text); return err })
}

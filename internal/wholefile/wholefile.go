// Package wholefile writes files that appear as a whole or not at all: under another
// name beside their own at first, synced, and renamed. What was there before stays
// as it was until then. What a killed process left under such a name goes when the
// same file is written again.
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
	"golang.org/x/sys/unix"
)

// File is a file that has no name of its own yet. CloseAtomicallyReplace gives it
// that; Cleanup drops it, and does nothing after CloseAtomicallyReplace, so that it
// can be deferred.
type File struct {
	*renameio.PendingFile
	// lock is a second descriptor of the file, which stays locked until it has its
	// name.
	lock *os.File
}

// CloseAtomicallyReplace syncs the file and gives it its name.
func (f *File) CloseAtomicallyReplace() error {
	err := f.PendingFile.CloseAtomicallyReplace()
	if err == nil {
		f.lock.Close()
	}
	return err
}

// Cleanup removes the file if it has no name of its own yet.
func (f *File) Cleanup() error {
	err := f.PendingFile.Cleanup()
	f.lock.Close()
	return err
}

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
	Sweep(filepath.Dir(target), filepath.Base(target))
	f, err := create(target)
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", path, err)
	}
	return f, nil
}

// create makes a locked file with a temporary name beside target.
func create(target string) (*File, error) {
	for {
		f, err := renameio.NewPendingFile(target, renameio.WithTempDir(filepath.Dir(target)),
			renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
		if err != nil {
			return nil, err
		}
		held := hold(f.File)
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		switch {
		case err != nil:
			f.Cleanup()
			return nil, err
		case held:
			return &File{f, os.NewFile(uintptr(fd), f.Name())}, nil
		}
		unix.Close(fd)
		f.Close() // a Sweep took its name before it was locked
	}
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

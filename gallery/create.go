package gallery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/vernier-ml/vernier/internal/wholefile"
)

// create makes an index of one block, under another name at first; put gives it its
// own.
func create(path string, info Info, t *Table, put func(f *wholefile.File, path string) error) error {
	header, sum, err := encodeHeader(info)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f, err := wholefile.Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	_, err = f.WriteAt(header, 0)
	if err == nil {
		s := &state{Info: info, commit: commit{end: headerSize, chain: sum}}
		err = s.append(f.File, change{add: t})
	}
	if err == nil {
		err = put(f, path)
	}
	if err == nil {
		err = syncFolder(path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// replace puts a file in the place of another.
func replace(f *wholefile.File, _ string) error { return f.CloseAtomicallyReplace() }

// publish gives a file a name that must be free: the error is fs.ErrExist if another
// process has taken it.
func publish(f *wholefile.File, path string) error {
	if stat, err := os.Lstat(path); err == nil && stat.Mode()&fs.ModeSymlink != 0 {
		return errors.New("it is a symbolic link that leads nowhere")
	}
	err := os.Link(f.Name(), path)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return publishLocked(f, path)
	}
	return err
}

// publishLocked is publish where the file system has no hard links: processes take
// turns by a lock of the folder.
func publishLocked(f *wholefile.File, path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := lock(dir, syscall.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", dir.Name(), err)
	}
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	return f.CloseAtomicallyReplace()
}

// syncFolder puts the name of a new file on the disk, where the file system can.
func syncFolder(path string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

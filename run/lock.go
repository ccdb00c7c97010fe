package run

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile marks a run folder that a process is working in.
const lockFile = ".lock"

// ErrBusy says that another process is working in the run folder.
var ErrBusy = errors.New("another vernier is working in this folder")

// Lock locks a folder until the file is closed.
func (f Folder) Lock() (*os.File, error) {
	file, err := os.OpenFile(f.Path(lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", f, ErrBusy)
		}
		return nil, fmt.Errorf("locking %s: %w", f, err)
	}
	return file, nil
}

// Busy reports whether another process is working in the folder.
func (f Folder) Busy() bool {
	file, err := os.Open(f.Path(lockFile)) // without one nobody ever was
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

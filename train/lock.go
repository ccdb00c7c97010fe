package train

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

// claim makes the run folder if it is not there, and locks it for this process,
// before anything in it is touched. The system gives the lock back
// when the process ends, however it ends.
func (s *Session) claim() error {
	if err := os.MkdirAll(string(s.folder), 0o755); err != nil {
		return err
	}
	f, err := s.folder.lock()
	if err != nil {
		return err
	}
	s.lock = f
	return s.folder.sweep()
}

// lock locks a folder until the file is closed.
func (f Folder) lock() (*os.File, error) {
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

// unlock gives the folder free.
func (s *Session) unlock() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}

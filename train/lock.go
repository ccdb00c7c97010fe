package train

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/vernier-ml/vernier/layers"
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
	f, err := os.OpenFile(s.folder.Path(lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("%s: %w", s.folder, ErrBusy)
		}
		return fmt.Errorf("locking %s: %w", s.folder, err)
	}
	s.lock = f
	return nil
}

// unlock gives the folder free.
func (s *Session) unlock() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}

// kernels is the part of an engine's name on which the last bits of a result
// depend: "cpu (avx512".
func kernels(eng layers.Engine) string {
	kind, _, _ := strings.Cut(eng.Name(), ",")
	return strings.ReplaceAll(kind, "(", "")
}

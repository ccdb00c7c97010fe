package train

import (
	"os"
)

// claim makes the run folder if it is not there, and locks it for this process,
// before anything in it is touched. The system gives the lock back
// when the process ends, however it ends.
func (s *Session) claim() error {
	if err := os.MkdirAll(string(s.folder), 0o755); err != nil {
		return err
	}
	f, err := s.folder.Lock()
	if err != nil {
		return err
	}
	s.lock = f
	return s.folder.SweepTemporary()
}

// unlock gives the folder free.
func (s *Session) unlock() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}

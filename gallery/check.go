package gallery

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Check verifies every row, path and class of an index and says what it holds. Nothing of
// it stays in memory. The error is ErrDamaged if a checksum does not agree.
func Check(path string) (info Info, rows int, err error) {
	err = reading(path, func(f *os.File, s *state) error {
		info, rows = s.Info, s.live()
		return (&contents{}).verify(f, s)
	})
	return info, rows, err
}

// reading does something with the file of an index and its state. If it finds damage, it
// is done once more when no append is under way, which changes the commits.
func reading(path string, do func(f *os.File, s *state) error) error {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	once := func() error {
		stat, err := f.Stat()
		if err != nil {
			return err
		}
		s, err := readState(f, stat.Size())
		if err != nil {
			return err
		}
		return do(f, s)
	}
	if err = once(); errors.Is(err, ErrDamaged) && lock(f, syscall.LOCK_SH) == nil {
		err = once()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

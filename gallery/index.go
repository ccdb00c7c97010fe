package gallery

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Open reads an index into memory: the rows that were there at that time, whatever
// is appended or happens to the file afterwards. Every row, path and class is compared
// with its checksum; the error is ErrDamaged if one does not agree.
//
// The file is read and not mapped: rows that were verified cannot change any more, and
// a file that another program cuts short is an error here and not a fault in the middle
// of a search.
func Open(path string) (t *Table, err error) {
	err = reading(path, func(f *os.File, s *state) (err error) {
		t, err = s.read(f)
		return err
	})
	return t, err
}

// Info says by which metric and model the rows are.
func (t *Table) Info() Info { return Info{t.Metric, t.Model, t.H} }

// openRegular opens a file, and refuses what would block or never end, such as
// a named pipe.
func openRegular(path string, flag int) (*os.File, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !stat.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.OpenFile(path, flag, 0)
}

// lock waits until no other process holds a lock that excludes this one. Closing
// the file ends it.
func lock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

package gallery

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/vernier-ml/vernier/internal/plural"
)

// Append adds the rows of a table to an index, or makes one if there is none,
// and says how many rows it then has. Once it returns, they are on the disk;
// if it does not, the index has either the rows of before or all of them. Processes
// that append to an index or make it take turns. The error is ErrOtherModel
// if the index is of another metric or model, and ErrDamaged if it is damaged: then
// the file stays as it is.
func Append(path string, info Info, t *Table) (rows int, err error) {
	_, rows, err = add(path, info, t, func(*os.File, *state) (*Table, error) { return t, nil })
	return rows, err
}

// Create makes an index of the rows of a table. A file of that name stays as it is
// until the new one is whole, and then is replaced by it.
func Create(path string, info Info, t *Table) error {
	if err := fit(info, t); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return locked(path, info, t, func(*os.File) error { return create(path, info, t, replace) })
}

// fit says what is wrong with rows, or with what is said of them.
func fit(info Info, t *Table) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if err := info.validate(); err != nil {
		return err
	}
	if t.H != info.Dim {
		return fmt.Errorf("rows of %s, the model makes %d", plural.Of(t.H, "number"), info.Dim)
	}
	return nil
}

// add appends what choose picks of a table, under the lock of an index.
func add(path string, info Info, t *Table, choose func(*os.File, *state) (*Table, error)) (added, rows int, err error) {
	if err := fit(info, t); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	added, rows = t.N, t.N
	err = locked(path, info, t, func(f *os.File) error {
		stat, err := f.Stat()
		if err != nil {
			return err
		}
		s, err := readState(f, stat.Size())
		if err == nil {
			err = s.Info.Same(info)
		}
		if err == nil {
			t, err = choose(f, s)
		}
		if err == nil && t.N > 0 {
			err = s.append(f, t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		added, rows = t.N, int(s.rows)
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	return added, rows, nil
}

// locked does something with the file of an index while no other process does, or
// makes an index if there is none.
func locked(path string, info Info, t *Table, do func(f *os.File) error) error {
	for {
		f, err := openRegular(path, os.O_RDWR)
		if errors.Is(err, fs.ErrNotExist) {
			if err = create(path, info, t, publish); errors.Is(err, fs.ErrExist) {
				continue // another process was faster
			}
			return err
		}
		if err != nil {
			return err
		}
		again, err := whileLocked(f, path, do)
		if err = errors.Join(err, f.Close()); !again || err != nil {
			return err
		}
	}
}

// whileLocked reports again if another process has put another file at path, or
// removed it, while this one waited.
func whileLocked(f *os.File, path string, do func(f *os.File) error) (again bool, err error) {
	if err := lock(f, syscall.LOCK_EX); err != nil {
		return false, fmt.Errorf("locking %s: %w", path, err)
	}
	stat, err := f.Stat()
	if err != nil {
		return false, err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(stat, now) {
		return true, nil
	}
	return false, do(f)
}

// file is what appending needs of one.
type file interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// append writes a block behind the last one, and then that it counts.
func (s *state) append(f file, t *Table) error {
	h, texts, err := newBlock(t, s.commit)
	if err != nil {
		return err
	}
	// What an interrupted append left goes first: unequal commits, and bytes behind
	// the end.
	if s.unequal {
		if err := s.commit.write(f); err != nil {
			return err
		}
		s.unequal = false
	}
	if err := f.Truncate(s.end); err != nil {
		return err
	}
	err = writeBlock(f, s.end, h, t, texts)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Truncate(s.end) // a full disk has its room back
		return err
	}
	next := s.commit.next(h)
	if err := next.write(f); err != nil {
		return err
	}
	s.list = append(s.list, block{h, s.end, int(s.rows)})
	s.commit = next
	return nil
}

// write writes a commit to its two places, the second when the first is on the disk.
func (c commit) write(f file) error {
	for _, at := range commitAt {
		if _, err := f.WriteAt(c.encode(), at); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return nil
}

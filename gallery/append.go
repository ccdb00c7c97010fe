package gallery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/vernier-ml/vernier/internal/plural"
)

// Append adds the rows of a table to an index, or makes one if there is none, and says how
// many rows it then has. It is OpenFile and Upsert: rows whose key or path the index has
// take their place. Once it returns, they are on the disk; if it does not, the index has
// either the rows of before or all of them. Processes that append to an index or make it
// take turns. The error is ErrOtherModel if the index is of another metric or model, and
// ErrDamaged if it is damaged: then the file stays as it is.
func Append(path string, info Info, t *Table) (rows int, err error) {
	if err := fit(info, t); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	s := &File{path: path, info: info}
	if _, err := s.Upsert(context.Background(), t); err != nil {
		return 0, err
	}
	stats, err := s.Stats(context.Background())
	return stats.Rows, err
}

// Create makes an index of the rows of a table. A file of that name stays as it is
// until the new one is whole, and then is replaced by it.
func Create(path string, info Info, t *Table) error {
	if err := fit(info, t); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t, _, err := Distinct(t)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	begin := func() error { return create(path, info, t, publish) }
	return locked(path, begin, func(*os.File) error { return create(path, info, t, replace) })
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

// locked does something with the file of an index while no other process does, or
// begins one if there is none.
func locked(path string, begin func() error, do func(f *os.File) error) error {
	for {
		f, err := openRegular(path, os.O_RDWR)
		if errors.Is(err, fs.ErrNotExist) {
			if err = begin(); errors.Is(err, fs.ErrExist) {
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
func (s *state) append(f file, c change) error {
	h, rest, err := newBlock(c, s.commit)
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
	err = writeBlock(f, s.end, h, c.add.X, rest)
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

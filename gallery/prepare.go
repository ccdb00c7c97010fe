package gallery

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// Prepared is an index that was read and verified before rows are added to it, so that
// nothing that takes long, such as embedding images, is begun for an index that cannot
// take them.
type Prepared struct {
	path   string
	info   Info
	blocks []block         // that were verified
	paths  map[string]bool // of their rows
}

// Prepare verifies every row, path and class of the index at path, which need not be
// there yet. Paths stay in memory, rows do not. The error is ErrOtherModel if the index is
// of another metric or model, which its header alone tells, and ErrDamaged if a checksum
// does not agree.
func Prepare(path string, info Info) (*Prepared, error) {
	p := &Prepared{path: path, info: info, paths: map[string]bool{}}
	err := reading(path, func(f *os.File, s *state) error {
		if err := s.Info.Same(info); err != nil {
			return err
		}
		clear(p.paths)
		p.blocks = s.list
		return s.verify(f, p.learn)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	return p, err
}

// learn keeps the paths of a block, whose texts are given.
func (p *Prepared) learn(texts []string) {
	for i := 0; i < len(texts); i += 2 {
		p.paths[texts[i]] = true
	}
}

// AppendNew is Append without the rows whose paths the index has already. Rows without a
// path are always added. Of the index no more is read than what other processes have
// appended since Prepare.
func (p *Prepared) AppendNew(t *Table) (added, rows int, err error) {
	return add(p.path, p.info, t, func(f *os.File, s *state) (*Table, error) {
		if n := len(p.blocks); n > len(s.list) || !slices.Equal(s.list[:n], p.blocks) {
			p.blocks = nil // another file has taken its place
			clear(p.paths)
		}
		for _, b := range s.list[len(p.blocks):] {
			texts, err := b.readTexts(f, s.Dim)
			if err != nil {
				return nil, damagedf("%w", err)
			}
			p.learn(texts)
		}
		var fresh []int
		for i := range t.N {
			if path := t.Path(i); path == "" || !p.paths[path] {
				fresh = append(fresh, i)
			}
		}
		return t.Select(fresh), nil
	})
}

// Check verifies every row, path and class of an index and says what it holds. Nothing of
// it stays in memory. The error is ErrDamaged if a checksum does not agree.
func Check(path string) (info Info, rows int, err error) {
	err = reading(path, func(f *os.File, s *state) error {
		info, rows = s.Info, int(s.rows)
		return s.verify(f, func([]string) {})
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

// verify reads all blocks and drops them. of gets the path and the class of each row, block
// by block.
func (s *state) verify(r io.ReaderAt, of func(texts []string)) error {
	for _, b := range s.list {
		texts, err := b.verify(r, s.Dim)
		if err != nil {
			return damagedf("%w", err)
		}
		of(texts)
	}
	return nil
}

package gallery

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// maxSegments is how many appends are kept apart; then all are joined, since
// every segment is searched by itself.
const maxSegments = 64

// Append adds the rows of a table to an index, or makes one if there is none,
// and says how many rows it then has. Whatever happens meanwhile, the file has
// either the rows of before or all of them. Appending processes take turns.
// The error is ErrOtherModel if the index is of another metric or model.
func Append(path string, info Info, t *Table) (rows int, err error) {
	if err := fit(info, t); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	for {
		f, err := lockIndex(path)
		if errors.Is(err, fs.ErrNotExist) {
			return t.N, create(path, info, t)
		}
		if err != nil {
			return 0, err
		}
		rows, again, err := appendLocked(f, path, info, t)
		f.Close()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		if !again {
			return rows, nil
		}
	}
}

// Create makes an index of the rows of a table. A file of that name stays as it is
// until the new one is whole, and then is replaced by it.
func Create(path string, info Info, t *Table) error {
	if err := fit(info, t); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return create(path, info, t)
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

// lockIndex opens an index and waits until no other process appends to it.
func lockIndex(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
	}
}

// appendLocked appends to a locked file. again says that another process has
// put a new file in its place meanwhile.
func appendLocked(f *os.File, path string, info Info, t *Table) (rows int, again bool, err error) {
	stat, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(stat, now) {
		return 0, true, nil
	}
	have, c, err := readHeader(f, stat.Size())
	if err != nil {
		return 0, false, err
	}
	if err := have.Same(info); err != nil {
		return 0, false, err
	}
	if c.segments < maxSegments {
		c, err = appendSegment(f, c, t)
		return int(c.rows), false, err
	}
	x, err := openFile(f)
	if err != nil {
		return 0, false, err
	}
	defer x.Close()
	whole := x.join(t)
	return whole.N, false, create(path, info, whole)
}

// file is what appending needs of one.
type file interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// appendSegment writes a segment behind the last one, and then that it counts.
func appendSegment(f file, c commit, t *Table) (commit, error) {
	b, err := encodeSegment(t)
	if err != nil {
		return c, err
	}
	// What an interrupted process has left goes first.
	if err := f.Truncate(c.end); err != nil {
		return c, err
	}
	if _, err := f.WriteAt(b, c.end); err != nil {
		return c, err
	}
	if err := f.Sync(); err != nil {
		return c, err
	}
	next := commit{c.number + 1, c.rows + uint64(t.N), c.segments + 1, c.end + int64(len(b))}
	if _, err := f.WriteAt(next.encode(), next.at()); err != nil {
		return c, err
	}
	return next, f.Sync()
}

// create makes an index of one segment.
func create(path string, info Info, t *Table) error {
	header, err := encodeHeader(info)
	if err != nil {
		return err
	}
	f, err := wholefile.Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.WriteAt(header, 0); err != nil {
		return err
	}
	if _, err := appendSegment(f.File, commit{end: headerSize}, t); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return f.CloseAtomicallyReplace()
}

// Table copies the rows into memory.
func (x *Index) Table() *Table { return x.join(nil) }

// join copies all rows and those of a table behind them.
func (x *Index) join(more *Table) *Table {
	n := x.rows
	if more != nil {
		n += more.N
	}
	t := &Table{Embeddings: &eval.Embeddings{X: make([]float32, 0, n*x.Dim), N: n, H: x.Dim}, Metric: x.Metric, Model: x.Model}
	for _, s := range x.segments {
		t.X = append(t.X, s.X...)
		for i := range s.N {
			t.Paths = append(t.Paths, s.text(2*i))
			t.Classes = append(t.Classes, s.text(2*i+1))
		}
	}
	if more == nil {
		return t
	}
	t.X = append(t.X, more.X...)
	for i := range more.N {
		t.Paths, t.Classes = append(t.Paths, more.Path(i)), append(t.Classes, more.Class(i))
	}
	return t
}

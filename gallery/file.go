package gallery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/metric"
)

// File is a Store in one file, an index: exact, and crash-safe. What other processes write
// to it is seen by the next call. Keys, paths and classes are in memory; rows are from the
// first search on, which reads them.
type File struct {
	path string
	info Info
	eng  eval.Engine

	mu    sync.Mutex // held while the file is read or written
	last  os.FileInfo
	at    commit // that was read
	known contents
	x     []float32 // of the blocks that were loaded
	full  int       // how many of the blocks were
	rows  *eval.Searcher
	view  *view // nil if it is out of date
	close []func()
}

// view is the rows of a file at one time.
type view struct {
	contents
	rows *eval.Searcher // nil without rows
}

// OpenFile opens an index as a store, and verifies all of it. info says for which metric and
// model; where it is the zero Info, the index may be of any and must be there. Otherwise it
// need not be there: the first Upsert makes it. In place of a nil engine searches have one
// on all processors of the CPU.
func OpenFile(path string, info Info, eng eval.Engine) (*File, error) {
	s := &File{path: path, info: info, eng: eng}
	err := reading(path, func(f *os.File, st *state) error {
		if info == (Info{}) {
			s.info = st.Info
		} else if err := st.Info.Same(info); err != nil {
			return err
		}
		return s.learn(f, st, (*contents).verify)
	})
	if errors.Is(err, fs.ErrNotExist) && info != (Info{}) {
		return s, info.validate()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Info implements Store.
func (s *File) Info() Info { return s.info }

// Exact implements Store: candidates are the nearest rows.
func (s *File) Exact() bool { return true }

// Close implements Store.
func (s *File) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.close {
		end()
	}
	s.close, s.view, s.rows = nil, nil, nil
	return nil
}

// learn reads what it does not know yet of the file.
func (s *File) learn(f *os.File, st *state, how func(c *contents, r io.ReaderAt, st *state) error) error {
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	if s.last == nil || !os.SameFile(s.last, stat) || !s.known.begins(st) {
		s.known, s.x, s.full, s.rows = contents{}, nil, 0, nil
	}
	s.view = nil
	if err := how(&s.known, f, st); err != nil {
		s.last = nil
		return err
	}
	s.last, s.at = stat, st.commit
	return nil
}

// refresh reads what others have written to the file. A file that is not there has no rows.
func (s *File) refresh() error {
	f, err := openRegular(s.path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		s.last, s.at, s.known, s.x, s.full, s.rows, s.view = nil, commit{}, contents{}, nil, 0, nil, nil
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if s.unchanged(f) {
		return nil
	}
	return reading(s.path, func(f *os.File, st *state) error {
		if err := st.Info.Same(s.info); err != nil {
			return err
		}
		return s.learn(f, st, (*contents).follow)
	})
}

// unchanged reports whether a file is that which was read, by its commits alone.
func (s *File) unchanged(f *os.File) bool {
	stat, err := f.Stat()
	if err != nil || s.last == nil || !os.SameFile(s.last, stat) {
		return false
	}
	var b [commitSize]byte
	for _, at := range commitAt {
		if readFull(f, b[:], at) != nil {
			return false
		}
		if c, ok := decodeCommit(b[:]); !ok || c != s.at {
			return false
		}
	}
	return true
}

// Upsert implements Store. It makes the file if it is not there.
func (s *File) Upsert(ctx context.Context, rows *Table) (did Changes, err error) {
	if rows.N == 0 {
		return did, nil
	}
	if err := fit(s.info, rows); err != nil {
		return did, fmt.Errorf("%s: %w", s.path, err)
	}
	t, repeated, err := Distinct(rows)
	if err != nil {
		return did, fmt.Errorf("%s: %w", s.path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return did, context.Cause(ctx)
	}
	did = Changes{Added: t.N, Repeated: repeated}
	begin := func() error { return create(s.path, s.info, t, publish) }
	err = locked(s.path, begin, func(f *os.File) error {
		return s.change(f, func() (c change, err error) {
			c, did, err = s.known.plan(t, func(row int32, x []float32) (bool, error) { return s.has(f, row, x) })
			did.Repeated = repeated
			return c, err
		})
	})
	if err != nil {
		return Changes{}, err
	}
	return did, nil
}

// change appends the change that plan makes, to a file that is locked.
func (s *File) change(f *os.File, plan func() (change, error)) error {
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	st, err := readState(f, stat.Size())
	if err == nil {
		err = st.Info.Same(s.info)
	}
	if err == nil {
		err = s.learn(f, st, (*contents).follow)
	}
	var c change
	if err == nil {
		c, err = plan()
	}
	if err == nil && (c.add.N > 0 || len(c.remove) > 0) {
		if err = st.append(f, c); err == nil {
			err = s.learn(f, st, (*contents).follow)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

// has reports whether a row of the file has the given numbers.
func (s *File) has(f *os.File, row int32, want []float32) (bool, error) {
	i, found := slices.BinarySearchFunc(s.known.blocks, int(row), func(b block, row int) int {
		switch {
		case row < b.first:
			return 1
		case row >= b.first+b.rows:
			return -1
		}
		return 0
	})
	if !found {
		return false, nil
	}
	have := make([]float32, len(want))
	if err := s.known.blocks[i].readRow(f, int(row), have); err != nil {
		return false, err
	}
	return slices.Equal(have, want), nil
}

// Remove implements Store.
func (s *File) Remove(ctx context.Context, where Filter) (removed int, err error) {
	if where.Empty() {
		return 0, ErrNothingNamed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	missing := func() error { return &fs.PathError{Op: "open", Path: s.path, Err: fs.ErrNotExist} }
	err = locked(s.path, missing, func(f *os.File) error {
		return s.change(f, func() (change, error) {
			c := change{add: (&Table{Embeddings: &eval.Embeddings{H: s.info.Dim}})}
			for _, row := range s.known.rows(where) {
				c.remove = append(c.remove, uint32(row))
			}
			removed = len(c.remove)
			return c, nil
		})
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it has no rows
	}
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// current is the rows as they are now, for searches.
func (s *File) current() (*view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// now is current while mu is held.
func (s *File) now() (*view, error) {
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if s.view != nil {
		return s.view, nil
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	if n := len(s.known.keys); n > 0 {
		if err := s.prepare(&eval.Embeddings{X: s.x, N: n, H: s.info.Dim}); err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	s.view = &view{contents: s.known, rows: s.rows}
	s.view.byKey, s.view.byPath = nil, nil // they change
	return s.view, nil
}

// load reads the rows of the blocks that it has not read yet.
func (s *File) load() error {
	blocks := s.known.blocks[s.full:]
	if len(blocks) == 0 {
		return nil
	}
	f, err := openRegular(s.path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if stat, err := f.Stat(); err != nil || !os.SameFile(s.last, stat) {
		return fmt.Errorf("%s: another file has taken its place just now; search again", s.path)
	}
	h := s.info.Dim
	for _, b := range blocks {
		n := (b.first + b.rows) * h
		if s.x == nil {
			s.x = make([]float32, 0, len(s.known.keys)*h)
		}
		s.x = slices.Grow(s.x, n-len(s.x))[:n]
		if err := b.readRows(f, s.x[b.first*h:n], h); err != nil {
			s.x = s.x[:b.first*h]
			return fmt.Errorf("%s: %w", s.path, damagedf("%w", err))
		}
		s.full++
	}
	return nil
}

// prepare makes the searcher of all rows, or lets that of the first ones grow.
func (s *File) prepare(all *eval.Embeddings) (err error) {
	if s.rows != nil {
		s.rows, err = s.rows.Grown(all)
		return err
	}
	m, err := metric.Parse(s.info.Metric)
	if err != nil {
		return err
	}
	if s.rows, err = eval.NewSearcher(s.eng, all, m); err != nil {
		return err
	}
	s.close = append(s.close, s.rows.Close)
	return nil
}

// Stats implements Store.
func (s *File) Stats(context.Context) (Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return Stats{}, err
	}
	n := len(s.known.keys) - s.known.removed
	return Stats{Rows: n, Removed: s.known.removed, Bytes: s.at.end, Index: "exact search in memory"}, nil
}

// Known implements Store.
func (s *File) Known(_ context.Context, keys []string) (map[string]Label, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	s.known.find()
	there := map[string]Label{}
	for _, key := range keys {
		if row := s.known.row(key); row >= 0 {
			there[key] = Label{s.known.paths[row], s.known.classes[row]}
		}
	}
	return there, nil
}

// KeysAt implements Store.
func (s *File) KeysAt(_ context.Context, paths []string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	s.known.find()
	keys := map[string]string{}
	for _, path := range paths {
		if row := s.known.rowAt(path); row >= 0 {
			keys[path] = s.known.keys[row]
		}
	}
	return keys, nil
}

// Get implements Store.
func (s *File) Get(_ context.Context, keys []string) (*Table, error) {
	v, rows, err := s.rowsOf(keys)
	if err != nil {
		return nil, err
	}
	return s.pick(v, rows), nil
}

// rowsOf finds rows by their keys.
func (s *File) rowsOf(keys []string) (*view, []int32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.now()
	if err != nil {
		return nil, nil, err
	}
	s.known.find()
	var rows []int32
	for _, key := range keys {
		if row := s.known.row(key); row >= 0 {
			rows = append(rows, row)
		}
	}
	return v, rows, nil
}

// none is a table without rows.
func (s *File) none() *Table {
	return &Table{Embeddings: &eval.Embeddings{H: s.info.Dim}, Keys: []string{}, Paths: []string{}, Classes: []string{}, Metric: s.info.Metric, Model: s.info.Model}
}

// pick copies rows of a view.
func (s *File) pick(v *view, rows []int32) *Table {
	t := s.none()
	t.N = len(rows)
	for _, row := range rows {
		t.X = append(t.X, v.rows.Gallery().Row(int(row))...)
		t.Keys, t.Paths, t.Classes = append(t.Keys, v.keys[row]), append(t.Paths, v.paths[row]), append(t.Classes, v.classes[row])
	}
	return t
}

// Candidates implements Store. They are the nearest rows by the metric.
func (s *File) Candidates(ctx context.Context, queries *eval.Embeddings, n int, where Filter) ([]*Table, error) {
	if n < 1 {
		return nil, fmt.Errorf("%s asked for, want at least 1", plural.Of(n, "candidate"))
	}
	v, err := s.current()
	if err != nil {
		return nil, err
	}
	lists := make([]*Table, queries.N)
	rows := v.contents.rows(where)
	there := len(rows)
	if rows == nil {
		there = len(v.keys)
	}
	if there == 0 {
		for q := range lists {
			lists[q] = s.none()
		}
		return lists, nil
	}
	list, err := v.rows.NearestOf(ctx, rows, queries, min(n, there), eval.SearchOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	for q := range lists {
		near, _ := list.Of(q)
		lists[q] = s.pick(v, near)
	}
	return lists, nil
}

// scanRows is how many rows Scan hands over at a time.
const scanRows = 4096

// Scan implements Store.
func (s *File) Scan(ctx context.Context, where Filter, do func(*Table) error) error {
	v, err := s.current()
	if err != nil {
		return err
	}
	rows := v.contents.rows(where)
	if rows == nil {
		rows = make([]int32, len(v.keys))
		for i := range rows {
			rows[i] = int32(i)
		}
	}
	for part := range slices.Chunk(rows, scanRows) {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := do(s.pick(v, part)); err != nil {
			return err
		}
	}
	return nil
}

package gallery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// Store is a gallery that changes: an index (OpenFile), a table of a database, or several
// stores as one (Shards). A row has a key, which is unique in it, and of images is the
// SHA-256 of their file: the same image under another path is the same row. A path
// that is not empty is unique too: an image that has changed takes the place of what
// was at its path.
//
// A store is of one metric and model. Every call compares them with those that it was opened
// for, since others may write to it, and its error is ErrOtherModel if they differ.
// Several goroutines may use a store at a time.
type Store interface {
	// Info says whose rows the store holds.
	Info() Info
	// Stats says what it holds.
	Stats(ctx context.Context) (Stats, error)
	// Upsert adds rows, and replaces those whose key or path it has. A path or class that
	// is empty does not replace a known one. See Distinct for what becomes of keys and
	// paths that are given twice. Once it returns, the rows are
	// there for good; if it does not, or with an error, each store that a row may be
	// in has either all of its rows or none. Labels are not kept.
	Upsert(ctx context.Context, rows *Table) (Changes, error)
	// Remove removes the rows that a filter lets through and says how many there were. An
	// empty filter is an error.
	Remove(ctx context.Context, where Filter) (removed int, err error)
	// Get returns the rows that have the given keys, in their order, without those that
	// are not there.
	Get(ctx context.Context, keys []string) (*Table, error)
	// Known is Get without the numbers: of each key that is there the path and the class.
	Known(ctx context.Context, keys []string) (map[string]Label, error)
	// KeysAt returns of each path that is there the key of its row.
	KeysAt(ctx context.Context, paths []string) (map[string]string, error)
	// Candidates returns for every query up to n rows that a filter lets through, nearest
	// first: by the metric itself if the store is exact, else by what a database
	// compares fast. They are n unless no more rows are let through.
	Candidates(ctx context.Context, queries *eval.Embeddings, n int, where Filter) ([]*Table, error)
	// Exact reports whether candidates are the nearest rows by the metric itself.
	Exact() bool
	// Scan calls do with all rows that a filter lets through, some at a time.
	Scan(ctx context.Context, where Filter, do func(*Table) error) error
	// Close ends the use of the store.
	Close() error
}

// Label is what is known of an image.
type Label struct{ Path, Class string }

// Stats says what a store holds.
type Stats struct {
	Rows    int   `json:"rows"`
	Removed int   `json:"removed,omitempty"` // rows that take room and do not count
	Bytes   int64 `json:"bytes,omitempty"`   // that all of it takes; 0 if the store does not say
	// Index describes how candidates are found.
	Index string `json:"index"`
}

// ErrNothingNamed says that a filter of Remove names no rows.
var ErrNothingNamed = errors.New("which rows are to be removed? The filter names none")

// ErrTooFew says that a store has found fewer rows than it has.
var ErrTooFew = errors.New("the store returned fewer rows than it has")

// ErrNoGallery says that a table or collection that is to be read is not there.
var ErrNoGallery = errors.New("there is no gallery")

// ErrUnavailable says that a store cannot be reached or takes no more connections at the
// moment. The same call may be made again later.
var ErrUnavailable = errors.New("the gallery does not answer")

// Match is a row of a store and its distance from a query.
type Match struct {
	Key      string  `json:"key"`
	Path     string  `json:"path,omitempty"`
	Class    string  `json:"class,omitempty"`
	Distance float64 `json:"distance"` // as eval.Distance
}

// SearchOptions choose among the rows of a store.
type SearchOptions struct {
	Where Filter
	// Candidates are asked of a store that is not exact, for each query; 0 means
	// DefaultCandidates or 20 for each neighbor, whichever is more.
	Candidates int
}

// DefaultCandidates are enough for a recall at 10 of 0.999 by BRM and pgvector's index on the
// hardest rows that were measured (docs/search.md): dense clusters of some 600 rows.
const DefaultCandidates = 400

// candidates is how many rows are asked of a store.
func (o SearchOptions) candidates(s Store, k int) int {
	switch {
	case s.Exact():
		return k
	case o.Candidates > 0:
		return max(o.Candidates, k)
	}
	return max(DefaultCandidates, 20*k)
}

// Search finds the k nearest rows of a store for every query, nearest first and by their
// keys among equals. Every distance is computed from the numbers of the row, in float64, by
// the metric of the store. There are fewer than k only where the store has fewer that are
// let through. info says which model makes the queries; the error is ErrOtherModel if it
// is not that of the store.
func Search(ctx context.Context, s Store, queries *eval.Embeddings, info Info, k int, opt SearchOptions) ([][]Match, error) {
	if err := s.Info().Same(info); err != nil {
		return nil, err
	}
	m, err := metric.Parse(info.Metric)
	if err != nil {
		return nil, err
	}
	if k < 1 {
		return nil, fmt.Errorf("%d neighbors asked for, want at least 1", k)
	}
	if err := queries.Validate(); err != nil {
		return nil, fmt.Errorf("queries: %w", err)
	}
	if queries.H != info.Dim {
		return nil, fmt.Errorf("queries of %d numbers, the model makes %d", queries.H, info.Dim)
	}
	lists, err := s.Candidates(ctx, queries, opt.candidates(s, k), opt.Where)
	if err != nil {
		return nil, err
	}
	found := make([][]Match, queries.N)
	for q, rows := range lists {
		if found[q], err = rank(m, queries.Row(q), rows, k); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// rank is the k rows of a table that are nearest to a query.
func rank(m metric.Metric, query []float32, t *Table, k int) ([]Match, error) {
	list := make([]Match, t.N)
	for i := range list {
		d, err := eval.Distance(m, query, t.Row(i))
		if err != nil {
			return nil, err
		}
		list[i] = Match{t.Keys[i], t.Path(i), t.Class(i), d}
	}
	slices.SortFunc(list, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(k, len(list))], nil
}

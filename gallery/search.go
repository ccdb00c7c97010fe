package gallery

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// Hit is a row of an index and its distance from a query.
type Hit struct {
	Row      int
	Distance float64 // as eval.Distance
}

// Rows is the number of rows.
func (t *Table) Rows() int { return t.N }

// Path is that of the image of a row, empty if it is not known.
func (t *Table) Path(row int) string { return textOf(t.Paths, row) }

// Class is that of a row, empty if it is not known.
func (t *Table) Class(row int) string { return textOf(t.Classes, row) }

func textOf(list []string, row int) string {
	if list == nil {
		return ""
	}
	return list[row]
}

// Searcher is a table that is prepared for searches by a metric: what they need to know
// of all rows is found out once. Several goroutines may search at a time where the engine
// lets them; the CPU engine does for 32 queries at a time.
type Searcher struct {
	table *Table
	rows  *eval.Searcher // nil without rows
}

// Searcher prepares searches. info says which model makes the queries; the error is
// ErrOtherModel if it is not that of the table. A table that does not say by which metric
// or model it is, is searched by the metric of the queries, as if it were theirs. The
// table must not change any more. In place of a nil engine there is one on all processors
// of the CPU, until Close.
func (t *Table) Searcher(eng eval.Engine, info Info) (*Searcher, error) {
	m, err := t.metricFor(info)
	if err != nil {
		return nil, err
	}
	s := &Searcher{table: t}
	if t.N > 0 {
		s.rows, err = eval.NewSearcher(eng, t.Embeddings, m)
	}
	return s, err
}

// metricFor is the metric by which queries of a model search the table, ErrOtherModel if
// it is not that of the table.
func (t *Table) metricFor(info Info) (metric.Metric, error) {
	have := Info{cmp.Or(t.Metric, info.Metric), cmp.Or(t.Model, info.Model), t.H}
	if err := have.Same(info); err != nil {
		return metric.Metric{}, err
	}
	return metric.Parse(info.Metric)
}

// hitsOf are the neighbors of each query.
func hitsOf(list *eval.NeighborList) [][]Hit {
	hits := make([][]Hit, list.Queries)
	for q := range hits {
		index, distance := list.Of(q)
		for i, row := range index {
			hits[q] = append(hits[q], Hit{int(row), distance[i]})
		}
	}
	return hits
}

// Close closes the engine that Table.Searcher made, if it did.
func (s *Searcher) Close() {
	if s.rows != nil {
		s.rows.Close()
	}
}

// Table returns what is searched.
func (s *Searcher) Table() *Table { return s.table }

// Search finds the k nearest rows of every query, nearest first and the lower
// row first among equals, exactly; fewer than k if there are fewer rows.
func (s *Searcher) Search(ctx context.Context, queries *eval.Embeddings, k int, opt eval.SearchOptions) ([][]Hit, error) {
	n := s.table.N
	if opt.Self != nil {
		n--
	}
	if k < 1 || n < 1 {
		return nil, fmt.Errorf("%d neighbors asked for of %d rows, want at least 1", k, n)
	}
	list, err := s.rows.Nearest(ctx, queries, min(k, n), opt)
	if err != nil {
		return nil, err
	}
	hits := hitsOf(list)
	for q := range hits {
		// Distances that differ before rounding may be equal after it.
		slices.SortFunc(hits[q], func(a, b Hit) int {
			return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Row, b.Row))
		})
	}
	return hits, nil
}

// Search is Searcher.Search for a table that is searched once.
func (t *Table) Search(ctx context.Context, eng eval.Engine, queries *eval.Embeddings, info Info, k int, opt eval.SearchOptions) ([][]Hit, error) {
	s, err := t.Searcher(eng, info)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Search(ctx, queries, k, opt)
}

// Find reads what lies at a path: an index, a file of a table, or a folder that
// vernier export wrote.
func Find(path string) (*Table, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if stat.IsDir() {
		return Read(path)
	}
	head, err := firstBytes(path, len(magic))
	switch {
	case err != nil:
		return nil, err
	case len(head) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case strings.HasPrefix(head, magic[:versionAt]):
		return Open(path)
	case !slices.Contains(formats, ending(path)):
		return nil, fmt.Errorf("%s is neither an index, which begins with %q and not with %q, nor a file of embeddings, whose name ends in .%s",
			path, magic[:versionAt], head, strings.Join(formats, ", ."))
	}
	return Read(path)
}

// firstBytes are the first n bytes of a file, or all if it is shorter.
func firstBytes(path string, n int) (string, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(n)))
	return string(b), err
}

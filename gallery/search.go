package gallery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// Hit is a row of an index and its distance from a query.
type Hit struct {
	Row      int
	Distance float64 // as eval.Distance
}

// Gallery is what is searched: a Table or an Index.
type Gallery interface {
	Rows() int
	Path(row int) string  // of the image, empty if it is not known
	Class(row int) string // empty if it is not known
	// Search finds the k nearest rows of every query; see Index.Search.
	Search(ctx context.Context, eng eval.Engine, queries *eval.Embeddings, info Info, k int, opt eval.SearchOptions) ([][]Hit, error)
}

// Rows is the number of rows.
func (t *Table) Rows() int { return t.N }

// Path implements Gallery.
func (t *Table) Path(row int) string { return textOf(t.Paths, row) }

// Class implements Gallery.
func (t *Table) Class(row int) string { return textOf(t.Classes, row) }

func textOf(list []string, row int) string {
	if list == nil {
		return ""
	}
	return list[row]
}

// Search is Index.Search for a table. One that does not say by which metric or
// model is searched by the metric of the queries, as if it were theirs.
func (t *Table) Search(ctx context.Context, eng eval.Engine, queries *eval.Embeddings, info Info, k int, opt eval.SearchOptions) ([][]Hit, error) {
	have := Info{cmp.Or(t.Metric, info.Metric), cmp.Or(t.Model, info.Model), t.H}
	if err := have.Same(info); err != nil {
		return nil, err
	}
	m, err := metric.Parse(info.Metric)
	if err != nil {
		return nil, err
	}
	most := t.N
	if opt.Self != nil {
		most--
	}
	if k < 1 || most < 1 {
		return nil, fmt.Errorf("%d neighbours asked for of %d rows, want at least 1", k, most)
	}
	list, err := eval.Neighbors(ctx, eng, queries, t.Embeddings, m, min(k, most), opt)
	if err != nil {
		return nil, err
	}
	hits := make([][]Hit, queries.N)
	for q := range hits {
		index, distance := list.Of(q)
		for i, row := range index {
			hits[q] = append(hits[q], Hit{int(row), distance[i]})
		}
	}
	return hits, nil
}

// Find opens what lies at a path: an index, a file of a table, or a folder that
// vernier export wrote. close ends its use.
func Find(path string) (g Gallery, close func() error, err error) {
	is, err := isIndex(path)
	if err != nil {
		return nil, nil, err
	}
	if is {
		x, err := Open(path)
		if err != nil {
			return nil, nil, err
		}
		return x, x.Close, nil
	}
	t, err := Read(path)
	if err != nil {
		return nil, nil, err
	}
	return t, func() error { return nil }, nil
}

func isIndex(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return false, err
	}
	head := make([]byte, len(magic))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return string(head[:n]) == magic, nil
}

// Search finds the k nearest rows of every query, nearest first and the lower
// row first among equals, exactly; fewer than k if there are fewer rows. info
// says which model made the queries; the error is ErrOtherModel if it is not
// that of the index.
func (x *Index) Search(ctx context.Context, eng eval.Engine, queries *eval.Embeddings, info Info, k int, opt eval.SearchOptions) ([][]Hit, error) {
	if err := x.Same(info); err != nil {
		return nil, err
	}
	if k < 1 {
		return nil, fmt.Errorf("%d neighbours asked for, want at least 1", k)
	}
	if opt.Self != nil {
		return nil, errors.New("a search in an index leaves no row out")
	}
	m, err := metric.Parse(x.Metric)
	if err != nil {
		return nil, err
	}
	hits := make([][]Hit, queries.N)
	for _, s := range x.segments {
		list, err := eval.Neighbors(ctx, eng, queries, s.Embeddings, m, min(k, s.N), opt)
		if err != nil {
			return nil, err
		}
		for q := range hits {
			index, distance := list.Of(q)
			for i, row := range index {
				hits[q] = append(hits[q], Hit{s.first + int(row), distance[i]})
			}
			slices.SortFunc(hits[q], func(a, b Hit) int {
				return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Row, b.Row))
			})
			hits[q] = hits[q][:min(k, len(hits[q]))]
		}
	}
	return hits, nil
}

package eval

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// Some rows are searched as if the others were not there, on every way of a Searcher.
func TestSearchAmongSomeRows(t *testing.T) {
	for set, e := range searchSets() {
		rows := []int32{1, 2, 5, 7, 12, 13, 14, 15, 16, 17, 18, 19, 25, 40, 41, 42, 43, 44, 50}
		rows = slices.DeleteFunc(rows, func(row int32) bool { return int(row) >= e.N })
		queries := e.Select([]int{5, 6, 19})
		self := []int{5, 6, -1} // row 6 is none of those that are searched
		for _, m := range testMetrics() {
			s, err := NewSearcher(nil, e, m)
			fatal(t, err)
			defer s.Close()
			for _, way := range []struct{ few, parts int }{{9, 0}, {1, 0}, {1, 7}} {
				s.fewQueries, s.partRows = way.few, way.parts
				list, err := s.NearestOf(t.Context(), rows, queries, 6, SearchOptions{Self: self})
				if err != nil {
					t.Fatalf("%s, %v: %v", set, m, err)
				}
				for q := range queries.N {
					want, _ := bruteOrder(m, queries.Row(q), e, self[q], func(row int) uint64 { return uint64(row) })
					want = slices.DeleteFunc(want, func(row int) bool { return !slices.Contains(rows, int32(row)) })
					index, distance := list.Of(q)
					for i, row := range index {
						d, err := Distance(m, queries.Row(q), e.Row(int(row)))
						fatal(t, err)
						if int(row) != want[i] || distance[i] != d {
							t.Fatalf("%s, %v, %+v: neighbor %d of %d is %d at %v, want %d at %v", set, m, way, i, q, row, distance[i], want[i], d)
						}
					}
				}
			}
		}
	}
}

func TestSearchAmongRowsInNoOrder(t *testing.T) {
	e := blobs(seeded(85), 3, 4, 5, .5)
	s, err := NewSearcher(nil, e, metric.Metric{P: 2})
	fatal(t, err)
	defer s.Close()
	for _, rows := range [][]int32{{3, 2}, {2, 2}, {-1, 2}, {2, 12}} {
		if _, err := s.NearestOf(t.Context(), rows, e, 1, SearchOptions{}); err == nil || !strings.Contains(err.Error(), "rows ascend") {
			t.Errorf("%v: %v", rows, err)
		}
	}
	if _, err := s.NearestOf(t.Context(), []int32{1, 2}, e, 3, SearchOptions{}); err == nil || !strings.Contains(err.Error(), "has 2 rows") {
		t.Errorf("three of two rows: %v", err)
	}
}

// A gallery that has grown is searched as if it had been whole at first, whatever its
// first rows were.
func TestAGalleryGrows(t *testing.T) {
	for set, e := range searchSets() {
		for _, m := range testMetrics() {
			for _, first := range []int{4, 18} { // "one long row" is with the further ones
				e := e
				part := &Embeddings{X: e.X[:first*e.H], N: first, H: e.H}
				if set == "zeros" {
					part = &Embeddings{X: make([]float32, first*e.H), N: first, H: e.H}
					e = &Embeddings{X: slices.Concat(part.X, e.X), N: e.N + first, H: e.H}
				}
				whole, err := NewSearcher(nil, e, m)
				fatal(t, err)
				defer whole.Close()
				s, err := NewSearcher(nil, part, m)
				fatal(t, err)
				defer s.Close()
				grown, err := s.Grown(e)
				fatal(t, err)
				if grown.low != whole.low || grown.high != whole.high || !slices.Equal(grown.norm, whole.norm) || (grown.host == nil) != (whole.host == nil) {
					t.Fatalf("%s, %v: lengths %v to %v, want %v to %v", set, m, grown.low, grown.high, whole.low, whole.high)
				}
				got, err := grown.Nearest(t.Context(), e.Select([]int{0, 19}), 5, SearchOptions{})
				fatal(t, err)
				want, err := whole.Nearest(t.Context(), e.Select([]int{0, 19}), 5, SearchOptions{})
				fatal(t, err)
				if !slices.Equal(got.Index, want.Index) || !slices.Equal(got.Distance, want.Distance) {
					t.Fatalf("%s, %v: %v, want %v", set, m, got, want)
				}
			}
		}
	}
	e := blobs(seeded(86), 3, 4, 5, .5)
	s, err := NewSearcher(nil, &Embeddings{X: e.X[:20], N: 4, H: 5}, metric.Metric{P: 2})
	fatal(t, err)
	defer s.Close()
	if _, err := s.Grown(&Embeddings{X: e.X[:15], N: 3, H: 5}); err == nil || !strings.Contains(err.Error(), "cannot become") {
		t.Errorf("fewer rows: %v", err)
	}
	e.X[25] = float32(math.NaN())
	if _, err := s.Grown(e); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("a further row with NaN: %v", err)
	}
}

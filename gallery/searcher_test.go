package gallery

import (
	"errors"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
)

func TestASearcherIsOfOneModelAndMayHaveNoRows(t *testing.T) {
	info := Info{Metric: "euclidean", Model: "a", Dim: 2}
	table := &Table{Embeddings: &eval.Embeddings{X: []float32{0, 0, 3, 4, 0, 1}, N: 3, H: 2}, Metric: "euclidean", Model: "a"}
	other := info
	other.Model = "b"
	if _, err := table.Searcher(nil, other); !errors.Is(err, ErrOtherModel) {
		t.Errorf("another model: %v", err)
	}
	s, err := table.Searcher(nil, info)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	query := &eval.Embeddings{X: []float32{0, 0}, N: 1, H: 2}
	hits, err := s.Search(t.Context(), query, 9, eval.SearchOptions{})
	if want := []Hit{{0, 0}, {2, 1}, {1, 5}}; err != nil || len(hits) != 1 || len(hits[0]) != 3 || hits[0][0] != want[0] || hits[0][1] != want[1] || hits[0][2] != want[2] {
		t.Errorf("%v, %v; want %v", hits, err, want)
	}
	if s.Table() != table {
		t.Error("another table is searched")
	}
	empty, err := (&Table{Embeddings: &eval.Embeddings{H: 2}}).Searcher(nil, info)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if _, err := empty.Search(t.Context(), query, 1, eval.SearchOptions{}); err == nil || !strings.Contains(err.Error(), "of 0 rows") {
		t.Errorf("no rows: %v", err)
	}
}

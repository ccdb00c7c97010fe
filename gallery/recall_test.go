package gallery_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/internal/storetest"
)

// lossy is a store that does not find the rows of one class.
type lossy struct {
	gallery.Store
	class string
}

func (lossy) Exact() bool { return false }

func (s lossy) Candidates(ctx context.Context, queries *eval.Embeddings, n int, where gallery.Filter) ([]*gallery.Table, error) {
	lists, err := s.Store.Candidates(ctx, queries, n+100, where)
	for q, t := range lists {
		var rows []int
		for i := range t.N {
			if t.Classes[i] != s.class && len(rows) < n {
				rows = append(rows, i)
			}
		}
		lists[q] = t.Select(rows)
	}
	return lists, err
}

// The recall of a store that finds everything is 1, and of one that loses a class of ten
// as much less as its share among the neighbors is.
func TestRecallIsMeasured(t *testing.T) {
	s, err := gallery.OpenFile(filepath.Join(t.TempDir(), "g"), storetest.Info, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := storetest.Rows("a", 9000, 1) // more than are scanned at a time
	if _, err := s.Upsert(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	opt := gallery.RecallOptions{Sample: 100, K: 10, Candidates: []int{10, 50}}
	list, n, err := gallery.MeasureRecall(t.Context(), s, opt)
	if err != nil || n != 100 || len(list) != 2 || list[0] != (gallery.Recall{Candidates: 10, Recall: list[0].Recall, Worst: 1}) || list[0].Recall < 1-1e-12 {
		t.Errorf("exact: %+v of %d queries, %v", list, n, err)
	}
	again, _, err := gallery.MeasureRecall(t.Context(), lossy{s, "class 3"}, opt)
	if err != nil || again[1].Recall > .95 || again[1].Recall < .7 || again[1].Worst != 0 {
		t.Errorf("without a class: %+v, %v", again, err)
	}
	few := storetest.Rows("b", 1, 1)
	one, err := gallery.OpenFile(filepath.Join(t.TempDir(), "one"), storetest.Info, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if _, err := one.Upsert(t.Context(), few); err != nil {
		t.Fatal(err)
	}
	if _, _, err := gallery.MeasureRecall(t.Context(), one, opt); err == nil {
		t.Error("the recall of one row is measured")
	}
}

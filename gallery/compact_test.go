package gallery

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/eval"
)

// A store that is open while the file is compacted goes on with the new one.
func TestAnIndexIsCompacted(t *testing.T) {
	all := newTable(200, 4, 3)
	path := filepath.Join(t.TempDir(), "g")
	s, err := OpenFile(path, testInfo, nil)
	fatal(t, err)
	defer s.Close()
	_, err = s.Upsert(t.Context(), all)
	fatal(t, err)
	queries := &eval.Embeddings{X: all.X[150*4 : 151*4], N: 1, H: 4}
	_, err = s.Candidates(t.Context(), queries, 1, Filter{})
	fatal(t, err)
	if before, after, err := Compact(path); err != nil || before != after {
		t.Errorf("nothing was removed: %d bytes become %d, %v", before, after, err)
	}
	if n, err := s.Remove(t.Context(), Filter{Paths: all.Paths[:150]}); err != nil || n != 150 {
		t.Fatal(n, err)
	}
	before, after, err := Compact(path)
	if stat, found := os.Stat(path); err != nil || found != nil || after != stat.Size() || after > before/2 {
		t.Errorf("%d bytes become %d, %v", before, after, err)
	}
	near, err := s.Candidates(t.Context(), queries, 1, Filter{})
	if err != nil || near[0].Paths[0] != all.Paths[150] {
		t.Errorf("%+v, %v", near, err)
	}
	if did, err := s.Upsert(t.Context(), part(all, 100, 200)); err != nil || did != (Changes{Added: 50, Unchanged: 50}) {
		t.Errorf("%+v, %v", did, err)
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Rows != 100 || stats.Removed != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	want := all.Select(append(seq(150, 200), seq(100, 150)...))
	wantRows(t, opened(t, path), want, want.N)

	// Nothing but removed rows: the file stays.
	if n, err := s.Remove(t.Context(), Filter{Classes: []string{"wren", all.Classes[1], all.Classes[2]}}); err != nil || n != 100 {
		t.Fatal(n, err)
	}
	if _, _, err := Compact(path); err != nil {
		t.Error(err)
	}
	if info, rows, err := Check(path); err != nil || rows != 0 || info != testInfo {
		t.Errorf("%d rows, %v", rows, err)
	}
	if _, _, err := Compact(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func seq(from, to int) []int {
	var list []int
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

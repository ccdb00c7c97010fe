package gallery

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/metric"
)

var testInfo = Info{Metric: "euclidean", Model: "00ff", Dim: 4}

// part is rows from..to-1 of a table, with paths and classes.
func part(t *Table, from, to int) *Table {
	return &Table{
		Embeddings: &eval.Embeddings{X: t.X[from*t.H : to*t.H], N: to - from, H: t.H},
		Paths:      t.Paths[from:to], Classes: t.Classes[from:to],
	}
}

// wantRows checks that an index holds the first n rows of a table.
func wantRows(t *testing.T, x *Table, want *Table, n int) {
	t.Helper()
	if x.Rows() != n {
		t.Fatalf("%d rows, want %d", x.Rows(), n)
	}
	for i := range n {
		if !slices.Equal(x.Row(i), want.Row(i)) || x.Path(i) != want.Paths[i] || x.Class(i) != want.Classes[i] {
			t.Fatalf("row %d is %v %q %q, want %v %q %q", i, x.Row(i), x.Path(i), x.Class(i), want.Row(i), want.Paths[i], want.Classes[i])
		}
	}
	if x.Info() != testInfo {
		t.Fatalf("rows of %+v, want %+v", x.Info(), testInfo)
	}
}

// opened is an index that must be whole.
func opened(t *testing.T, path string) *Table {
	t.Helper()
	x, err := Open(path)
	fatal(t, err)
	return x
}

func TestAnIndexGrowsAndKeepsEverything(t *testing.T) {
	all := newTable(400, 4, 5)
	path := filepath.Join(t.TempDir(), "g.vernier")
	n := 0
	for step := 1; n < all.N; step++ {
		next := min(n+1+step%8, all.N)
		rows, err := Append(path, testInfo, part(all, n, next))
		fatal(t, err)
		if n = next; rows != n {
			t.Fatalf("Append says %d rows, want %d", rows, n)
		}
		if step%10 == 0 || n == all.N {
			wantRows(t, opened(t, path), all, n)
		}
	}
}

func TestAnOpenIndexShowsTheRowsOfItsTime(t *testing.T) {
	all := newTable(30, 4, 6)
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, part(all, 0, 10))
	fatal(t, err)
	x := opened(t, path)
	_, err = Append(path, testInfo, part(all, 10, 30))
	fatal(t, err)
	fatal(t, os.Truncate(path, 5000)) // what another program does to the file
	wantRows(t, x, all, 10)
}

func TestRowsOfAnotherModelAreRefused(t *testing.T) {
	all := newTable(10, 4, 7)
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, all)
	fatal(t, err)
	x := opened(t, path)
	for says, info := range map[string]Info{
		"of 4 numbers":          {"euclidean", "00ff", 3},
		"compared by euclidean": {"cosine", "00ff", 4},
		"of fingerprint 00ff":   {"euclidean", "00fe", 4},
	} {
		rows := newTable(2, info.Dim, 1)
		if _, err := Append(path, info, rows); !errors.Is(err, ErrOtherModel) || !strings.Contains(err.Error(), says) {
			t.Errorf("Append: %v, want %q", err, says)
		}
		if _, err := x.Search(t.Context(), reference.New(), rows.Embeddings, info, 1, eval.SearchOptions{}); !errors.Is(err, ErrOtherModel) || !strings.Contains(err.Error(), says) {
			t.Errorf("Search: %v, want %q", err, says)
		}
	}
	if _, err := Append(path, Info{Metric: "cosine", Dim: 4}, all); err == nil || !strings.Contains(err.Error(), "fingerprint") {
		t.Errorf("no model: %v", err)
	}
	bad := newTable(2, 4, 1)
	bad.X[5] = float32(nan())
	if _, err := Append(path, testInfo, bad); err == nil || !strings.Contains(err.Error(), "row 1 holds NaN") {
		t.Errorf("NaN: %v", err)
	}
	wantRows(t, opened(t, path), all, 10)
}

func nan() float64 { zero := 0.0; return zero / zero }

// TestSearchInAnIndexIsBruteForce compares with brute force, ties included.
func TestSearchInAnIndexIsBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, name := range []string{"euclidean", "cosine", "brm:sigmoid,p=2", "snr"} {
		m, err := metric.Parse(name)
		fatal(t, err)
		all := newTable(120, 4, 8)
		for i := range all.X {
			all.X[i] = float32(1 + r.IntN(3)) // on a grid: many ties
		}
		info := Info{Metric: name, Model: "m", Dim: 4}
		path := filepath.Join(t.TempDir(), "g")
		for from := 0; from < all.N; from += 17 {
			_, err := Append(path, info, part(all, from, min(from+17, all.N)))
			fatal(t, err)
		}
		x := opened(t, path)
		queries := newTable(5, 4, 9).Embeddings
		copy(queries.X, all.X[40:60])
		for _, k := range []int{1, 10, 500} {
			hits, err := x.Search(context.Background(), reference.New(), queries, info, k, eval.SearchOptions{})
			fatal(t, err)
			for q := range queries.N {
				var want []Hit
				for i := range all.N {
					d, err := eval.Distance(m, queries.Row(q), all.Row(i))
					fatal(t, err)
					want = append(want, Hit{i, d})
				}
				slices.SortStableFunc(want, func(a, b Hit) int { return cmp.Compare(a.Distance, b.Distance) })
				if want = want[:min(k, len(want))]; !slices.Equal(hits[q], want) {
					t.Errorf("%s, query %d, k %d: %v, want %v", name, q, k, hits[q], want)
				}
			}
		}
	}
}

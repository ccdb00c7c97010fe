package gallery

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/vernier-ml/vernier/metric"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/reference"
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
func wantRows(t *testing.T, x *Index, want *Table, n int) {
	t.Helper()
	if x.Rows() != n {
		t.Fatalf("%d rows, want %d", x.Rows(), n)
	}
	for i := range n {
		if !slices.Equal(x.Row(i), want.Row(i)) || x.Path(i) != want.Paths[i] || x.Class(i) != want.Classes[i] {
			t.Fatalf("row %d is %v %q %q, want %v %q %q", i, x.Row(i), x.Path(i), x.Class(i), want.Row(i), want.Paths[i], want.Classes[i])
		}
	}
	fatal(t, x.Check())
}

func TestAnIndexGrowsAndKeepsEverything(t *testing.T) {
	all := newTable(400, 4, 5)
	path := filepath.Join(t.TempDir(), "g.vernier")
	n := 0
	for step := 1; n < all.N; step++ { // more appends than there may be segments
		next := min(n+1+step%8, all.N)
		rows, err := Append(path, testInfo, part(all, n, next))
		fatal(t, err)
		if n = next; rows != n {
			t.Fatalf("Append says %d rows, want %d", rows, n)
		}
		if step%10 != 0 && n < all.N {
			continue
		}
		x, err := Open(path)
		fatal(t, err)
		wantRows(t, x, all, n)
		if len(x.segments) > maxSegments {
			t.Errorf("%d segments", len(x.segments))
		}
		fatal(t, x.Close())
	}
}

func TestAnOpenIndexShowsTheRowsOfItsTime(t *testing.T) {
	all := newTable(30, 4, 6)
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, part(all, 0, 10))
	fatal(t, err)
	x, err := Open(path)
	fatal(t, err)
	defer x.Close()
	_, err = Append(path, testInfo, part(all, 10, 30))
	fatal(t, err)
	wantRows(t, x, all, 10)
}

func TestRowsOfAnotherModelAreRefused(t *testing.T) {
	all := newTable(10, 4, 7)
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, all)
	fatal(t, err)
	x, err := Open(path)
	fatal(t, err)
	defer x.Close()
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
	wantRows(t, x, all, 10)
}

func nan() float64 { zero := 0.0; return zero / zero }

// TestSearchOverSegmentsIsSearchOverAll compares with brute force, ties included.
func TestSearchOverSegmentsIsSearchOverAll(t *testing.T) {
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
		x, err := Open(path)
		fatal(t, err)
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
		fatal(t, x.Close())
	}
}

func TestProcessesThatAppendTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, newTable(1, 4, 1))
	fatal(t, err)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 25 { // more than the segments that are kept apart
				table := newTable(1, 4, uint64(w))
				table.Paths[0] = fmt.Sprintf("%d/%d", w, i)
				if _, err := Append(path, testInfo, table); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	x, err := Open(path)
	fatal(t, err)
	defer x.Close()
	seen := map[string]bool{}
	for i := range x.Rows() {
		seen[x.Path(i)] = true
	}
	if x.Rows() != 101 || len(seen) != 101 {
		t.Errorf("%d rows with %d paths, want 101 of each", x.Rows(), len(seen))
	}
	fatal(t, x.Check())
}

func TestDamagedIndexesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "g")
	_, err := Append(path, testInfo, newTable(20, 4, 1))
	fatal(t, err)
	whole, err := os.ReadFile(path)
	fatal(t, err)
	// Every byte that counts is under a checksum: any change is found, by Open
	// or by Check. Unused room may change.
	counts := func(i int) bool {
		first := commit{number: 1}.at()
		return i < infoAt+20 || i >= int(first) && i < int(first)+commitSize || i >= headerSize && i < headerSize+24 || i >= headerSize+segmentHeader && i < len(whole)-alignment
	}
	for i := range whole {
		if amid := i > headerSize+segmentHeader+8; (!counts(i) || amid) && i%11 != 0 {
			continue
		}
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x40
		fatal(t, os.WriteFile(path, damaged, 0o644))
		x, err := Open(path)
		if err == nil {
			err = x.Check()
			if err == nil {
				wantRows(t, x, newTable(20, 4, 1), 20)
			}
			x.Close()
		}
		if counts(i) && err == nil {
			t.Errorf("damage at byte %d was not noticed", i)
		}
	}
	for n, says := range map[int]string{0: "no index", 100: "no index", headerSize: "neither of its commits", len(whole) - alignment: "neither of its commits"} {
		fatal(t, os.WriteFile(path, whole[:n], 0o644))
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("cut to %d bytes: %v, want %q", n, err, says)
		}
	}
	if _, err := Append(path, testInfo, newTable(1, 4, 1)); err == nil {
		t.Error("a damaged index was appended to")
	}
}

// Package storetest holds what every gallery.Store has to do, as tests.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/gallery"
	"github.com/vernier-ml/vernier/metric"
)

// Open opens a store for rows of a metric and model: of a place, the same rows each time.
// With a zero Info it opens what is there.
type Open func(info gallery.Info) (gallery.Store, error)

// Run runs the suite. fresh returns a place where there is nothing.
func Run(t *testing.T, fresh func(t *testing.T) Open) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"rows come back", rowsComeBack},
		{"upsert", upserts},
		{"an unknown class does not replace a known one", keepsKnown},
		{"remove", removes},
		{"search is exact", searches},
		{"filters return all that there are", filters},
		{"another model is refused", refuses},
		{"what is wrong changes nothing", failsWhole},
		{"many at a time", concurrent},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fresh(t)) })
	}
}

// Info is that of the suite's rows.
var Info = gallery.Info{Metric: "brm", Model: "00ff00ff00ff00ff", Dim: 6}

// Rows makes n rows of classes 0 to 9, with keys and paths that begin with a name.
func Rows(name string, n int, seed uint64) *gallery.Table {
	r := rand.New(rand.NewPCG(seed, 24))
	t := &gallery.Table{Embeddings: &eval.Embeddings{N: n, H: Info.Dim}, Metric: Info.Metric, Model: Info.Model}
	for i := range n {
		for j := range Info.Dim {
			center := float64((i%10)*(j+1)%7) - 3
			t.X = append(t.X, float32(center+.4*r.NormFloat64()))
		}
		t.Keys = append(t.Keys, fmt.Sprintf("key %s %04d", name, i))
		t.Paths = append(t.Paths, fmt.Sprintf("%s/ü '%d'.png", name, i))
		t.Classes = append(t.Classes, fmt.Sprintf("class %d", i%10))
	}
	return t
}

func opened(t *testing.T, open Open) gallery.Store {
	t.Helper()
	s, err := open(Info)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t *testing.T, s gallery.Store, rows *gallery.Table, want gallery.Changes) {
	t.Helper()
	did, err := s.Upsert(t.Context(), rows)
	if err != nil || did != want {
		t.Fatalf("%+v (%v), want %+v", did, err, want)
	}
}

// contents is all rows by their keys.
func contents(t *testing.T, s gallery.Store, where gallery.Filter) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.Scan(t.Context(), where, func(part *gallery.Table) error {
		for i := range part.N {
			if all[part.Keys[i]] != "" {
				t.Errorf("key %q is there twice", part.Keys[i])
			}
			all[part.Keys[i]] = text(part, i)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func text(t *gallery.Table, i int) string {
	return fmt.Sprintf("%s|%s|%v", t.Path(i), t.Class(i), t.Row(i))
}

// wantRows checks that a store, and the place opened anew, has the given rows and no others.
func wantRows(t *testing.T, s gallery.Store, open Open, want *gallery.Table) {
	t.Helper()
	for _, x := range []gallery.Store{s, opened(t, open)} {
		have := contents(t, x, gallery.Filter{})
		for i := range want.N {
			if got := have[want.Keys[i]]; got != text(want, i) {
				t.Fatalf("key %q is %q, want %q", want.Keys[i], got, text(want, i))
			}
		}
		stats, err := x.Stats(t.Context())
		if err != nil || len(have) != want.N || stats.Rows != want.N {
			t.Fatalf("%d rows, the store says %d (%v), want %d", len(have), stats.Rows, err, want.N)
		}
	}
}

// pick is rows from..to-1 of a table.
func pick(t *gallery.Table, from, to int) *gallery.Table {
	rows := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		rows = append(rows, i)
	}
	return t.Select(rows)
}

func rowsComeBack(t *testing.T, open Open) {
	s := opened(t, open)
	if stats, err := s.Stats(t.Context()); err != nil || stats.Rows != 0 {
		t.Errorf("at first: %+v, %v", stats, err)
	}
	if list, err := s.Candidates(t.Context(), Rows("q", 2, 1).Embeddings, 5, gallery.Filter{}); err != nil || len(list) != 2 || list[0].N != 0 {
		t.Errorf("candidates of nothing: %v, %v", list, err)
	}
	all := Rows("a", 137, 1)
	put(t, s, pick(all, 0, 100), gallery.Changes{Added: 100})
	put(t, s, pick(all, 100, 137), gallery.Changes{Added: 37})
	wantRows(t, s, open, all)
	got, err := s.Get(t.Context(), []string{all.Keys[120], "nothing", all.Keys[3]})
	if err != nil || got.N != 2 || text(got, 0) != text(all, 120) || text(got, 1) != text(all, 3) || got.Keys[1] != all.Keys[3] {
		t.Errorf("%+v, %v", got, err)
	}
	known, err := s.Known(t.Context(), []string{all.Keys[120], "nothing"})
	if err != nil || len(known) != 1 || known[all.Keys[120]] != (gallery.Label{Path: all.Paths[120], Class: all.Classes[120]}) {
		t.Errorf("%+v, %v", known, err)
	}
	keys, err := s.KeysAt(t.Context(), []string{all.Paths[120], "nothing", ""})
	if err != nil || len(keys) != 1 || keys[all.Paths[120]] != all.Keys[120] {
		t.Errorf("%+v, %v", keys, err)
	}
	if s.Info() != Info {
		t.Errorf("%+v, want %+v", s.Info(), Info)
	}
	x, err := open(gallery.Info{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if x.Info() != Info {
		t.Errorf("opened for any model: %+v, want %+v", x.Info(), Info)
	}
}

func upserts(t *testing.T, open Open) {
	s := opened(t, open)
	all := Rows("a", 40, 2)
	put(t, s, all, gallery.Changes{Added: 40})
	put(t, s, all, gallery.Changes{Unchanged: 40})
	// The same image under another path is the same row; a changed image takes the place of
	// that of its path; an image that moved to where another one was replaces it.
	next := pick(all, 0, 6)
	next.Paths[0] = "moved.png"
	next.Keys[1] = "another key"
	next.X[1*Info.Dim] += 1
	next.Classes[2] = "another class"
	next.X[3*Info.Dim+2] -= 1
	next.Paths[4] = all.Paths[30]
	put(t, s, next, gallery.Changes{Replaced: 5, Unchanged: 1})
	want := pick(all, 0, 40)
	for i := range 6 {
		want.Keys[i], want.Paths[i], want.Classes[i] = next.Keys[i], next.Paths[i], next.Classes[i]
		copy(want.Row(i), next.Row(i))
	}
	rest := want.Select(slices.DeleteFunc(seq(40), func(i int) bool { return i == 30 }))
	wantRows(t, s, open, rest)
	put(t, s, next, gallery.Changes{Unchanged: 6})

	// Two images trade their places.
	trade := rest.Select([]int{10, 11})
	trade.Paths[0], trade.Paths[1] = trade.Paths[1], trade.Paths[0]
	put(t, s, trade, gallery.Changes{Replaced: 2})
	rest.Paths[10], rest.Paths[11] = rest.Paths[11], rest.Paths[10]
	wantRows(t, s, open, rest)

	// Of one key twice the first counts; two keys of one path are an error.
	twice := Rows("b", 3, 3)
	twice.Keys[2] = twice.Keys[0]
	put(t, s, twice, gallery.Changes{Added: 2, Repeated: 1})
	twice = Rows("c", 3, 3)
	twice.Paths[2] = twice.Paths[0]
	if _, err := s.Upsert(t.Context(), twice); err == nil || !strings.Contains(err.Error(), "rows 0 and 2 are different images with one path") {
		t.Errorf("one path for two images: %v", err)
	}
	// Rows without paths stand beside each other.
	bare := Rows("d", 3, 4)
	bare.Paths = nil
	put(t, s, bare, gallery.Changes{Added: 3})
	put(t, s, bare, gallery.Changes{Unchanged: 3})
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func keepsKnown(t *testing.T, open Open) {
	s := opened(t, open)
	all := Rows("a", 4, 5)
	put(t, s, all, gallery.Changes{Added: 4})
	bare := pick(all, 0, 4)
	bare.Paths, bare.Classes = nil, nil
	put(t, s, bare, gallery.Changes{Unchanged: 4})
	bare.X[0]++
	put(t, s, bare, gallery.Changes{Replaced: 1, Unchanged: 3})
	changed := pick(all, 1, 2) // an image that changed is of the class of before
	changed.Classes, changed.Keys[0] = nil, "another key"
	put(t, s, changed, gallery.Changes{Replaced: 1})
	all.X[0]++
	all.Keys[1] = "another key"
	wantRows(t, s, open, all)
}

func removes(t *testing.T, open Open) {
	s := opened(t, open)
	if n, err := s.Remove(t.Context(), gallery.Filter{Keys: []string{"nothing"}}); err != nil || n != 0 {
		t.Errorf("of nothing: %d, %v", n, err)
	}
	all := Rows("a", 50, 6)
	put(t, s, all, gallery.Changes{Added: 50})
	if _, err := s.Remove(t.Context(), gallery.Filter{}); err == nil {
		t.Error("a filter that names nothing removes all")
	}
	for _, c := range []struct {
		where gallery.Filter
		want  int
	}{
		{gallery.Filter{Keys: []string{all.Keys[0], "nothing"}}, 1},
		{gallery.Filter{Keys: []string{all.Keys[0]}}, 0},
		{gallery.Filter{Paths: []string{all.Paths[2], all.Paths[3]}}, 2},
		{gallery.Filter{Classes: []string{"class 4"}, Paths: []string{all.Paths[14], all.Paths[15]}}, 1},
		{gallery.Filter{Classes: []string{"class 7"}}, 5},
	} {
		if n, err := s.Remove(t.Context(), c.where); err != nil || n != c.want {
			t.Errorf("%+v: %d (%v), want %d", c.where, n, err, c.want)
		}
	}
	left := all.Select(slices.DeleteFunc(seq(50), func(i int) bool { return i == 0 || i == 2 || i == 3 || i == 14 || i%10 == 7 }))
	wantRows(t, s, open, left)
	for _, m := range find(t, s, pick(all, 0, 1).Embeddings, 41, gallery.SearchOptions{})[0] {
		if m.Key == all.Keys[0] {
			t.Error("a row that was removed is found")
		}
	}
	put(t, s, pick(all, 0, 3), gallery.Changes{Added: 2, Unchanged: 1}) // they may come again
	if got := find(t, s, pick(all, 0, 1).Embeddings, 1, gallery.SearchOptions{})[0]; got[0].Key != all.Keys[0] || got[0].Distance != 0 {
		t.Errorf("a row that came again: %+v", got)
	}
}

func find(t *testing.T, s gallery.Store, queries *eval.Embeddings, k int, opt gallery.SearchOptions) [][]gallery.Match {
	t.Helper()
	found, err := gallery.Search(t.Context(), s, queries, Info, k, opt)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// brute is the k nearest of rows by the metric, in float64.
func brute(t *testing.T, query []float32, all *gallery.Table, k int, where func(i int) bool) []gallery.Match {
	t.Helper()
	m, err := metric.Parse(Info.Metric)
	if err != nil {
		t.Fatal(err)
	}
	var list []gallery.Match
	for i := range all.N {
		if !where(i) {
			continue
		}
		d, err := eval.Distance(m, query, all.Row(i))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, gallery.Match{Key: all.Keys[i], Path: all.Paths[i], Class: all.Classes[i], Distance: d})
	}
	slices.SortFunc(list, func(a, b gallery.Match) int {
		if a.Distance != b.Distance {
			if a.Distance < b.Distance {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Key, b.Key)
	})
	return list[:min(k, len(list))]
}

func searches(t *testing.T, open Open) {
	s := opened(t, open)
	all := Rows("a", 400, 7)
	put(t, s, pick(all, 0, 150), gallery.Changes{Added: 150})
	queries := Rows("q", 7, 8).Embeddings
	find(t, s, queries, 3, gallery.SearchOptions{}) // what is prepared for these grows
	put(t, s, pick(all, 150, 400), gallery.Changes{Added: 250})
	for _, k := range []int{1, 10, 1000} {
		found := find(t, s, queries, k, gallery.SearchOptions{})
		for q, got := range found {
			if want := brute(t, queries.Row(q), all, k, func(int) bool { return true }); !slices.Equal(got, want) {
				t.Fatalf("query %d, k %d: %+v, want %+v", q, k, got, want)
			}
		}
	}
	if _, err := gallery.Search(t.Context(), s, queries, Info, 0, gallery.SearchOptions{}); err == nil {
		t.Error("0 neighbors are found")
	}
}

func filters(t *testing.T, open Open) {
	s := opened(t, open)
	all := Rows("a", 300, 9)
	for i := range 3 { // 1 row in 100
		all.Classes[100*i+37] = "rare"
	}
	put(t, s, all, gallery.Changes{Added: 300})
	queries := Rows("q", 10, 10).Embeddings
	for _, classes := range [][]string{{"rare"}, {"class 3", "rare"}, {"class 1"}, {"nothing"}} {
		for q, got := range find(t, s, queries, 10, gallery.SearchOptions{Where: gallery.Filter{Classes: classes}}) {
			want := brute(t, queries.Row(q), all, 10, func(i int) bool { return slices.Contains(classes, all.Classes[i]) })
			if !slices.Equal(got, want) {
				t.Fatalf("%v, query %d: %+v, want %+v", classes, q, got, want)
			}
		}
	}
	if have := contents(t, s, gallery.Filter{Classes: []string{"rare"}}); len(have) != 3 {
		t.Errorf("%d rows of a class, want 3", len(have))
	}
}

func refuses(t *testing.T, open Open) {
	s := opened(t, open)
	all := Rows("a", 20, 11)
	put(t, s, all, gallery.Changes{Added: 20})
	for says, info := range map[string]gallery.Info{
		"of 6 numbers":         {Metric: "brm", Model: Info.Model, Dim: 5},
		"compared by brm":      {Metric: "euclidean", Model: Info.Model, Dim: 6},
		"fingerprint 00ff00ff": {Metric: "brm", Model: "00ee00ee00ee00ee", Dim: 6},
	} {
		x, err := open(info)
		if err == nil { // it may look when it is used
			_, err = x.Upsert(t.Context(), all)
			if _, found := x.Candidates(t.Context(), all.Embeddings, 1, gallery.Filter{}); !errors.Is(found, gallery.ErrOtherModel) {
				t.Errorf("%s: candidates: %v", says, found)
			}
			x.Close()
		}
		if !errors.Is(err, gallery.ErrOtherModel) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if _, err := gallery.Search(t.Context(), s, all.Embeddings, info, 1, gallery.SearchOptions{}); !errors.Is(err, gallery.ErrOtherModel) {
			t.Errorf("search: %v", err)
		}
	}
	wantRows(t, s, open, all)
}

func failsWhole(t *testing.T, open Open) {
	s := opened(t, open)
	all := Rows("a", 20, 12)
	put(t, s, all, gallery.Changes{Added: 20})
	bad := Rows("b", 5, 13)
	zero := float32(0)
	bad.X[4*Info.Dim+1] = zero / zero
	if _, err := s.Upsert(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("NaN: %v", err)
	}
	short := &gallery.Table{Embeddings: &eval.Embeddings{X: make([]float32, 6), N: 2, H: 3}}
	if _, err := s.Upsert(t.Context(), short); err == nil || !strings.Contains(err.Error(), "rows of 3 numbers") {
		t.Errorf("rows of 3: %v", err)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody waits"))
	if _, err := s.Upsert(gone, Rows("b", 5, 14)); err == nil {
		t.Error("a call whose context has ended goes on")
	}
	wantRows(t, s, open, all)
}

// concurrent adds, removes and searches at a time: what is found is whole.
func concurrent(t *testing.T, open Open) {
	s := opened(t, open)
	base := Rows("a", 60, 15)
	put(t, s, base, gallery.Changes{Added: 60})
	var wait sync.WaitGroup
	for w := range 2 {
		wait.Go(func() {
			mine := Rows(fmt.Sprint("w", w), 20, uint64(16+w))
			for i := range 10 {
				if _, err := s.Upsert(t.Context(), pick(mine, 2*i, 2*i+2)); err != nil {
					t.Error(err)
				}
				if _, err := s.Remove(t.Context(), gallery.Filter{Keys: mine.Keys[2*i : 2*i+1]}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	queries := pick(base, 0, 3).Embeddings
	for range 2 {
		wait.Go(func() {
			for range 15 {
				found, err := gallery.Search(t.Context(), s, queries, Info, 5, gallery.SearchOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				for q, list := range found {
					if len(list) != 5 || list[0].Key != base.Keys[q] {
						t.Errorf("query %d: %+v", q, list)
					}
				}
			}
		})
	}
	wait.Wait()
	if stats, err := s.Stats(t.Context()); err != nil || stats.Rows != 60+2*10 {
		t.Errorf("%+v, %v", stats, err)
	}
}

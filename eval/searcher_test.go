package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// searchSets are sets on which float32 alone goes wrong.
func searchSets() map[string]*Embeddings {
	base := blobs(seeded(81), 5, 12, 7, 0.8)
	twice := &Embeddings{X: slices.Concat(base.X, base.X, base.X), N: 3 * base.N, H: base.H}
	same := &Embeddings{X: make([]float32, 400*3), N: 400, H: 3}
	for i := range same.X {
		same.X[i] = float32(i%3) + .1
	}
	zero := base.Select(LeaveOneOut(base.N))
	clear(zero.Row(3))
	clear(zero.Row(20))
	long := base.Select(LeaveOneOut(base.N))
	for i := range long.Row(5) {
		long.Row(5)[i] *= 1e6
	}
	return map[string]*Embeddings{
		"plain": base, "grid": onGrid(base), "tiny": scaled(base, 1e-25), "small": scaled(base, 1e-4), "huge": scaled(base, 1e25), "shifted": shifted(base, 300),
		"three times": twice, "all the same": same, "zeros": zero, "one long row": long, "wide": blobs(seeded(82), 4, 5, 1100, .3),
	}
}

// Every way of a Searcher finds what brute force in float64 finds.
func TestSearcherEqualsBruteForceInFloat64(t *testing.T) {
	sets := searchSets()
	for name, eng := range engines(t) {
		for set, e := range sets {
			for _, m := range testMetrics() {
				s, err := NewSearcher(eng, e, m)
				fatal(t, err)
				for _, way := range []struct {
					what       string
					few, parts int
				}{{"rows as they lie", 9, 0}, {"one part", 1, 0}, {"parts", 1, 11}} {
					s.fewQueries, s.partRows = way.few, way.parts
					queries := e.Select([]int{0, 7, 13, 3, 1, 2, 4, 5, 6})
					for _, k := range []int{1, 5, 19} {
						list, err := s.Nearest(context.Background(), queries, k, SearchOptions{})
						if err != nil {
							t.Fatalf("%s, %s, %v, %s: %v", name, set, m, way.what, err)
						}
						for q := range queries.N {
							want, _ := bruteOrder(m, queries.Row(q), e, -1, func(row int) uint64 { return uint64(row) })
							index, distance := list.Of(q)
							for i, row := range index {
								d, err := Distance(m, queries.Row(q), e.Row(int(row)))
								fatal(t, err)
								if int(row) != want[i] || distance[i] != d {
									t.Fatalf("%s, %s, %v, %s: neighbor %d of %d is %d at %v, want %d at %v", name, set, m, way.what, i, q, row, distance[i], want[i], d)
								}
							}
						}
					}
				}
			}
		}
	}
}

// A query that is a row itself is left out, in whichever part it lies.
func TestSearcherLeavesTheQueryOut(t *testing.T) {
	e := blobs(seeded(83), 5, 12, 7, 0.8)
	rows := []int{0, 10, 11, 12, 33, 58, 59, 30, 31}
	self := slices.Clone(rows)
	self[3] = -1
	for _, m := range []metric.Metric{{P: 2}, {Kind: metric.Cosine}} {
		s, err := NewSearcher(nil, e, m)
		fatal(t, err)
		defer s.Close()
		for _, parts := range []int{0, 11} {
			for _, few := range []int{1, 100} {
				s.fewQueries, s.partRows = few, parts
				last := 0
				opt := SearchOptions{Self: self, Progress: func(done, total int) {
					if done < last || total != len(rows) {
						t.Errorf("%d of %d after %d", done, total, last)
					}
					last = done
				}}
				list, err := s.Nearest(t.Context(), e.Select(rows), 4, opt)
				fatal(t, err)
				for q, row := range rows {
					want, _ := bruteOrder(m, e.Row(row), e, self[q], func(row int) uint64 { return uint64(row) })
					index, _ := list.Of(q)
					for i, got := range index {
						if int(got) != want[i] {
							t.Errorf("%v, parts of %d rows, %d are few: neighbor %d of row %d is %d, want %d", m, parts, few, i, row, got, want[i])
						}
					}
				}
				if last != len(rows) {
					t.Errorf("%d of %d queries are said to be done in the end", last, len(rows))
				}
			}
		}
	}
}

func TestSearcherIsSearchedByMany(t *testing.T) {
	e := blobs(seeded(84), 40, 60, 16, 0.5)
	s, err := NewSearcher(nil, e, metric.Metric{P: 2})
	fatal(t, err)
	defer s.Close()
	want, err := s.Nearest(t.Context(), e, 3, SearchOptions{})
	fatal(t, err)
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for q := w; q < 60; q += 4 {
				list, err := s.Nearest(t.Context(), e.Select([]int{q}), 3, SearchOptions{Workers: 1 + w})
				if err != nil {
					t.Error(err)
					return
				}
				if index, _ := want.Of(q); !slices.Equal(list.Index, index) {
					t.Errorf("row %d: %v, want %v", q, list.Index, index)
				}
			}
		})
	}
	wait.Wait()
}

// badRows is an engine whose distances of rows are off.
type badRows struct {
	Engine
	rowEngine
}

func (b badRows) RowValues(dst, x, rows []float32, index []int32, m metric.Metric) error {
	err := b.rowEngine.RowValues(dst, x, rows, index, m)
	for i := range dst {
		dst[i] *= 1.01
	}
	return err
}

func TestSearcherChecksWhatItIsGiven(t *testing.T) {
	e := blobs(seeded(85), 3, 4, 5, 1)
	bad := e.Select(LeaveOneOut(e.N))
	bad.X[7] = float32(math.NaN())
	m := metric.Metric{Kind: metric.Euclidean}
	if _, err := NewSearcher(nil, bad, m); err == nil || !strings.Contains(err.Error(), "row 1 holds NaN") {
		t.Errorf("%v", err)
	}
	s, err := NewSearcher(nil, e, m)
	fatal(t, err)
	defer s.Close()
	if _, err := s.Nearest(t.Context(), bad, 1, SearchOptions{}); err == nil || !strings.Contains(err.Error(), "queries: eval: row 1 holds NaN") {
		t.Errorf("%v", err)
	}
	if _, err := s.Nearest(t.Context(), e.Select([]int{0}), 13, SearchOptions{}); err == nil || !strings.Contains(err.Error(), "want 1 to 12") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := s.Nearest(ctx, e.Select([]int{0}), 1, SearchOptions{}); !errors.Is(err, stop) {
		t.Errorf("canceled: %v", err)
	}
	eng := engines(t)["cpu portable"]
	if eng == nil {
		t.Fatal("no portable engine")
	}
	off, err := NewSearcher(badRows{eng, eng.(rowEngine)}, e, m)
	fatal(t, err)
	if _, err := off.Nearest(t.Context(), e.Select([]int{0}), 3, SearchOptions{}); !errors.Is(err, errInexact) {
		t.Errorf("an engine that is off: %v", err)
	}
}

// What is kept of a gallery is found out once, and changes no answer.
func TestSearchersKeepWhatTheyFoundOut(t *testing.T) {
	e := blobs(seeded(87), 8, 30, 12, .6)
	queries := blobs(seeded(88), 5, 16, 12, .9)
	for _, m := range testMetrics() {
		s, err := NewSearcher(nil, e, m)
		fatal(t, err)
		defer s.Close()
		first, err := s.Nearest(t.Context(), queries, 7, SearchOptions{})
		fatal(t, err)
		var has bool
		switch {
		case m.Kind == metric.Euclidean, m.Kind == metric.SquaredEuclidean:
			has = s.kept.mean != nil
		case m.Kind == metric.Cosine:
			has = s.kept.norm != nil && s.kept.reach != nil
		default:
			has = s.kept.reach != nil
		}
		if !has {
			t.Errorf("%v: nothing is kept", m)
		}
		again, err := s.Nearest(t.Context(), queries, 7, SearchOptions{})
		fatal(t, err)
		s.kept = nil
		without, err := s.Nearest(t.Context(), queries, 7, SearchOptions{})
		fatal(t, err)
		for _, other := range []*NeighborList{again, without} {
			if !slices.Equal(first.Index, other.Index) || !slices.Equal(first.Distance, other.Distance) {
				t.Errorf("%v: %v, want %v", m, other, first)
			}
		}
	}
}

// Parts of a gallery share what is found out of its coordinates, and queries that lie outside of
// their range find the same as without.
func TestPartsShareASketch(t *testing.T) {
	e := blobs(seeded(89), 8, 60, 12, .6)
	inside, outside := blobs(seeded(90), 5, 16, 12, .1), blobs(seeded(91), 5, 16, 12, 3)
	s, err := NewSearcher(nil, e, metric.Metric{P: 2})
	fatal(t, err)
	defer s.Close()
	s.partRows, s.fewQueries = 100, 1
	var kernels []*kernel
	for _, queries := range []*Embeddings{inside, outside, inside, outside} {
		list, err := s.Nearest(t.Context(), queries, 5, SearchOptions{terms: 2})
		fatal(t, err)
		plain, err := s.Nearest(t.Context(), queries, 5, SearchOptions{terms: -1})
		fatal(t, err)
		if !slices.Equal(list.Index, plain.Index) || !slices.Equal(list.Distance, plain.Distance) {
			t.Fatal("with a sketch other rows are found")
		}
		kernels = append(kernels, s.kept.kernel)
	}
	if kernels[0] == nil || kernels[1] == kernels[0] || kernels[2] != kernels[1] || kernels[3] != kernels[1] {
		t.Errorf("kernels are made anew: %p", kernels)
	}
}

func TestNumbersThatAreNotFinite(t *testing.T) {
	for _, h := range []int{1, 3, 8} {
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
			for _, at := range []int{0, finiteChunk - 1, finiteChunk + 1, 3*finiteChunk - 1} {
				e := &Embeddings{X: make([]float32, 3*finiteChunk*h), N: 3 * finiteChunk, H: h}
				e.X[0], e.X[len(e.X)-1] = math.MaxFloat32, -math.MaxFloat32
				fatal(t, e.Validate())
				e.X[at*h] = bad
				want := fmt.Sprintf("row %d holds %v in coordinate 0", at, bad)
				for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {P: 2}} {
					if _, err := NewSearcher(nil, e, m); err == nil || !strings.Contains(err.Error(), want) {
						t.Fatalf("%v: %v, want %s", m, err, want)
					}
				}
			}
		}
	}
}

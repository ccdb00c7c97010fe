package eval

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// cameras are 60 points on a line of 5 classes, each row by one of 3 cameras.
func cameras() (e *Embeddings, camera []int) {
	rng := rand.New(rand.NewPCG(1, 2))
	e = &Embeddings{N: 60, H: 1}
	for range e.N {
		e.X = append(e.X, float32(rng.IntN(40)))
		e.Labels = append(e.Labels, rng.IntN(5))
		camera = append(camera, rng.IntN(3))
	}
	return e, camera
}

// TestNeighborsWithoutAGroup compares with sorting the rows that are left.
func TestNeighborsWithoutAGroup(t *testing.T) {
	e, camera := cameras()
	e.Labels[7], camera[7] = 99, 9 // of a class and camera of its own
	const k = 59
	searcher, err := NewSearcher(nil, e, metric.Metric{Kind: metric.Euclidean})
	fatal(t, err)
	defer searcher.Close()
	for _, way := range [][2]int{{100, 0}, {1, 0}, {1, 7}} {
		searcher.fewQueries, searcher.partRows = way[0], way[1]
		neighborsWithoutAGroup(t, searcher, e, camera, k)
		neighborsWithoutAGroup(t, searcher, e, camera, 5)
	}
	one := &Embeddings{X: []float32{1, 2}, N: 2, H: 1, Labels: []int{0, 0}}
	list, err := Neighbors(t.Context(), nil, one, one, metric.Metric{Kind: metric.Euclidean}, 1, SearchOptions{Self: LeaveOneOut(2), Groups: &Groups{[]int{1, 1}, []int{1, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if index, distance := list.Of(0); len(index) != 0 || len(distance) != 0 {
		t.Errorf("of a query without any other row: %v at %v", index, distance)
	}
	one.Labels = nil
	if _, err := Neighbors(t.Context(), nil, one, one, metric.Metric{Kind: metric.Euclidean}, 1, SearchOptions{Groups: &Groups{[]int{1, 1}, []int{1, 1}}}); err == nil {
		t.Error("groups without labels")
	}
}

func neighborsWithoutAGroup(t *testing.T, s *Searcher, e *Embeddings, camera []int, k int) {
	t.Helper()
	list, err := s.Nearest(t.Context(), e, k, SearchOptions{Self: LeaveOneOut(e.N), Groups: &Groups{camera, camera}})
	if err != nil {
		t.Fatal(err)
	}
	for q := range e.N {
		apart := func(i int) float64 { return math.Abs(float64(e.X[i] - e.X[q])) }
		var want []int32
		for i := range e.N {
			if i != q && (e.Labels[i] != e.Labels[q] || camera[i] != camera[q]) {
				want = append(want, int32(i))
			}
		}
		slices.SortStableFunc(want, func(a, b int32) int { return int(apart(int(a)) - apart(int(b))) })
		index, distance := list.Of(q)
		want = want[:min(k, len(want))]
		if !slices.Equal(index, want) || len(distance) != len(want) || distance[0] != apart(int(want[0])) {
			t.Fatalf("query %d: %v, want %v", q, index, want)
		}
	}
}

// TestPairsOfDifferentGroups compares all pairs with two loops, and draws with all.
func TestPairsOfDifferentGroups(t *testing.T) {
	e, camera := cameras()
	m := metric.Metric{Kind: metric.Euclidean}
	all, err := SamplePairs(e, m, PairOptions{Groups: camera})
	if err != nil {
		t.Fatal(err)
	}
	var intra, inter []float64
	for i := range e.N {
		for j := range i {
			d := math.Abs(float64(e.X[i] - e.X[j]))
			switch {
			case e.Labels[i] != e.Labels[j]:
				inter = append(inter, d)
			case camera[i] != camera[j]:
				intra = append(intra, d)
			}
		}
	}
	slices.Sort(intra)
	slices.Sort(inter)
	if !slices.Equal(all.Intra, intra) || !slices.Equal(all.Inter, inter) || !all.AllIntra || !all.AllInter {
		t.Errorf("%d and %d pairs, want %d and %d", len(all.Intra), len(all.Inter), len(intra), len(inter))
	}
	rng, count := rand.New(rand.NewPCG(1, 1)), map[[2]int32]int{}
	const rounds, drawn = 500, 40
	for range rounds {
		pairs, whole := pairsAcross(rng, members(e.Labels, 5), camera, drawn)
		if len(pairs) != drawn || whole {
			t.Fatalf("%d pairs drawn, all %v", len(pairs), whole)
		}
		for _, p := range pairs {
			if e.Labels[p[0]] != e.Labels[p[1]] || camera[p[0]] == camera[p[1]] {
				t.Fatalf("pair %v is of one group or of two classes", p)
			}
			count[[2]int32{min(p[0], p[1]), max(p[0], p[1])}]++
		}
	}
	each := rounds * drawn / float64(len(intra))
	for p, n := range count {
		if math.Abs(float64(n)-each) > 5*math.Sqrt(each) {
			t.Errorf("pair %v is drawn %d times, want about %.0f", p, n, each)
		}
	}
	if len(count) != len(intra) {
		t.Errorf("%d of %d pairs are drawn", len(count), len(intra))
	}
	if _, err := SamplePairs(e, m, PairOptions{Groups: camera[1:]}); err == nil {
		t.Error("groups of another number of rows")
	}
}

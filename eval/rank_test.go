package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// onGrid rounds to few values, so that exact ties abound.
func onGrid(e *Embeddings) *Embeddings {
	c := scaled(e, 1)
	for i, x := range c.X {
		c.X[i] = float32(math.Round(float64(x)))
	}
	return c
}

func TestRanksEqualBruteForceInFloat64(t *testing.T) {
	base := blobs(seeded(1), 6, 9, 5, 0.9)
	base.Labels[3], base.Labels[20] = -7, 1000 // lone, and gaps between labels
	sets := map[string]*Embeddings{
		"plain": base, "grid": onGrid(base), "tiny 1e-30": scaled(base, 1e-30), "huge 1e30": scaled(base, 1e30),
		"saturated": scaled(base, 1e4), "near zero": scaled(base, 1e-6), "far from 0": shifted(base, 1e4),
	}
	for name, e := range sets {
		for _, m := range testMetrics() {
			for ties := Pessimistic; ties <= RandomOrder; ties++ {
				opt := RetrievalOptions{Ties: ties, Seed: 5, SearchOptions: SearchOptions{Self: LeaveOneOut(e.N), Memory: 5000}}
				got, err := Retrieve(context.Background(), hostEngine{}, e, e, m, opt)
				if err != nil {
					t.Fatalf("%s, %v: %v", name, m, err)
				}
				want := bruteRetrieval(m, e, e, opt.Self, ties, 5)
				if !slices.Equal(got.FirstRank, want.FirstRank) || !slices.Equal(got.AveragePrecision, want.AveragePrecision) ||
					!slices.Equal(got.RPrecision, want.RPrecision) || !slices.Equal(got.AveragePrecisionAtR, want.AveragePrecisionAtR) {
					t.Errorf("%s, %v, %v: ranks differ from brute force", name, m, ties)
				}
				opt.FirstOnly = true
				first, err := Retrieve(context.Background(), hostEngine{}, e, e, m, opt)
				fatal(t, err)
				if !slices.Equal(first.FirstRank, want.FirstRank) {
					t.Errorf("%s, %v, %v: first ranks alone differ from brute force", name, m, ties)
				}
			}
		}
	}
}

func shifted(e *Embeddings, by float32) *Embeddings {
	c := scaled(e, 1)
	for i := range c.X {
		c.X[i] += by
	}
	return c
}

// pytorch-metric-learning's test_tied_distances: dropping the first hit instead
// of the query itself makes 1.0 of this.
func TestSelfIsExcludedByIndexNotByPosition(t *testing.T) {
	e := &Embeddings{X: []float32{10, 10, 20, 20}, N: 4, H: 1, Labels: []int{1, 0, 1, 0}}
	for ties := Pessimistic; ties <= RandomOrder; ties++ {
		r, err := Retrieve(context.Background(), hostEngine{}, e, e, metric.Metric{Kind: metric.Euclidean}, RetrievalOptions{Ties: ties, SearchOptions: SearchOptions{Self: LeaveOneOut(4)}})
		fatal(t, err)
		if p := r.Averages().PrecisionAt1; p != 0 {
			t.Errorf("%v: precision at 1 is %v, want 0", ties, p)
		}
	}
}

// pytorch-metric-learning's test_many_tied_distances, and the collapse that
// scores 100% where ties count as hits.
func TestCollapsedEmbeddingsScoreAtChance(t *testing.T) {
	for _, want := range []struct {
		ties     TieRule
		n        int
		low, top float64
	}{{Pessimistic, 10000, 0, 0}, {RandomOrder, 4000, 46, 54}, {IndexOrder, 2000, 0, 56}} {
		if testing.Short() {
			want.n /= 5
		}
		e := &Embeddings{X: make([]float32, want.n*2), N: want.n, H: 2}
		rng := seeded(3)
		for range want.n {
			e.Labels = append(e.Labels, rng.IntN(2))
		}
		opt := RetrievalOptions{Ties: want.ties, SearchOptions: SearchOptions{Self: LeaveOneOut(e.N)}}
		r, err := Retrieve(context.Background(), zeroEngine{}, e, e, metric.Metric{Kind: metric.Euclidean}, opt)
		fatal(t, err)
		if got := r.RecallAt(1); got < want.low || got > want.top {
			t.Errorf("%v: Recall@1 is %v, want %v to %v", want.ties, got, want.low, want.top)
		}
		if r.Tied != e.N {
			t.Errorf("%v: %d tied queries, want all %d", want.ties, r.Tied, e.N)
		}
	}
}

// zeroEngine is hostEngine for embeddings that are all zero, only faster.
type zeroEngine struct{ hostEngine }

func (zeroEngine) Pairwise(d, _, _ engine.Tensor, _ metric.Metric) error {
	clear(d.(*hostTensor).v)
	return nil
}

func TestResultsDoNotDependOnWorkersOrMemory(t *testing.T) {
	e := blobs(seeded(4), 10, 7, 6, 1)
	var want *Retrieval
	for _, opt := range []SearchOptions{{Workers: 1}, {Workers: 3}, {Workers: 8, Memory: 1}, {Memory: 8 * 70 * 3}} {
		opt.Self = LeaveOneOut(e.N)
		r, err := Retrieve(context.Background(), hostEngine{}, e, e, metric.Metric{P: 2}, RetrievalOptions{SearchOptions: opt})
		fatal(t, err)
		if want == nil {
			want = r
		}
		if !slices.Equal(r.FirstRank, want.FirstRank) || !slices.Equal(r.AveragePrecision, want.AveragePrecision) {
			t.Errorf("%+v changes the result", opt)
		}
	}
}

func TestQueriesWithoutTheirClassInTheGallery(t *testing.T) {
	gallery := &Embeddings{X: []float32{0, 1, 2}, N: 3, H: 1, Labels: []int{5, 6, 6}}
	queries := &Embeddings{X: []float32{0, 1.1}, N: 2, H: 1, Labels: []int{9, 6}}
	m := metric.Metric{Kind: metric.Euclidean}
	r, err := Retrieve(context.Background(), hostEngine{}, queries, gallery, m, RetrievalOptions{})
	fatal(t, err)
	if r.Lone != 1 || r.Averages().PrecisionAt1 != 1 || r.RecallAt(1) != 50 || r.RecallAtWithoutLone(1) != 100 {
		t.Errorf("lone %d, P@1 %v, Recall@1 %v and %v without lone", r.Lone, r.Averages().PrecisionAt1, r.RecallAt(1), r.RecallAtWithoutLone(1))
	}
	queries.Labels = []int{9, 9}
	_, err = Retrieve(context.Background(), hostEngine{}, queries, gallery, m, RetrievalOptions{})
	if err == nil || !strings.Contains(err.Error(), "none of the 2 queries") {
		t.Errorf("all labels absent: error %v", err)
	}
}

func TestAnInexactEngineIsReported(t *testing.T) {
	e := blobs(seeded(6), 8, 8, 16, 1)
	_, err := Retrieve(context.Background(), hostEngine{noise: 1e-3}, e, e, metric.Metric{P: 2}, RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(e.N)}})
	if err == nil || !strings.Contains(err.Error(), "float32 arithmetic") {
		t.Errorf("an engine with errors of 1e-3 gives %v", err)
	}
}

func TestBadEmbeddingsAreNamed(t *testing.T) {
	m := metric.Metric{Kind: metric.Euclidean}
	nan := float32(math.NaN())
	for _, bad := range []struct {
		e    *Embeddings
		m    metric.Metric
		want string
	}{
		{nil, m, "no embeddings"},
		{&Embeddings{N: 0, H: 3}, m, "0 rows of 3"},
		{&Embeddings{N: 2, H: 2, X: make([]float32, 3)}, m, "3 numbers do not make 2 rows of 2"},
		{&Embeddings{N: 2, H: 1, X: make([]float32, 2), Labels: []int{1}}, m, "1 labels for 2 rows"},
		{&Embeddings{N: 2, H: 2, X: []float32{0, 1, 2, nan}, Labels: []int{1, 1}}, m, "row 1 holds NaN in coordinate 1"},
		{&Embeddings{N: 2, H: 1, X: make([]float32, 2)}, m, "no labels"},
		{&Embeddings{N: 2, H: 1, X: make([]float32, 2), Labels: []int{1, 1}}, metric.Metric{P: 3}, "p is 3"},
	} {
		_, err := Retrieve(context.Background(), hostEngine{}, bad.e, bad.e, bad.m, RetrievalOptions{})
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("error %v, want %q", err, bad.want)
		}
	}
}

func TestCanceledSearchStops(t *testing.T) {
	e := blobs(seeded(7), 4, 4, 3, 1)
	ctx, cancel := context.WithCancel(context.Background())
	opt := RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(e.N), Memory: 1, Progress: func(done, _ int) {
		if done == 3 {
			cancel()
		}
	}}}
	if _, err := Retrieve(ctx, hostEngine{}, e, e, metric.Metric{P: 2}, opt); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

func TestTieRuleNames(t *testing.T) {
	for ties := Pessimistic; ties <= RandomOrder; ties++ {
		if back, err := ParseTieRule(ties.String()); err != nil || back != ties {
			t.Errorf("%v: %v, %v", ties, back, err)
		}
	}
	if _, err := ParseTieRule("best"); err == nil || !strings.Contains(err.Error(), "pessimistic") {
		t.Errorf("error %v", err)
	}
	if s := fmt.Sprint(TieRule(9)); s != "TieRule(9)" {
		t.Error(s)
	}
}

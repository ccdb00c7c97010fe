package eval

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// Distances that are given rank as the metric does that they are of, ties and groups
// included.
func TestRetrieveByIsRetrieveOfItsMetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	x := &Embeddings{N: 60, H: 2, X: make([]float32, 120), Labels: make([]int, 60)}
	groups := &Groups{Queries: make([]int, 60), Gallery: make([]int, 60)}
	for i := range x.X {
		x.X[i] = float32(rng.IntN(5)) // many ties
	}
	for i := range x.Labels {
		x.Labels[i] = rng.IntN(7)
		groups.Queries[i] = rng.IntN(3)
	}
	copy(groups.Gallery, groups.Queries)
	m := metric.Metric{Kind: metric.SquaredEuclidean}
	for _, ties := range []TieRule{Pessimistic, Optimistic, IndexOrder, RandomOrder} {
		for _, g := range []*Groups{nil, groups} {
			opt := RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(60), Groups: g}, Ties: ties, Seed: 3}
			want, err := Retrieve(context.Background(), nil, x, x, m, opt)
			if err != nil {
				t.Fatal(err)
			}
			got, err := RetrieveBy(context.Background(), x, x, opt, func(q int, dst []float64) error {
				for j := range dst {
					dst[j] = m.Value(x.Row(q), x.Row(j))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v, groups %v: %+v, want %+v", ties, g != nil, got, want)
			}
		}
	}
}

func TestRetrieveByPassesErrorsOn(t *testing.T) {
	x := &Embeddings{N: 4, H: 1, X: []float32{1, 2, 3, 4}, Labels: []int{0, 0, 1, 1}}
	opt := RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(4)}}
	broken := errors.New("broken")
	if _, err := RetrieveBy(context.Background(), x, x, opt, func(int, []float64) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a row that fails: %v", err)
	}
	_, err := RetrieveBy(context.Background(), x, x, opt, func(_ int, dst []float64) error { dst[2] = math.NaN(); return nil })
	if err == nil || !strings.Contains(err.Error(), "from row 2 is NaN") {
		t.Errorf("NaN: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := RetrieveBy(ctx, x, x, opt, func(int, []float64) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

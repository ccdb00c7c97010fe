package eval

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/metric"
)

// onRanks calls f as each of 1, 2, 4 and 8 ranks and compares all results with that of one.
func onRanks[T any](t *testing.T, name string, f func(c comm.Comm) (T, error)) {
	t.Helper()
	want, err := f(nil)
	fatal(t, err)
	for _, size := range []int{1, 2, 4, 8} {
		err := comm.Local(size, func(c comm.Comm) error {
			got, err := f(c)
			if err == nil && !reflect.DeepEqual(got, want) {
				err = fmt.Errorf("%+v, want %+v", got, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s, %d ranks: %v", name, size, err)
		}
	}
}

// 53 queries are a multiple of no number of ranks; with 8 ranks and 5 queries some have
// nothing to do.
func TestRanksFindWhatOneFinds(t *testing.T) {
	e := blobs(seeded(5), 6, 9, 5, .9)
	e = e.Select(LeaveOneOut(53))
	for i := 0; i < 20; i++ { // equal distances
		copy(e.Row(i+20), e.Row(i))
	}
	camera := make([]int, e.N)
	for i := range camera {
		camera[i] = i % 3
	}
	few := e.Select([]int{3, 9, 20, 31, 52})
	for _, m := range []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}, {Kind: metric.BRM, P: 2, Omega: 1}} {
		for _, ties := range []TieRule{0, RandomOrder} {
			for name, opt := range map[string]RetrievalOptions{
				"":           {SearchOptions: SearchOptions{Self: LeaveOneOut(e.N)}},
				"groups":     {SearchOptions: SearchOptions{Self: LeaveOneOut(e.N), Groups: &Groups{camera, camera}}},
				"first only": {FirstOnly: true},
			} {
				onRanks(t, fmt.Sprintf("%v, %v, %s", m, ties, name), func(c comm.Comm) (*Retrieval, error) {
					opt := opt
					opt.Comm, opt.Ties, opt.Seed = c, ties, 7
					return Retrieve(t.Context(), nil, e, e, m, opt)
				})
			}
		}
		onRanks(t, m.String()+", neighbors", func(c comm.Comm) (*NeighborList, error) {
			return Neighbors(t.Context(), nil, e, e, m, 7, SearchOptions{Self: LeaveOneOut(e.N), Comm: c})
		})
		onRanks(t, m.String()+", few", func(c comm.Comm) (*NeighborList, error) {
			return Neighbors(t.Context(), nil, few, e, m, 7, SearchOptions{Comm: c})
		})
	}
}

// All figures together, seven restarts of k-means among them.
func TestRanksMeasureWhatOneMeasures(t *testing.T) {
	e := blobs(seeded(6), 6, 9, 5, .9)
	e = e.Select(LeaveOneOut(53))
	onRanks(t, "figures", func(c comm.Comm) (*Figures, error) {
		return Evaluate(t.Context(), nil, e, metric.Metric{Kind: metric.Euclidean}, Options{Restarts: 7, Seed: 3, Comm: c})
	})
}

// A rank that is stopped stops all.
func TestRanksStopSearchingTogether(t *testing.T) {
	e := blobs(seeded(7), 6, 9, 5, .9)
	m := metric.Metric{Kind: metric.Euclidean}
	stopped := make([]error, 4)
	err := comm.Local(4, func(c comm.Comm) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if c.Rank() == 2 {
			cancel()
		}
		_, stopped[c.Rank()] = Evaluate(ctx, nil, e, m, Options{Restarts: 7, Comm: c})
		return nil
	})
	fatal(t, err)
	for rank, err := range stopped {
		if !errors.Is(err, comm.ErrStopped) || !errors.Is(err, context.Canceled) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

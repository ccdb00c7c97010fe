package bench

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/comm"
)

// All ranks of a group, of any size, get the result of the slowest.
func TestRanksMeasureASumTogether(t *testing.T) {
	b, err := Find("allreduce/64Ki")
	if err != nil || !b.ForRanks() {
		t.Fatal(b, err)
	}
	if other, err := Find("gemm"); err != nil || other.ForRanks() {
		t.Fatal(other, err)
	}
	for _, size := range []int{1, 2, 3} {
		var mu sync.Mutex
		results := map[Result]int{}
		err := comm.Local(size, func(c comm.Comm) error {
			r, err := b.Together(context.Background(), c, b.Cases[0], time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			r.Peak = 0
			results[r]++
			return err
		})
		if err != nil || len(results) != 1 {
			t.Fatalf("%d ranks: %d results, %v", size, len(results), err)
		}
		for r, n := range results {
			if n != size || r.Ranks != size || r.Samples < fewest || !(r.Fastest > 0 && r.Fastest <= r.Seconds) || r.BytesS != 4*65536/r.Seconds {
				t.Errorf("%d ranks: %d times %+v", size, n, r)
			}
		}
	}
}

// When one rank stops, all stop.
func TestRanksStopAMeasurementTogether(t *testing.T) {
	b, err := Find("allreduce/1")
	if err != nil {
		t.Fatal(err)
	}
	err = comm.Local(3, func(c comm.Comm) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if c.Rank() == 1 {
			cancel()
		}
		if _, err := b.Together(ctx, c, b.Cases[0], time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("rank %d: %v", c.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

package train

import (
	"math"
	"testing"
)

// The cosine over 8 steps after 2 of warm-up: (1+cos(pi k/8))/2 at k = 4 is
// 1/2, at k = 0 it is 1.
func TestSchedules(t *testing.T) {
	cosine := Schedule{Name: "cosine", Warmup: 2}
	for _, c := range []struct {
		s    Schedule
		step int
		want float64
	}{
		{Schedule{Name: "constant"}, 0, 1},
		{Schedule{Name: "constant"}, 9, 1},
		{cosine, 0, 1. / 3},
		{cosine, 1, 2. / 3},
		{cosine, 2, 1},
		{cosine, 6, .5},
		{cosine, 10, 0},
	} {
		if got := c.s.At(c.step, 10); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v at step %d of 10: got %v, want %v", c.s, c.step, got, c.want)
		}
	}
	if err := (Schedule{Name: "cosine", Warmup: -1}).Validate(); err == nil {
		t.Error("a negative warm-up is accepted")
	}
}

package optim

import (
	"math"
	"strings"
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
		// of two steps an epoch
		{Schedule{Name: "step", Every: 2, Gamma: .5}, 3, 1},
		{Schedule{Name: "step", Every: 2, Gamma: .5}, 4, .5},
		{Schedule{Name: "step", Every: 2, Gamma: .5}, 9, .25},
		{Schedule{Name: "step", Every: 3, Gamma: .1, Unit: "step"}, 6, .01},
		{Schedule{Name: "step", Every: 1, Gamma: .5, Warmup: 3}, 2, .75},
		{Schedule{Name: "multistep", Milestones: []int{1, 3}, Gamma: .1}, 1, 1},
		{Schedule{Name: "multistep", Milestones: []int{1, 3}, Gamma: .1}, 2, .1},
		{Schedule{Name: "multistep", Milestones: []int{1, 3}, Gamma: .1}, 6, .01},
		{Schedule{Name: "multistep", Milestones: []int{5}, Gamma: .5, Unit: "step"}, 5, .5},
	} {
		if got := c.s.At(c.step, 10, 2); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v at step %d of 10: got %v, want %v", c.s, c.step, got, c.want)
		}
	}
}

func TestAScheduleThatIsNotCompleteIsRefused(t *testing.T) {
	for want, s := range map[string]Schedule{
		"warm-up of -1": {Name: "cosine", Warmup: -1},
		"needs gamma":   {Name: "multistep", Milestones: []int{3}},
		"milestones":    {Name: "multistep", Gamma: .1},
		"rising":        {Name: "multistep", Gamma: .1, Milestones: []int{4, 4}},
		"needs every":   {Name: "step", Gamma: .1},
		"no every":      {Name: "cosine", Every: 3},
		"no gamma":      {Name: "constant", Gamma: .5},
		"no milestones": {Name: "step", Gamma: .5, Every: 1, Milestones: []int{2}},
		"neither":       {Name: "cosine", Unit: "hours"},
		"multistep":     {Name: "linear"},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want an error that says %q", s, err, want)
		}
	}
}

package train

import (
	"fmt"
	"math"
	"strings"
)

// Schedule says how the learning rate changes over a run.
type Schedule struct {
	Name string `json:"name"` // constant or cosine
	// Warmup is the number of steps over which the rate rises linearly.
	Warmup int `json:"warmup"`
}

// Schedules lists the names.
var Schedules = []string{"constant", "cosine"}

// Validate checks the settings.
func (s Schedule) Validate() error {
	for _, n := range Schedules {
		if n == s.Name {
			if s.Warmup < 0 {
				return fmt.Errorf("warm-up of %d steps", s.Warmup)
			}
			return nil
		}
	}
	return fmt.Errorf("unknown schedule %q (there is: %s)", s.Name, strings.Join(Schedules, ", "))
}

// At returns the factor of the learning rate at a step (from 0) of total.
// The cosine reaches 0 at the step after the last.
func (s Schedule) At(step, total int) float64 {
	if step < s.Warmup {
		return float64(step+1) / float64(s.Warmup+1)
	}
	if s.Name == "cosine" && total > s.Warmup {
		return 0.5 * (1 + math.Cos(math.Pi*float64(step-s.Warmup)/float64(total-s.Warmup)))
	}
	return 1
}

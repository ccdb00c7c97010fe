package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Schedule says how the learning rate changes over a run.
type Schedule struct {
	Name string `json:"name"` // one of Schedules
	// Warmup is the number of steps over which the rate rises linearly.
	Warmup int `json:"warmup"`
	// Every is of step: the rate is multiplied by Gamma every Every units.
	Every int `json:"every,omitempty"`
	// Milestones are of multistep: the rate is multiplied by Gamma when as many
	// units are done as a milestone says.
	Milestones []int   `json:"milestones,omitempty"`
	Gamma      float64 `json:"gamma,omitempty"`
	// Unit of Every and Milestones: epoch (the default) or step.
	Unit string `json:"unit,omitempty"`
}

// Schedules lists the values of Schedule.Name.
func Schedules() []string { return []string{"constant", "step", "multistep", "cosine"} }

// Validate checks the settings: a schedule is complete, and has nothing that
// belongs to another.
func (s Schedule) Validate() error {
	if !slices.Contains(Schedules(), s.Name) {
		return fmt.Errorf("unknown schedule %q (there is: %s)", s.Name, strings.Join(Schedules(), ", "))
	}
	if s.Warmup < 0 {
		return fmt.Errorf("schedule: warm-up of %d steps", s.Warmup)
	}
	if s.Unit != "" && s.Unit != "epoch" && s.Unit != "step" {
		return fmt.Errorf("schedule: unit %q is neither epoch nor step", s.Unit)
	}
	steps := s.Name == "step" || s.Name == "multistep"
	switch {
	case steps && !(s.Gamma > 0 && s.Gamma <= 1):
		return fmt.Errorf("schedule %s needs gamma, what the rate is multiplied by, above 0 and at most 1; it is %v", s.Name, s.Gamma)
	case s.Name == "step" && s.Every < 1:
		return fmt.Errorf("schedule step needs every, the epochs after which the rate falls; it is %d", s.Every)
	case s.Name == "multistep" && len(s.Milestones) == 0:
		return errors.New("schedule multistep needs milestones, the epochs after which the rate falls")
	case s.Name != "step" && s.Every != 0:
		return fmt.Errorf("schedule %s has no every; step has", s.Name)
	case s.Name != "multistep" && len(s.Milestones) > 0:
		return fmt.Errorf("schedule %s has no milestones; multistep has", s.Name)
	case !steps && s.Gamma != 0:
		return fmt.Errorf("schedule %s has no gamma; step and multistep have", s.Name)
	}
	for i, m := range s.Milestones {
		if m < 1 || i > 0 && m <= s.Milestones[i-1] {
			return fmt.Errorf("schedule: milestones %v are not in rising order from 1 on", s.Milestones)
		}
	}
	return nil
}

// At returns the factor of the learning rate at a step (from 0) of total, with so
// many steps an epoch. The cosine reaches 0 at the step after the last.
func (s Schedule) At(step, total, perEpoch int) float64 {
	if step < s.Warmup {
		return float64(step+1) / float64(s.Warmup+1)
	}
	done := step
	if s.Unit != "step" {
		done = step / max(perEpoch, 1)
	}
	switch s.Name {
	case "cosine":
		if total > s.Warmup {
			return 0.5 * (1 + math.Cos(math.Pi*float64(step-s.Warmup)/float64(total-s.Warmup)))
		}
	case "step":
		return math.Pow(s.Gamma, float64(done/s.Every))
	case "multistep":
		n := 0
		for n < len(s.Milestones) && done >= s.Milestones[n] {
			n++
		}
		return math.Pow(s.Gamma, float64(n))
	}
	return 1
}

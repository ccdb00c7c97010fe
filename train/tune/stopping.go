package tune

import (
	"math"
	"slices"
)

// eta is the share of trials that successive halving lets past a rung, as its inverse.
const eta = 3

// medianTrials are needed for a median that stops anything.
const medianTrials = 5

// rungs are the shares of a trial at which it may be stopped.
func (s Stopping) rungs() []float64 {
	switch s {
	case StopASHA:
		return []float64{1. / (eta * eta), 1. / eta}
	case StopMedian:
		return []float64{1. / 8, 2. / 8, 3. / 8, 4. / 8, 5. / 8, 6. / 8, 7. / 8}
	}
	return nil
}

// stops reports whether a trial that has come so far, in values by step of all steps,
// is to be stopped, given those of earlier trials.
//
// Asynchronous successive halving (Li et al. 2020, A system for massively parallel
// hyperparameter tuning), in the form that stops and never resumes, lets the best third
// of those that have come to a rung go on. The median rule (Golovin et al. 2017, Google
// Vizier, Sect. 3.2.2) stops what is below the median of the others. Both look at earlier
// trials alone, so that nothing depends on which trial is faster.
func (s Stopping) stops(values []float64, all int, earlier []*Trial) bool {
	for _, share := range s.rungs() {
		step := rungStep(share, all)
		if step != len(values) || step >= all {
			continue
		}
		value := values[step-1]
		var others []float64
		for _, t := range earlier {
			if k := rungStep(share, t.Steps); t.Steps > 0 && k <= len(t.Values) {
				others = append(others, t.Values[k-1])
			}
		}
		if s.behind(value, others) {
			return true
		}
	}
	return false
}

// rungStep is the step at which a share of all is done.
func rungStep(share float64, all int) int { return int(math.Ceil(share*float64(all) - 1e-9)) }

func (s Stopping) behind(value float64, others []float64) bool {
	slices.Sort(others)
	slices.Reverse(others)
	n := len(others)
	if s == StopMedian {
		if n < medianTrials {
			return false
		}
		return value < (others[(n-1)/2]+others[n/2])/2
	}
	pass := (n + 1) / eta
	return pass > 0 && n >= pass && value < others[pass-1]
}

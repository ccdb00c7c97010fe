package cli

import "time"

// pace foretells the end of a task from what is done of it. Time since the last
// item was done counts for that item: of long ones the rest does not grow while they run.
type pace struct {
	start, last time.Time
	first, done int // what was done at start, and at last
}

// startPace begins a task of which some may be done, as in an epoch that is resumed.
func startPace(now time.Time, done int) pace {
	return pace{start: now, last: now, first: done, done: done}
}

// note takes down what is done. Counts may come out of order; the highest holds.
func (p *pace) note(now time.Time, done int) {
	if done > p.done {
		p.last, p.done = now, done
	}
}

// left is the time to the end, false while nothing tells it: nothing done since the
// start, or an item that takes longer than all of the rest was to take.
func (p *pace) left(now time.Time, total int) (time.Duration, bool) {
	if p.done == p.first {
		return 0, false
	}
	each := float64(p.last.Sub(p.start)) / float64(p.done-p.first)
	d := time.Duration(each*float64(total-p.done)) - now.Sub(p.last)
	return d, d >= time.Second/2 // less is no second
}

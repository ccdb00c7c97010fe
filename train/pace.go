package train

import "time"

// pace is how long steps take, and what epochs add to them. It is for the user
// and not part of a checkpoint.
type pace struct {
	step1  time.Time     // when the first step of this process ended
	count  int           // steps since then
	aside  time.Duration // time since then in which epochs were measured and saved
	epochs int           // epochs that were
}

// step notes the end of a step.
func (p *pace) step() {
	if p.step1.IsZero() {
		p.step1 = time.Now()
		return
	}
	p.count++
}

// epochEnded notes an epoch whose measuring began at start.
func (p *pace) epochEnded(start time.Time) {
	p.spent(start)
	p.epochs++
}

// spent notes that the time since start went into no step.
func (p *pace) spent(start time.Time) { p.aside += time.Since(start) }

// each is the mean time of a step from end to end, waiting for its batch included
// and measuring of epochs left out; 0 at first.
func (p *pace) each() time.Duration {
	if p.count == 0 {
		return 0
	}
	return (time.Since(p.step1) - p.aside) / time.Duration(p.count)
}

// left is how long the given numbers of steps and of ends of epochs will take.
func (p *pace) left(steps, epochs int) time.Duration {
	d := time.Duration(steps) * p.each()
	if p.epochs > 0 {
		d += time.Duration(epochs) * (p.aside / time.Duration(p.epochs))
	}
	return d
}

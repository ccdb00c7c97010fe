package optim

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// Average keeps an exponential moving average of parameters: after each step
// a += (1-d) (w - a), with d the smaller of decay and (1+n)/(10+n) behind the n-th step, so
// that the first steps do not weigh for long (the warm-up of TensorFlow's
// ExponentialMovingAverage). An average of equal values stays these values, to the bit.
type Average struct {
	trail
	decay float64
	names []string
	spare map[int]engine.Tensor // by size, for Swap
}

// NewAverage returns the average of the parameters that of picks, which begins at their values.
// decay is above 0 and below 1.
func NewAverage(decay float64, ps *layers.Params, of func(*layers.Param) bool) (*Average, error) {
	if !(decay > 0 && decay < 1) {
		return nil, fmt.Errorf("the decay of an average of weights is %v, want a number above 0 and below 1", decay)
	}
	a := &Average{trail: trail{eng: ps.Engine()}, decay: decay, spare: map[int]engine.Tensor{}}
	for _, p := range ps.All() {
		if !of(p) {
			continue
		}
		t, err := a.eng.New(p.Value.Shape()...)
		if err != nil {
			return nil, fmt.Errorf("average of %q: %w", p.Name, err)
		}
		a.names = append(a.names, p.Name)
		a.add(t, p.Value)
		if size := p.Value.Size(); a.spare[size] == nil {
			if a.spare[size], err = a.eng.New(size); err != nil {
				return nil, fmt.Errorf("average of %q: %w", p.Name, err)
			}
		}
	}
	return a, a.Restart()
}

// Follow takes over the averages of another one, of fewer parameters. Those that it did not
// have stay as they are.
func (a *Average) Follow(before *Average) {
	had := map[string]int{}
	for i, name := range before.names {
		had[name] = i
	}
	for i, name := range a.names {
		if j, ok := had[name]; ok {
			a.slots[i].Param = before.slots[j].Param
		}
	}
}

// DecayAt is d behind the n-th step, from 1.
func (a *Average) DecayAt(n int) float64 { return min(a.decay, float64(1+n)/float64(10+n)) }

// Update moves the average towards the parameters as they are behind the n-th step.
func (a *Average) Update(n int) error { return a.move(a.DecayAt(n)) }

// Swap lets averages and parameters change places: what computes with the parameters computes
// with the averages until Swap is called again, which gives all their bits back.
func (a *Average) Swap() error {
	for i, s := range a.slots {
		spare := a.spare[s.Param.Size()]
		for _, c := range [][2]engine.Tensor{{spare, s.Grad}, {s.Grad, s.Param}, {s.Param, spare}} {
			if err := a.eng.Copy(c[0], c[1]); err != nil {
				return fmt.Errorf("average of %q: %w", a.names[i], err)
			}
		}
	}
	return nil
}

// State lists the averages by name, for a checkpoint to save or to fill.
func (a *Average) State() []NamedTensor {
	var out []NamedTensor
	for i, name := range a.names {
		out = append(out, NamedTensor{"average/" + name, a.slots[i].Param})
	}
	return out
}

// Bytes is the memory that the averages take.
func (a *Average) Bytes() (n int64) {
	for _, s := range a.slots {
		n += 4 * int64(s.Param.Size())
	}
	for size := range a.spare {
		n += 4 * int64(size)
	}
	return n
}

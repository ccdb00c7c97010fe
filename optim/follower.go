package optim

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// trail is tensors that each move a part of the way to another one, its mark.
type trail struct {
	eng engine.Engine
	// A move is what gradient descent on half the squared distance to a mark comes to:
	// with a as the parameter and the mark w as its gradient, a decay of -1 makes the
	// gradient w - a, and a rate of -(1-d) moves a towards w.
	slots []engine.Slot
}

func (t *trail) add(moved, mark engine.Tensor) {
	t.slots = append(t.slots, engine.Slot{Param: moved, Grad: mark, Decay: -1})
}

// Restart begins anew at the parameters' values.
func (t *trail) Restart() error {
	for _, s := range t.slots {
		if err := t.eng.Copy(s.Param, s.Grad); err != nil {
			return err
		}
	}
	return nil
}

// move makes a into a + (1-d) (w - a).
func (t *trail) move(d float64) error {
	for i := range t.slots {
		t.slots[i].Rate = -float32(1 - d)
	}
	return t.eng.SGD(t.slots, engine.SGDSpec{})
}

// Follower moves copies of parameters behind these: after each step k becomes k + (1-m) (w - k),
// as the key encoder of momentum contrast does (He et al. 2020, Momentum contrast for
// unsupervised visual representation learning, Eq. 2). A copy of equal values stays these
// values, to the bit.
type Follower struct {
	trail
	momentum float64
}

// NewFollower returns what moves a copy of each parameter of ps that has one: copyOf returns
// it, or nil. momentum is above 0 and below 1.
func NewFollower(momentum float64, ps *layers.Params, copyOf func(*layers.Param) *layers.Param) (*Follower, error) {
	if !(momentum > 0 && momentum < 1) {
		return nil, fmt.Errorf("the momentum of copies of parameters is %v, want a number above 0 and below 1", momentum)
	}
	f := &Follower{trail{eng: ps.Engine()}, momentum}
	for _, p := range ps.All() {
		if c := copyOf(p); c != nil {
			f.add(c.Value, p.Value)
		}
	}
	return f, nil
}

// Update moves the copies towards the parameters as they are behind a step.
func (f *Follower) Update() error { return f.move(f.momentum) }

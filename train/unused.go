package train

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/optim"
)

// UnusedError says that parameters never got a gradient: a part of the network or
// of the loss is not connected, or dead.
type UnusedError struct {
	Step  int
	Names []string
}

func (e *UnusedError) Error() string { return e.Unwrap().Error() }

// Unwrap is the message, with the setting that it names.
func (e *UnusedError) Unwrap() error {
	const limit = 5
	names, more := e.Names, ""
	if len(names) > limit {
		names, more = names[:limit], fmt.Sprintf(" and %d more", len(e.Names)-limit)
	}
	return setting.Errorf("step %d: no gradient has reached %s%s, so it never moves; if that is meant, freeze it with %s", e.Step, strings.Join(names, ", "), more, setting.Name("freeze.params"))
}

// Steps with a gradient after which every parameter must have had one. A single
// number that a loss learns may balance by chance, and gets more time.
const (
	usedWithin       = 2
	numberUsedWithin = 20
)

// usage watches in the first steps of an optimizer whether every parameter gets a
// gradient.
type usage struct {
	names []string
	grads []engine.Tensor // of those that have had none yet
	steps int             // that had any gradient at all
}

func newUsage(o *optim.Optimizer) *usage {
	names, grads := o.Gradients()
	return &usage{names: names, grads: grads}
}

// watching reports whether gradients are still looked at.
func (u *usage) watching() bool { return len(u.grads) > 0 }

// look is called after a step whose whole gradient had the given norm.
func (u *usage) look(eng engine.Engine, step int, norm float64) error {
	if norm == 0 || !u.watching() {
		return nil // nothing was active: this says nothing of single parameters
	}
	u.steps++
	var names, late []string
	var grads []engine.Tensor
	for i, g := range u.grads {
		sum, err := eng.SumSquares([]engine.Tensor{g})
		if err != nil {
			return err
		}
		if sum > 0 {
			continue
		}
		names, grads = append(names, u.names[i]), append(grads, g)
		if u.steps >= numberUsedWithin || u.steps >= usedWithin && g.Size() > 1 {
			late = append(late, u.names[i])
		}
	}
	u.names, u.grads = names, grads
	if len(late) > 0 {
		return &UnusedError{Step: step, Names: late}
	}
	return nil
}

package train

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/run"
)

// DivergedError says that training produced a number that is not finite.
type DivergedError struct {
	Step, Epoch int
	What        string // what was noticed
	Node        string // where it came from first; empty if it did not show again
	Image       string // whose embedding it was; empty if the loss or the gradient
	Kept        string // the last good model; empty if no epoch ended with one
}

func (e *DivergedError) Error() string { return e.Unwrap().Error() }

// Unwrap is the message, with the settings that it names.
func (e *DivergedError) Unwrap() error {
	from, kept := "", "no epoch ended with a good model"
	if e.Node != "" {
		from = fmt.Sprintf(": NaN or infinity first appears at node %q", e.Node)
	}
	if e.Image != "" {
		from = fmt.Sprintf(" (%s)", e.Image)
	}
	if e.Kept != "" {
		kept = fmt.Sprintf("the last good model, of the epoch before, is %s", e.Kept)
	}
	return setting.Errorf("step %d (epoch %d): %s%s; %s; start anew in another folder with a lower %s, or with %s 1", e.Step, e.Epoch, e.What, from, kept,
		setting.Name("optimizer.rate"), setting.Name("optimizer.clip_norm"))
}

// diverged runs the step again, looking at every node.
func (s *stepper) diverged(step int, batch *data.Batch, what string) error {
	e := &DivergedError{Step: step, What: what}
	err := errors.Join(s.net.loss.SetLabels(batch.Labels), s.net.loss.SetItems(batch.Items))
	if err == nil {
		err = s.net.check(batch)
	}
	var nf *layers.NonFiniteError
	if errors.As(err, &nf) {
		e.Node = nf.Node
	} else if err != nil {
		return err
	}
	return s.giveUp(e)
}

// giveUp completes and logs the error that ends a run in the current epoch.
func (s *setup) giveUp(e *DivergedError) error {
	done := s.state.Position.Epoch
	e.Epoch = done + 1
	if done > 0 { // otherwise only the network before training is stored
		e.Kept = s.folder.Path(run.LastFile)
	}
	if err := s.log.write(struct {
		Event string `json:"event"`
		Step  int    `json:"step"`
		What  string `json:"what"`
		Node  string `json:"node"`
	}{"diverged", e.Step, e.What, e.Node}); err != nil {
		return err
	}
	return e
}

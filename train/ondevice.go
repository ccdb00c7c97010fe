package train

import (
	"fmt"
	"time"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
)

// onDevice takes steps on an engine that works behind the host, which enqueues a step
// while the one before is computed. Numbers of a step are read when the next has been
// enqueued: by then they have come and nobody waits. So a step is logged one step late;
// a checkpoint or the end of an epoch concludes it first. The images of the next batch
// are sent before their step. Where a number is not finite, the device moves nothing.
type onDevice struct {
	*stepper
	open *openStep // the latest step until it is concluded
}

// openStep is a step whose loss and gradient norm may still be on their way.
type openStep struct {
	*stepInProgress
	batch   *data.Batch
	loss    func() (float64, error) // waits for the device, see network.late
	checked bool
}

func (s *onDevice) step(batch *data.Batch, ahead func() *data.Batch) error {
	start, number := time.Now(), s.opti.Steps()+1
	loss, err := s.net.runAhead(batch, ahead)
	if err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	if err := engine.Observe(s.observer, &concluding, s.conclude); err != nil {
		return err
	}
	if !s.net.late() { // before anything moves
		v, err := loss()
		if err != nil {
			return fmt.Errorf("step %d: %w", number, err)
		}
		if err := s.checkLoss(number, batch, v); err != nil {
			return err
		}
	}
	p, err := s.move(start)
	if err != nil {
		return err
	}
	s.open = &openStep{stepInProgress: p, batch: batch, loss: loss}
	if s.usage.watching() { // gradients may not outlive the next step
		if err := s.check(); err != nil {
			return err
		}
	}
	return s.remember(p)
}

// check stops the run if the loss or the gradient of the open step is not finite, or if
// a parameter never gets a gradient.
func (s *onDevice) check() (err error) {
	o := s.open
	if o.checked {
		return nil
	}
	_, _ = o.move.Norm() // takes the step off the count if the device has not moved
	if o.record.Loss, err = o.loss(); err != nil {
		return fmt.Errorf("step %d: %w", o.record.Step, err)
	}
	s.open = nil // a step that diverges is not logged
	if err := s.checkLoss(o.record.Step, o.batch, o.record.Loss); err != nil {
		return err
	}
	if err := s.checkGradient(o.stepInProgress, o.batch); err != nil {
		return err
	}
	o.checked, s.open = true, o
	return nil
}

func (s *onDevice) conclude() error {
	o := s.open
	if o == nil {
		return nil
	}
	if err := s.check(); err != nil {
		return err
	}
	s.open = nil
	return s.write(o.record, o.batch)
}

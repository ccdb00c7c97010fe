package train

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/optim"
)

// openStep is a step whose gradient's norm may still be on its way from a device, and
// its loss too, see network.late. By the time that the next step is under way they have
// come, and asking for them keeps nobody waiting; so a step is logged one step late,
// and a checkpoint or the end of an epoch settles it first. Where the norm is not
// finite no parameter has moved.
type openStep struct {
	batch  *data.Batch
	move   *optim.Move
	loss   func() (float64, error)
	record stepRecord
	judged bool
}

// judge stops the run if the latest step's loss or gradient is not finite, or if a
// parameter never gets one.
func (s *Session) judge() error {
	o := s.open
	if o.judged {
		return nil
	}
	norm, err := o.move.Norm()
	loss, lossErr := o.loss()
	switch {
	case lossErr != nil:
		return fmt.Errorf("step %d: %w", o.record.Step, lossErr)
	case !isFinite(loss):
		s.open = nil
		return s.diverged(o.record.Step, o.batch, fmt.Sprintf("the loss is %v", loss))
	case errors.Is(err, optim.ErrNonFinite):
		s.open = nil
		return s.diverged(o.record.Step, o.batch, "the gradient is not finite")
	case err != nil:
		return fmt.Errorf("step %d: %w", o.record.Step, err)
	}
	o.record.Loss, o.record.GradNorm, o.judged = loss, norm, true
	return s.usage.look(s.model.Params.Engine(), o.record.Step, norm)
}

// conclude judges the latest step, counts it in and logs it.
func (s *Session) conclude() error {
	o := s.open
	if o == nil {
		return nil
	}
	if err := s.judge(); err != nil {
		return err
	}
	s.open = nil
	r, st := o.record, &s.state
	st.LossSum += r.Loss
	st.LossSteps++
	st.Health.step(r.Step, r.GradNorm, r.Active == 0)
	if err := s.board.step(r, o.batch.Labels); err != nil {
		return err
	}
	o.batch.Recycle()
	return s.log.write(r)
}

package train

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/data"
)

// openStep is a step whose gradient's norm may still be on its way from a device.
// By the time that the next step has its loss it has come, and asking for it keeps
// nobody waiting; so a step is logged one step late, and a checkpoint or the end of
// an epoch settles it first. Where the norm is not finite no parameter has moved.
type openStep struct {
	batch  *data.Batch
	move   *Move
	record stepRecord
	judged bool
}

// judge stops the run if the latest step's gradient is not finite, or if a
// parameter never gets one.
func (s *Session) judge() error {
	o := s.open
	if o.judged {
		return nil
	}
	norm, err := o.move.Norm()
	if errors.Is(err, ErrNonFinite) {
		s.open = nil
		return s.diverged(o.record.Step, o.batch, "the gradient is not finite")
	}
	if err != nil {
		return fmt.Errorf("step %d: %w", o.record.Step, err)
	}
	o.record.GradNorm, o.judged = norm, true
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

package train

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/optim"
)

// stepper takes the steps of a run: a batch forward and back, and the parameters moved
// along the gradient.
//
// On the host the numbers of a step, its loss and the norm of its gradient, are known
// when it ends. A device works behind the host: parts of its work are asked for while
// others are under way, and numbers are waited for when the next step has been asked
// for. What is different there is what network.late, optim.Move.Pending and openStep
// say, and that lookahead has the images of the next batch before their step.
type stepper struct {
	*setup
	net      *network
	headOnly bool // net is that of the warm-up
	opti     *optim.Optimizer
	usage    *usage
	open     *openStep // the latest step until it is settled
}

// step runs one batch forward and back and moves the parameters. It leaves them
// alone, and returns an error that names the node, if a number is not finite. What
// the norm of the gradient tells is noted by conclude. ahead is for the network's
// run; what it waits for counts as time of the step.
func (s *stepper) step(batch *data.Batch, ahead func() *data.Batch) error {
	start := time.Now()
	st := &s.state
	number := s.opti.Steps() + 1
	if err := s.net.loss.SetLabels(batch.Labels); err != nil {
		return err
	}
	if err := s.net.loss.SetItems(batch.Items); err != nil {
		return err
	}
	loss, err := s.net.run(batch, ahead)
	if err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	if err := s.conclude(); err != nil {
		return err
	}
	if !s.net.late() { // before anything moves
		if err := s.checkFinite(number, batch, loss); err != nil {
			return err
		}
	}
	scale := s.cfg.Schedule.At(number-1, s.steps(), s.sampler.Batches())
	move, err := s.opti.Start(scale)
	if err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	result := s.net.loss.Result
	o := s.cfg.Optimizer
	s.open = &openStep{batch: batch, move: move, loss: loss, record: stepRecord{
		Event: "step", Epoch: st.Position.Epoch + 1, Step: number, Active: result.Active, Total: result.Total,
		Rate: o.Rate * scale, HeadRate: o.Rate * o.HeadRate * scale, LossRate: o.Rate * o.ProxyRate * scale,
	}}
	known := !move.Pending()
	if known || s.usage.watching() { // gradients may not outlive the next step
		if err := s.judge(); err != nil {
			return err
		}
	}
	if err := s.net.loss.Remember(); err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	s.open.record.Seconds = time.Since(start).Seconds()
	if known {
		return s.conclude()
	}
	return nil
}

// checkFinite waits for a step's loss and stops the run if that is not finite.
func (s *stepper) checkFinite(number int, batch *data.Batch, loss func() (float64, error)) error {
	v, err := loss()
	if err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	if !isFinite(v) {
		return s.diverged(number, batch, fmt.Sprintf("the loss is %v", v))
	}
	return nil
}

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
func (s *stepper) judge() error {
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
func (s *stepper) conclude() error {
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

// latest reads the embeddings of the latest batch, row after row.
func (s *stepper) latest() ([]float32, error) {
	x := make([]float32, s.net.embedding.Shape().TotalSize())
	return x, s.net.g.Engine().Read(x, s.net.g.Value(s.net.embedding))
}

// lookahead reads the batches of an epoch and, where a step asks for it, the one
// after its own. That one is not done before a step has used it: a checkpoint that
// is written between the two begins with it.
type lookahead struct {
	pull  func() (*data.Batch, error, bool)
	left  int // batches that are still to be read
	ready bool
	batch *data.Batch
	err   error
}

// newLookahead reads at most max batches. stop ends the work on those that are
// never read.
func newLookahead(batches iter.Seq2[*data.Batch, error], max int) (l *lookahead, stop func()) {
	l = &lookahead{left: max}
	l.pull, stop = iter.Pull2(batches)
	return l, stop
}

// next returns the next batch, nil after the last.
func (l *lookahead) next() (*data.Batch, error) {
	l.read()
	l.ready = false
	return l.batch, l.err
}

// peek waits for the batch that next will return. It is nil after the last, and
// where next will return an error.
func (l *lookahead) peek() *data.Batch {
	l.read()
	return l.batch
}

func (l *lookahead) read() {
	if l.ready || l.err != nil {
		return
	}
	l.ready, l.batch = true, nil
	if l.left > 0 {
		l.left--
		l.batch, l.err, _ = l.pull()
	}
}

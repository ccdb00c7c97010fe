package train

import (
	"errors"
	"fmt"
	"time"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/finite"
	"github.com/vernier-ml/vernier/optim"
)

// stepper takes the steps of a run: a batch forward and backward, and the parameters
// moved along the gradient.
type stepper struct {
	*setup
	net      *network
	headOnly bool // net is that of the warm-up
	opti     *optim.Optimizer
	average  *optim.Average  // of the weights; nil for none
	momentum *optim.Follower // moves the momentum encoder; nil for none
	usage    *usage
	order    stepOrder
	observer engine.Observer // may be nil
}

// stepOrder says when the numbers of a step, its loss and the norm of its gradient, are
// known: onHost when the step ends, onDevice while the next one is under way.
type stepOrder interface {
	// step runs a batch, whose labels the loss has, forward and backward and moves the
	// parameters. It stops the run with a DivergedError if a number is not finite; the
	// parameters have not moved along such a gradient. ahead waits for the batch after
	// this one, and is nil after the last.
	step(batch *data.Batch, ahead func() *data.Batch) error
	// conclude logs the latest step if that has not been done.
	conclude() error
}

// newStepOrder returns the order of steps for the engine of the network.
func newStepOrder(s *stepper) stepOrder {
	switch s.net.g.Engine().(type) {
	case engine.Clipper, engine.Feeder:
		return &onDevice{stepper: s}
	}
	return onHost{s}
}

// step runs one batch forward and backward and moves the parameters.
func (s *stepper) step(batch *data.Batch, ahead func() *data.Batch) error {
	if err := s.gather(batch); err != nil {
		return err
	}
	if err := s.net.loss.SetLabels(batch.Labels); err != nil {
		return err
	}
	if err := s.net.loss.SetItems(batch.Items); err != nil {
		return err
	}
	return s.order.step(batch, ahead)
}

// conclude logs the latest step if that has not been done.
func (s *stepper) conclude() error { return s.order.conclude() }

// release gives back what steps alone need: the graph, the optimizer's state and the average
// of the weights, of which the folder has the models.
func (s *stepper) release() {
	if s.net != nil {
		s.net.close()
	}
	s.net, s.opti, s.average, s.order = nil, nil, nil, nil
}

// move starts to move the parameters along the gradient and begins the record of the
// step.
func (s *stepper) move(start time.Time) (*stepInProgress, error) {
	number := s.opti.Steps() + 1
	scale := s.cfg.Schedule.At(number-1, s.steps(), s.sampler.Batches())
	move, err := s.opti.Start(scale)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", number, err)
	}
	if err := s.updateAverage(number); err != nil {
		return nil, fmt.Errorf("step %d: %w", number, err)
	}
	if err := s.updateMomentum(); err != nil {
		return nil, fmt.Errorf("step %d: %w", number, err)
	}
	o, result := s.cfg.Optimizer, s.net.loss.Result
	return &stepInProgress{move: move, start: start, record: stepRecord{
		Event: "step", Epoch: s.state.Position.Epoch + 1, Step: number, Active: result.Active, Total: result.Total,
		Rate: o.Rate * scale, HeadRate: o.Rate * o.HeadRate * scale, LossRate: o.Rate * o.ProxyRate * scale,
	}}, nil
}

// stepInProgress is a step whose parameters are moving.
type stepInProgress struct {
	start  time.Time
	move   *optim.Move
	record stepRecord
}

// remember adds the batch to the memory of earlier batches, and ends the time of the
// step.
func (s *stepper) remember(p *stepInProgress) error {
	remember := s.net.loss.Remember
	if s.cfg.Loss.Memory > 0 {
		remember = func() error { return engine.Observe(s.observer, &remembering, s.net.loss.Remember) }
	}
	if err := remember(); err != nil {
		return fmt.Errorf("step %d: %w", p.record.Step, err)
	}
	p.record.Seconds = time.Since(p.start).Seconds()
	return nil
}

// checkLoss stops the run if the loss of a step is not finite.
func (s *stepper) checkLoss(number int, batch *data.Batch, loss float64) error {
	if finite.Is(loss) {
		return nil
	}
	return s.diverged(number, batch, fmt.Sprintf("the loss is %v", loss))
}

// checkGradient waits for the norm of the gradient. It stops the run if the norm is not
// finite, or if a parameter never gets a gradient.
func (s *stepper) checkGradient(p *stepInProgress, batch *data.Batch) error {
	norm, err := p.move.Norm()
	if errors.Is(err, optim.ErrNonFinite) {
		return s.diverged(p.record.Step, batch, "the gradient is not finite")
	}
	if err != nil {
		return fmt.Errorf("step %d: %w", p.record.Step, err)
	}
	p.record.GradNorm = norm
	return s.usage.look(s.model.Params.Engine(), p.record.Step, norm)
}

// write counts a finished step in and logs it. The batch is given back.
func (s *stepper) write(r stepRecord, batch *data.Batch) error {
	st := &s.state
	st.LossSum += r.Loss
	st.LossSteps++
	st.Health.step(r.Step, r.GradNorm, r.Active == 0)
	if err := s.board.step(r, batch.Labels); err != nil {
		return err
	}
	batch.Recycle()
	return s.log.write(r)
}

// latest reads the embeddings of the latest batch, row after row.
func (s *stepper) latest() ([]float32, error) {
	x := make([]float32, s.net.embedding.Shape().TotalSize())
	return x, s.net.g.Engine().Read(x, s.net.g.Value(s.net.embedding))
}

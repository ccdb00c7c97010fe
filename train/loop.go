package train

import (
	"context"
	"fmt"
	"time"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/run"
)

// Train runs the remaining epochs. When ctx ends it saves a checkpoint after
// the current step and returns ctx's error: Resume then goes on as if nothing
// had happened.
func (s *Session) Train(ctx context.Context) error {
	defer collectOften()()
	defer s.summarize()
	for s.state.Position.Epoch < s.epochs() {
		if err := s.release(); err != nil {
			return err
		}
		if err := s.epoch(ctx); err != nil {
			if ctx.Err() != nil {
				if err := s.saveCheckpoint(); err != nil {
					return fmt.Errorf("interrupted, and saving failed: %w", err)
				}
				return ctx.Err()
			}
			return err
		}
	}
	return nil
}

// epoch trains to the end of the current epoch, measures and saves.
func (s *Session) epoch(ctx context.Context) error {
	if err := s.batchwise(ctx); err != nil {
		return err
	}
	return s.endEpoch(ctx)
}

// batchwise takes the steps that are left of the current epoch.
func (s *Session) batchwise(ctx context.Context) error {
	st := &s.state
	batches := s.batches(st.Position.Epoch) // the run's last epoch may be cut short
	task := fmt.Sprintf("epoch %d/%d", st.Position.Epoch+1, s.epochs())
	s.tellParts(task, batches)
	read, stop := newLookahead(s.trainer.Epoch(ctx, s.sampler, st.Position.Epoch, st.Position.Batch), batches-st.Position.Batch)
	defer stop()
	for {
		batch, err := read.next()
		if err != nil {
			return fmt.Errorf("%s: %w", task, err)
		}
		if batch == nil {
			return nil
		}
		if err := s.step(batch, read.peek); err != nil {
			return err
		}
		st.Position.Batch++
		if d := time.Duration(s.cfg.Run.SaveEvery); d > 0 && time.Since(s.saved) >= d && st.Position.Batch < batches {
			if err := s.saveCheckpoint(); err != nil {
				return err
			}
		}
		s.ev.Progress(task, st.Position.Batch, batches, s.detail())
		if st.Position.Batch == batches {
			if err := s.conclude(); err != nil {
				return err
			}
			if err := s.spread(); err != nil {
				return err
			}
			st.Flow = s.net.g.Flows()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// endEpoch measures an epoch whose steps are done, reports and saves it.
func (s *Session) endEpoch(ctx context.Context) error {
	start, st := time.Now(), &s.state
	r := run.EpochRecord{
		Event: "epoch", Epoch: st.Position.Epoch + 1, Steps: s.opti.Steps(), Loss: st.LossSum / float64(max(st.LossSteps, 1)),
		Skipped: len(s.trainer.Bad()), DistanceMean: st.Mean, DistanceStd: st.Std, Recall1: -1, MAPAtR: -1,
		Flow: st.Flow,
		Idle: share(st.Health.Idle, st.LossSteps), Saturated: st.Saturated,
	}
	if s.sets.Validation != nil {
		var err error
		if r.Recall1, r.MAPAtR, err = s.validate(ctx); err != nil {
			return err
		}
	} else if err := s.tryModel(ctx); err != nil {
		return err
	}
	if n := s.cfg.Run.EvalEvery; n > 0 && (r.Epoch%n == 0 || r.Epoch == s.epochs()) {
		var err error
		if r.Test, err = s.test(ctx); err != nil {
			return err
		}
	}
	// Without validation classes the latest epoch is the best known; among equals the
	// first is.
	if r.Best = s.sets.Validation == nil || r.MAPAtR > st.Best; r.Best {
		st.Best, st.BestEpoch = r.MAPAtR, r.Epoch
	}
	st.History = append(st.History, r)
	st.Position = data.Position{Epoch: r.Epoch}
	steps, health := st.LossSteps, st.Health
	st.LossSum, st.LossSteps = 0, 0
	st.Health.nextEpoch()
	if err := s.log.write(r); err != nil {
		return err
	}
	if err := s.board.epoch(s, r); err != nil {
		return err
	}
	s.pace.epochEnded(start)
	defer s.pace.spent(time.Now()) // on saving
	s.tell(r)
	s.warn(r, steps, health)
	return s.save()
}

// step runs one batch forward and back and moves the parameters. It leaves them
// alone, and returns an error that names the node, if a number is not finite. What
// the norm of the gradient tells is noted by conclude. ahead is for the network's
// run; what it waits for counts as time of the step.
func (s *Session) step(batch *data.Batch, ahead func() *data.Batch) error {
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
		if err := s.fine(number, batch, loss); err != nil {
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
	s.pace.step()
	s.open.record.Seconds = time.Since(start).Seconds()
	if known {
		return s.conclude()
	}
	return nil
}

// fine waits for a step's loss and stops the run if that is not finite.
func (s *Session) fine(number int, batch *data.Batch, loss func() (float64, error)) error {
	v, err := loss()
	if err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	if !isFinite(v) {
		return s.diverged(number, batch, fmt.Sprintf("the loss is %v", v))
	}
	return nil
}

package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// Train runs the remaining epochs. When ctx ends it saves a checkpoint after
// the current step and returns ctx's error: Resume then continues as if nothing
// had happened.
func (s *Session) Train(ctx context.Context) error {
	defer collectOften()()
	defer s.teller.summarize()
	return s.tracing.end(ctx, s.train(ctx))
}

func (s *Session) train(ctx context.Context) error {
	for s.state.Position.Epoch < s.epochs() {
		if err := s.release(); err != nil {
			return err
		}
		if err := s.epoch(ctx); err != nil {
			if s.comm.Size() == 1 && ctx.Err() != nil || errors.Is(err, comm.ErrStopped) {
				if err := s.keeper.saveCheckpoint(); err != nil {
					return fmt.Errorf("interrupted, and saving failed: %w", err)
				}
				return s.leave(ctx.Err())
			}
			return err
		}
	}
	return nil
}

// epoch trains to the end of the current epoch, measures and saves.
func (s *Session) epoch(ctx context.Context) error {
	if err := s.setScale(); err != nil {
		return err
	}
	if err := s.batchwise(ctx); err != nil {
		return err
	}
	return s.endEpoch(ctx)
}

// setScale sets the scale of the epoch where it has a schedule.
func (s *Session) setScale() error {
	m := s.cfg.Model
	if _, is := m.Scaling.To(); !is {
		return nil
	}
	return s.model.SetScale(m.Scaling.At(m.Scale, s.state.Position.Epoch, s.epochs()))
}

// batchwise takes the steps that are left of the current epoch.
func (s *Session) batchwise(ctx context.Context) error {
	st := &s.state
	batches := s.batches(st.Position.Epoch) // the run's last epoch may be cut short
	task := fmt.Sprintf("epoch %d/%d", st.Position.Epoch+1, s.epochs())
	s.teller.tellParts(task, batches)
	read, stop := newLookahead(s.feeder.trainer.Epoch(s.reading(ctx), s.sampler, st.Position.Epoch, st.Position.Batch), batches-st.Position.Batch)
	defer stop()
	for !read.ended() {
		var labels []int
		err := s.tracing.step(read, func() error {
			batch, err := read.next()
			if err != nil {
				return fmt.Errorf("%s: %w", task, err)
			}
			if batch == nil {
				return fmt.Errorf("%s: the sampler gives %s, and says that there are %d", task, plural.Of(st.Position.Batch, "batch"), batches)
			}
			err = s.stepper.step(batch, read.peek)
			labels = batch.Labels
			return err
		})
		if err != nil {
			return err
		}
		if err := s.watchCollapse(st.Position.Batch, batches, labels); err != nil {
			return err
		}
		s.teller.pace.step()
		st.Position.Batch++
		if d := time.Duration(s.cfg.Run.SaveEvery); d > 0 && time.Since(s.keeper.saved) >= d && st.Position.Batch < batches {
			if err := s.keeper.saveCheckpoint(); err != nil {
				return err
			}
		}
		s.ev.Progress(task, st.Position.Batch, batches, s.teller.detail())
		if st.Position.Batch == batches {
			if err := s.stepper.conclude(); err != nil {
				return err
			}
			if err := s.spread(); err != nil {
				return err
			}
			st.Flow = s.stepper.net.g.Flows()
		}
		if err := comm.Stopped(ctx, s.comm); err != nil {
			return err
		}
	}
	return nil
}

// endEpoch measures an epoch whose steps are done, reports and saves it.
func (s *Session) endEpoch(ctx context.Context) error {
	start, st := time.Now(), &s.state
	s.noteBad(s.badItems())
	r := run.EpochRecord{
		Event: "epoch", Epoch: st.Position.Epoch + 1, Steps: s.stepper.opti.Steps(), Loss: st.LossSum / float64(max(st.LossSteps, 1)),
		Skipped: len(s.bad), DistanceMean: st.Mean, DistanceStd: st.Std, Recall1: -1, MAPAtR: -1,
		Flow: st.Flow,
		Idle: share(st.Health.Idle, st.LossSteps), Saturated: st.Saturated,
	}
	var err error
	if s.cfg.Model.Scaling != model.ScaleFixed {
		if r.Scale, err = s.model.Scale(); err != nil {
			return err
		}
	}
	if r, err = s.measured(ctx, r); err != nil {
		return err
	}
	// Ranks have read other images ahead, and know of others that are bad.
	if r, err = comm.FromLead(s.comm, func() (run.EpochRecord, error) { return r, nil }); err != nil {
		return err
	}
	// Without validation classes the latest epoch is the best known, with averaged weights
	// if there are such; among equals the first is.
	_, mapAtR, averaged := r.Candidate()
	if r.Best = s.sets.Validation == nil || mapAtR > st.Best; r.Best {
		st.Best, st.BestEpoch, st.BestEMA = mapAtR, r.Epoch, averaged
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
	s.teller.pace.epochEnded(start)
	defer s.teller.pace.spent(time.Now()) // on saving
	s.teller.tell(r)
	s.teller.warn(r, steps, health)
	if err := s.keeper.save(); err != nil || s.opt.AfterEpoch == nil {
		return err
	}
	return s.opt.AfterEpoch(r)
}

// measured measures the model at the end of an epoch.
func (s *Session) measured(ctx context.Context, r run.EpochRecord) (run.EpochRecord, error) {
	err := s.measurer.validateBoth(ctx, &r)
	if n := s.cfg.Run.EvalEvery; err == nil && n > 0 && (r.Epoch%n == 0 || r.Epoch == s.epochs()) {
		err = s.measurer.testBoth(ctx, &r)
	}
	return r, err
}

// History lists the epochs that the run has behind it.
func (s *Session) History() []run.EpochRecord { return slices.Clone(s.state.History) }

// Finish measures the best epoch on the test classes, and writes results and
// pictures. The optimizer's state is given back before: what follows is Close. Of several ranks the first writes; the others return no results.
func (s *Session) Finish(ctx context.Context) (*run.Results, error) {
	eng := s.model.Params.Engine()
	s.stepper.release()                      // makes room
	if err := s.comm.Barrier(); err != nil { // rank 0 has written the models
		return nil, err
	}
	defer collectOften()()
	opt := run.MeasureOptions{Selection: run.Selection{Options: s.opt.run()}, Restarts: s.opt.Restarts}
	emb, r, err := run.Measure(ctx, s.folder, eng, opt)
	if err != nil {
		return nil, err
	}
	defer emb.Close()
	if !s.lead() {
		return nil, nil
	}
	if err := s.folder.SaveJSON(run.ResultsFile, r); err != nil || s.opt.ModelOnly {
		return r, err
	}
	if s.cfg.Run.TensorBoard {
		if err := project(s.folder, emb); err != nil {
			return nil, err
		}
	}
	if err := s.folder.Draw(ctx, eng, emb, s.state.History); err != nil {
		return nil, err
	}
	return r, nil
}

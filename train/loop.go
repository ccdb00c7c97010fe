package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/layers"
)

// Train runs the remaining epochs. When ctx ends it saves a checkpoint after
// the current step and returns ctx's error: Resume then goes on as if nothing
// had happened.
func (s *Session) Train(ctx context.Context) error {
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
	st := &s.state
	number := st.Position.Epoch + 1
	batches := s.batches(st.Position.Epoch)
	task := fmt.Sprintf("epoch %d/%d", number, s.epochs())
	for batch, err := range s.trainer.Epoch(ctx, s.sampler, st.Position.Epoch, st.Position.Batch) {
		if st.Position.Batch >= batches {
			break // the run's last epoch may be cut short
		}
		if err != nil {
			return fmt.Errorf("%s: %w", task, err)
		}
		if err := s.step(batch); err != nil {
			return err
		}
		st.Position.Batch++
		batch.Recycle()
		if d := s.opt.SaveEvery; d > 0 && time.Since(s.saved) >= d && st.Position.Batch < batches {
			if err := s.saveCheckpoint(); err != nil {
				return err
			}
		}
		s.ev.Progress(task, st.Position.Batch, batches, fmt.Sprintf("loss %.4f", st.LossSum/float64(st.LossSteps)))
		if st.Position.Batch == batches {
			if st.Mean, st.Std, err = s.spread(); err != nil {
				return err
			}
			st.Flow = s.net.g.Flows()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	r := EpochRecord{
		Event: "epoch", Epoch: number, Steps: s.opti.Steps(), Loss: st.LossSum / float64(max(st.LossSteps, 1)),
		Skipped: len(s.trainer.Bad()), DistanceMean: st.Mean, DistanceStd: st.Std, Recall1: -1, MAPAtR: -1,
		Flow: st.Flow,
	}
	if s.sets.validation != nil {
		var err error
		if r.Recall1, r.MAPAtR, err = s.validate(ctx); err != nil {
			return err
		}
	}
	// Without validation classes the latest epoch is the best known.
	if r.Best = s.sets.validation == nil || r.MAPAtR >= st.Best; r.Best {
		st.Best, st.BestEpoch = r.MAPAtR, number
	}
	st.History = append(st.History, r)
	if s.opt.Curve {
		p, err := s.point(ctx, number)
		if err != nil {
			return err
		}
		st.Curve = append(st.Curve, p)
	}
	st.Position = data.Position{Epoch: number}
	st.LossSum, st.LossSteps = 0, 0
	if err := s.log.write(r); err != nil {
		return err
	}
	s.tell(r)
	return s.save()
}

// tell reports an epoch to the user.
func (s *Session) tell(r EpochRecord) {
	line := fmt.Sprintf("epoch %d/%d  loss %.4f  %s %.3f±%.3f", r.Epoch, s.epochs(), r.Loss, s.quantity(), r.DistanceMean, r.DistanceStd)
	if r.Recall1 >= 0 {
		line += fmt.Sprintf("  validation Recall@1 %.1f%% MAP@R %.1f%%", r.Recall1, r.MAPAtR)
		if r.Best {
			line += " (best so far)"
		}
	}
	s.ev.Say("%s", line+flowText(r.Flow))
	for _, f := range r.Flow {
		if f.Neighbours == 0 {
			s.ev.Warn("%s found no neighbours in the epoch's last batch and changed nothing; raise delta in --flow", f.Name)
		}
	}
	if r.DistanceStd < 1e-3*math.Abs(r.DistanceMean) || r.DistanceMean == 0 {
		s.ev.Warn("the embeddings have collapsed: %s between images of a batch is %.3g everywhere; lower the learning rate or change the loss's margin", s.quantity(), r.DistanceMean)
	}
	if r.Skipped > 0 {
		s.ev.Warn("%d unreadable images were replaced by others of their class; vernier data check lists them", r.Skipped)
	}
}

// flowText says how much the geometry flow layers mix.
func flowText(list []layers.FlowStats) string {
	text := ""
	for _, f := range list {
		text += fmt.Sprintf("  %s: %.1f neighbours, weight %.2f", f.Name, f.Neighbours, f.Weight)
	}
	return text
}

func (s *Session) quantity() string {
	if s.cfg.Model.Metric.Similarity() {
		return "similarity"
	}
	return "distance"
}

// step runs one batch forward and back and moves the parameters. It leaves them
// alone, and returns an error that names the node, if a number is not finite.
func (s *Session) step(batch *data.Batch) error {
	start := time.Now()
	st := &s.state
	number := s.opti.Steps() + 1
	if err := s.net.loss.SetLabels(batch.Labels); err != nil {
		return err
	}
	if err := s.net.loss.SetItems(batch.Items); err != nil {
		return err
	}
	loss, err := s.net.run(batch.Images)
	if err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return s.diverged(number, batch, fmt.Sprintf("the loss is %v", loss))
	}
	scale := s.cfg.Schedule.At(number-1, s.steps(), s.sampler.Batches())
	norm, err := s.opti.Step(scale)
	if errors.Is(err, ErrNonFinite) {
		return s.diverged(number, batch, "the gradient is not finite")
	}
	if err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	if err := s.net.loss.Remember(); err != nil {
		return fmt.Errorf("step %d: %w", number, err)
	}
	st.LossSum += loss
	st.LossSteps++
	return s.log.write(stepRecord{
		Event: "step", Epoch: st.Position.Epoch + 1, Step: number, Loss: loss,
		Active: s.net.loss.Result.Active, Total: s.net.loss.Result.Total,
		GradNorm: norm, Rate: s.cfg.Optimizer.Rate * scale, Seconds: time.Since(start).Seconds(),
	})
}

// DivergedError says that training produced a number that is not finite.
type DivergedError struct {
	Step, Epoch int
	What        string // what was noticed
	Node        string // where it came from first; empty if it did not show again
	Kept        string // the last good model
}

func (e *DivergedError) Error() string {
	from := ""
	if e.Node != "" {
		from = fmt.Sprintf(": NaN or infinity first appears at node %q", e.Node)
	}
	return fmt.Sprintf("step %d (epoch %d): %s%s; the last good model, of the epoch before, is %s; start anew with another --out and a lower --rate, or with --clip-norm 1", e.Step, e.Epoch, e.What, from, e.Kept)
}

// diverged runs the step again, looking at every node.
func (s *Session) diverged(step int, batch *data.Batch, what string) error {
	e := &DivergedError{Step: step, Epoch: s.state.Position.Epoch + 1, What: what, Kept: s.folder.Path(LastFile)}
	err := s.net.check(batch.Images)
	var nf *layers.NonFiniteError
	if errors.As(err, &nf) {
		e.Node = nf.Node
	} else if err != nil {
		return err
	}
	if err := s.log.write(struct {
		Event string `json:"event"`
		Step  int    `json:"step"`
		What  string `json:"what"`
		Node  string `json:"node"`
	}{"diverged", step, what, e.Node}); err != nil {
		return err
	}
	return e
}

// spread is mean and standard deviation of the metric's values between
// different images of the latest batch.
func (s *Session) spread() (mean, std float64, err error) {
	g, h := s.net.g, s.model.Spec.Dim
	x := make([]float32, s.net.embedding.Shape().TotalSize())
	if err := g.Engine().Read(x, g.Value(s.net.embedding)); err != nil {
		return 0, 0, err
	}
	var sum, squares, n float64
	for i := 0; i < len(x); i += h {
		for j := 0; j < i; j += h {
			v := s.model.Spec.Metric.Value(x[i:i+h], x[j:j+h])
			sum, squares, n = sum+v, squares+v*v, n+1
		}
	}
	mean = sum / n
	return mean, math.Sqrt(max(squares/n-mean*mean, 0)), nil
}

// validate returns Recall@1 and MAP@R in percent on the validation classes.
func (s *Session) validate(ctx context.Context) (recall1, mapAtR float64, err error) {
	loader, err := s.validationLoader()
	if err != nil {
		return 0, 0, err
	}
	e, err := EmbedSet(ctx, s.model, loader, len(s.sets.validation.Items), "validation", s.ev)
	if err != nil {
		return 0, 0, err
	}
	r, err := eval.Retrieve(ctx, s.net.g.Engine(), e.Embeddings, e.Embeddings, s.model.Spec.Metric, eval.RetrievalOptions{
		SearchOptions: eval.SearchOptions{Self: eval.LeaveOneOut(e.N), Workers: s.opt.Workers},
	})
	if err != nil {
		return 0, 0, fmt.Errorf("validation: %w", err)
	}
	return r.RecallAtWithoutLone(1), 100 * r.Averages().MAPAtR, nil
}

// validationLoader is made once, so that small sets stay decoded.
func (s *Session) validationLoader() (*data.Loader, error) {
	if s.validator == nil {
		l, err := s.loader(s.sets.validation, s.pipeline)
		if err != nil {
			return nil, err
		}
		s.validator = l
	}
	return s.validator, nil
}

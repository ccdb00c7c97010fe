package train

import (
	"context"
	"errors"
	"strconv"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
)

// followAverage makes the average of what is trained, where there is one, or of more than
// before.
func (s *stepper) followAverage() error {
	if s.cfg.EMA == 0 {
		return nil
	}
	before := s.average
	var err error
	if s.average, err = optim.NewAverage(s.cfg.EMA, s.model.Params, s.model.Averaged); err != nil {
		return run.AtSetting("ema", err)
	}
	if before != nil {
		s.average.Follow(before)
	}
	return nil
}

// updateAverage moves the average behind a step.
func (s *stepper) updateAverage(step int) error {
	if s.average == nil {
		return nil
	}
	return engine.Observe(s.observer, &averaging, func() error { return s.average.Update(step) })
}

// averaged calls f while the model has the averaged weights.
func (s *stepper) averaged(f func() error) (err error) {
	if err := s.average.Swap(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.average.Swap()) }()
	return f()
}

// validateBoth measures the model on the validation classes, and the one with the averaged
// weights. Without such classes it tries both.
func (s *measurer) validateBoth(ctx context.Context, r *run.EpochRecord) error {
	one := func(recall1, mapAtR *float64) (err error) {
		if s.sets.Validation == nil {
			return s.tryModel(ctx)
		}
		*recall1, *mapAtR, err = s.validate(ctx)
		return err
	}
	if err := one(&r.Recall1, &r.MAPAtR); err != nil || s.stepper.average == nil {
		return err
	}
	r.EMA = &run.EMARecord{Recall1: -1, MAPAtR: -1}
	return s.stepper.averaged(func() error { return one(&r.EMA.Recall1, &r.EMA.MAPAtR) })
}

// testBoth measures the test classes for curves.
func (s *measurer) testBoth(ctx context.Context, r *run.EpochRecord) (err error) {
	if r.Test, err = s.test(ctx); err != nil || s.stepper.average == nil {
		return err
	}
	return s.stepper.averaged(func() error {
		r.EMA.Test, err = s.test(ctx)
		return err
	})
}

// saveModels writes the models of an epoch: the last, with averaged weights where there are
// such, and, if it is the best so far, the better of them as the best.
func (s *keeper) saveModels(epoch int) error {
	trained := map[string]string{run.EpochKey: strconv.Itoa(epoch)}
	best := epoch == s.state.BestEpoch || epoch == 0
	save := func(name string, meta map[string]string, wanted bool) error {
		if !wanted {
			return nil
		}
		if err := s.model.Save(s.folder.Path(name), meta); err != nil {
			return s.notWritten(name, err)
		}
		return nil
	}
	if err := save(run.LastFile, trained, true); err != nil {
		return err
	}
	if err := save(run.BestFile, trained, best && !s.state.BestEMA); err != nil || s.stepper.average == nil {
		return err
	}
	averaged := map[string]string{run.EpochKey: strconv.Itoa(epoch), run.EMAKey: strconv.FormatFloat(s.cfg.EMA, 'g', -1, 64)}
	return s.stepper.averaged(func() error {
		if err := save(run.LastEMAFile, averaged, true); err != nil {
			return err
		}
		return save(run.BestFile, averaged, best && s.state.BestEMA)
	})
}

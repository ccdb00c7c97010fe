package run

import (
	"context"
	"errors"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
)

// Sets are the images of a run by what they are for.
type Sets struct {
	All, Train, Validation, Test *data.Set // validation may be nil
	Fingerprint                  string
}

// trained are the images that decided the model: those for training, and those for
// validation, if there are any.
func (s Sets) trained() []*data.Set {
	if s.Validation == nil {
		return []*data.Set{s.Train}
	}
	return []*data.Set{s.Train, s.Validation}
}

// OpenSets opens the data set of a configuration and divides it: All is to be closed.
func OpenSets(ctx context.Context, cfg Config, opt Options) (s Sets, err error) {
	s.All, s.Fingerprint, err = openSet(ctx, cfg.Data.Spec, cfg.Data, opt)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			s.All.Close()
		}
	}()
	split, err := data.ParseSplit(cfg.Data.TrainClasses, cfg.Seed)
	if err != nil {
		return s, AtSetting("data.train_classes", err)
	}
	if s.All.Unlabeled && !cfg.Unlabeled() {
		return s, AtSetting("data.labels", setting.Errorf("%s: its %s are in no folders of classes: %s %s trains without labels; wanted otherwise is one folder a class", cfg.Data.Spec, plural.Of(len(s.All.Items), "image"), setting.Name("data.labels"), NoLabels))
	}
	if s.withoutClasses(cfg) {
		return s.divideImages(cfg, split)
	}
	if s.Train, s.Test, err = data.Split(s.All, split); err != nil {
		return s, AtSetting("data.train_classes", err)
	}
	if cfg.Data.Corrupt != (CorruptConfig{}) {
		damaged, err := cfg.corrupt(s.All, s.Test)
		if err != nil {
			return s, err
		}
		s.All = damaged
		if s.Train, s.Test, err = data.Split(s.All, split); err != nil {
			return s, err
		}
		if s.Train, err = data.Mislabel(s.Train, cfg.Data.Corrupt.Train.Labels, cfg.corruptSeed()); err != nil {
			return s, err
		}
	}
	return s.setAside(cfg)
}

// setAside takes the validation classes off those for training.
func (s Sets) setAside(cfg Config) (_ Sets, err error) {
	if cfg.Data.Folds > 0 {
		s.Train, s.Validation, err = data.Fold(s.Train, cfg.Data.Fold, cfg.Data.Folds)
		return s, AtSetting("data.folds", err)
	}
	if cfg.Data.Validation > 0 {
		fit, validation, err := data.Validation(s.Train, cfg.Data.Validation, cfg.Seed)
		if errors.Is(err, data.ErrTooFewClasses) {
			return s, nil // every class is needed for training
		}
		if err != nil {
			return s, err
		}
		s.Train, s.Validation = fit, validation
	}
	return s, nil
}

// CheckData opens a configuration's data set and divides it, and looks at no picture.
func CheckData(ctx context.Context, cfg Config) error {
	cfg.Data.Shorter, cfg.Data.Corrupt = 0, CorruptConfig{}
	s, err := OpenSets(ctx, cfg, Options{})
	if err != nil {
		return err
	}
	return s.All.Close()
}

// CheckMeasurable refuses a split of which the test classes can show nothing at the end.
func (s Sets) CheckMeasurable(cfg DataConfig) error {
	if err := data.Testable(s.Test); err != nil {
		return setting.Errorf("%s, training on %s: %w: at least 2 classes to train on and 2 to test on are needed, of 2 images or more; choose other classes for training with %s, or give more images a class", cfg.Spec, cfg.TrainClasses, err, setting.Name("data.train_classes"))
	}
	return nil
}

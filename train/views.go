package train

import (
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
)

// dropLabels makes each training image a class of its own, in a run without labels.
func (s *Session) dropLabels() {
	if s.cfg.Unlabeled() && !s.sets.Train.OneEach {
		s.sets.Train = s.sets.Train.Instances()
	}
}

// fitViews is fitBatch of a run without labels.
func (s *Session) fitViews() error {
	images := len(s.sets.Train.Items)
	if images < 2 {
		return setting.Errorf("%s: %s is left to train on, at least 2 are needed: give more of them to training with %s", s.cfg.Data.Spec, plural.Of(images, "image"), setting.Name("data.train_classes"))
	}
	if s.sets.Test.OneEach {
		s.ev.Say("%s has no classes: %s are held out, and at the end each of their %d views is to find the others of its image; the last epoch counts as the best", s.cfg.Data.Spec, plural.Of(len(s.sets.Test.Classes), "image"), s.cfg.Data.Views)
	} else {
		s.ev.Say("without labels: each of %s is a class of its own, of which a batch has %d views; the set's labels are for measuring only", plural.Of(images, "training image"), s.cfg.Data.Views)
		s.checkValidation()
	}
	if s.cfg.Sampler == data.SamplerBalanced && s.cfg.ClassesPerBatch > images {
		s.ev.Warn("a batch has %s, not %d: these are all that there are to train on", plural.Of(images, "image"), s.cfg.ClassesPerBatch)
		s.cfg.ClassesPerBatch = images
	}
	return nil
}

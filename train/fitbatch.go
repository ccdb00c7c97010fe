package train

import (
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/run"
)

// checkWarmup warns of a warm-up of the rate that is never over.
func (s *Session) checkWarmup() {
	if n, w := s.steps(), s.cfg.Schedule.Warmup; w >= n {
		s.ev.Warn("the rate rises over %d steps (%s), and the run has %d: it ends at %.2g times %s", w, setting.Name("schedule.warmup"), n, s.cfg.Schedule.At(n-1, n, s.sampler.Batches()), setting.Name("optimizer.rate"))
	}
}

// fitBatch takes fewer classes or images a batch than asked for where there are no more.
func (s *Session) fitBatch() error {
	have := len(s.sets.Train.Classes)
	if s.cfg.Unlabeled() {
		return s.fitViews()
	}
	if have < 2 {
		return setting.Errorf("%s: %d class is left to train on, at least 2 are needed: give more of them to training with %s", s.cfg.Data.Spec, have, setting.Name("data.train_classes"))
	}
	if s.sets.Validation == nil && s.cfg.Data.Validation > 0 {
		s.ev.Warn("there are too few training classes (%d) to set some aside for validation: the last epoch counts as the best", have)
	}
	s.checkValidation()
	switch images := len(s.sets.Train.Items); {
	case s.cfg.Sampler == data.SamplerRandom && s.cfg.BatchSize > images:
		s.ev.Warn("a batch has %s, not %d: these are all that there are to train on", plural.Of(images, "image"), s.cfg.BatchSize)
		s.cfg.BatchSize = images
	case s.cfg.Sampler == data.SamplerBalanced && s.cfg.ClassesPerBatch > have:
		s.ev.Warn("a batch has %s, not %d: these are all that there are to train on", plural.Of(have, "class"), s.cfg.ClassesPerBatch)
		s.cfg.ClassesPerBatch = have
	}
	// An image may come twice in a batch, varied in two ways, where a class has no
	// other. More of that makes batches large, not rich.
	largest := 2
	for _, items := range s.sets.Train.ByClass() {
		largest = max(largest, len(items))
	}
	if s.cfg.Sampler == data.SamplerBalanced && s.cfg.ImagesPerClass > largest {
		s.ev.Warn("a batch has %s of each class instead of %d: no class has more", plural.Of(largest, "image"), s.cfg.ImagesPerClass)
		s.cfg.ImagesPerClass = largest
	}
	return nil
}

// checkValidation warns of a validation by few classes, where chance decides much.
func (s *Session) checkValidation() {
	const few = 10
	if v := s.sets.Validation; v != nil && len(v.Classes) < few {
		s.ev.Warn("only %d classes choose the best epoch, so that the choice is partly chance: compare best and last epoch at the end; more classes make it steadier; %s 0 trains on all of them and keeps the last epoch", len(v.Classes), setting.Name("data.validation"))
	}
}

// sample makes the sampler.
func (s *Session) sample() (err error) {
	if s.sampler, err = data.NewSampler(s.cfg.Sampler, s.sets.Train, s.cfg.SamplerOptions()); err != nil {
		return run.AtSetting("sampler", err)
	}
	if b, ok := s.sampler.(*data.Balanced); ok && b.Short > 0 && !s.cfg.Unlabeled() {
		s.ev.Warn("%d training classes have fewer than %d images; some of theirs come twice in a batch", b.Short, b.K)
	}
	return s.samplePairs()
}

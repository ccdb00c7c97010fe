package train

import (
	"context"
	"errors"

	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
)

// loadWeights fills the network of a new run.
func (s *Session) loadWeights(ctx context.Context) (err error) {
	w := &s.cfg.Weights
	if w.Path == "" {
		return nil
	}
	if err := s.cfg.FetchWeights(ctx, s.ev); err != nil {
		return err
	}
	l, err := s.model.LoadWeights(w.Path, w.Dictionary)
	if err != nil {
		return err
	}
	from := w.Path
	if l.Prefix != "" {
		from += ", under " + l.Prefix
	}
	s.ev.Say("%s read from %s, %d ignored, %s of the head drawn", plural.Of(l.Filled, "tensor"), from, len(l.Ignored), plural.Of(len(l.Kept), "parameter"))
	w.SHA256, err = wholefile.Digest(w.Path)
	return err
}

// tune builds the graph of a step and its optimizer for the epoch to come: of
// the head and the loss alone in the first WarmupEpochs, then of all that is not
// frozen. It reports whether the second took the place of the first.
func (s *Session) tune() (released bool, err error) {
	headOnly := s.state.Position.Epoch < s.cfg.WarmupEpochs
	if s.stepper.net != nil && headOnly == s.stepper.headOnly {
		return false, nil
	}
	if err := s.model.Freeze(s.cfg.Freeze, headOnly); err != nil {
		return false, run.AtSetting("freeze", err)
	}
	goal, err := s.objective()
	if err != nil {
		return false, err
	}
	goal.parts.Comm = s.comm
	before := s.stepper.opti
	if s.stepper.net != nil {
		s.stepper.net.close() // makes room for the next one
		s.stepper.net = nil
	}
	if err := s.recompute(headOnly); err != nil {
		return false, err
	}
	if s.stepper.net, err = buildNetwork(s.model, goal, s.cfg.Batch(), s.cfg.MicroBatch); err != nil {
		return false, err
	}
	if f := s.feeder.pixels(); f != nil {
		if err := s.stepper.net.takePixels(f, s.pipeline.Norm); err != nil {
			return false, err
		}
	}
	s.stepper.opti, err = optim.New(s.cfg.Optimizer, s.model.Params, s.stepper.net)
	if errors.Is(err, optim.ErrNothingToTrain) {
		return false, run.AtSetting("freeze", err)
	}
	if err != nil {
		return false, err
	}
	s.stepper.headOnly = headOnly
	s.stepper.warnMicroBatches()
	if before != nil {
		s.stepper.opti.Follow(before)
	}
	if err := s.stepper.followAverage(); err != nil {
		return false, err
	}
	if err := s.stepper.followMomentum(); err != nil {
		return false, err
	}
	s.stepper.usage, s.stepper.order = newUsage(s.stepper.opti), newStepOrder(s.stepper)
	return before != nil, nil
}

// release ends the warm-up when its last epoch is over.
func (s *Session) release() error {
	released, err := s.tune()
	if released {
		s.state.Released = s.stepper.opti.Steps()
		s.ev.Say("warm-up is over: the backbone is trained too")
	}
	return err
}

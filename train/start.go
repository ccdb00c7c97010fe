package train

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/weights"
)

// WeightsConfig says what a network starts from. Without a path its weights are
// drawn.
type WeightsConfig struct {
	// Path of a weight file: see model.LoadWeights.
	Path string `json:"path,omitempty"`
	// Dictionary chooses one of several networks in the file.
	Dictionary string `json:"dictionary,omitempty"`
	// SHA256 of the file in hexadecimal. It is filled in when a run starts.
	SHA256 string `json:"sha256,omitempty"`
}

// start returns the network of a configuration as it is before the first step,
// and what was read for it from a weight file, or nil.
func (c Config) start(eng engine.Engine) (*model.Model, *model.Loaded, error) {
	m, err := model.New(eng, c.Model, c.Seed)
	if err != nil || c.Weights.Path == "" {
		return m, nil, err
	}
	if c.Weights.SHA256 != "" {
		sum, err := weights.Digest(c.Weights.Path)
		if err != nil {
			return nil, nil, err
		}
		if sum != c.Weights.SHA256 {
			return nil, nil, fmt.Errorf("%s is no longer the file that the run started from", c.Weights.Path)
		}
	}
	l, err := m.LoadWeights(c.Weights.Path, c.Weights.Dictionary)
	return m, l, err
}

// loadWeights fills the network of a new run.
func (s *Session) loadWeights() (err error) {
	w := &s.cfg.Weights
	if w.Path == "" {
		return nil
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
	w.SHA256, err = weights.Digest(w.Path)
	return err
}

// tune builds the graph of a step and its optimiser for the epoch to come: of
// the head and the loss alone in the first WarmupEpochs, then of all that is not
// frozen. It reports whether the second took the place of the first.
func (s *Session) tune() (released bool, err error) {
	headOnly := s.state.Position.Epoch < s.cfg.WarmupEpochs
	if s.net != nil && headOnly == s.headOnly {
		return false, nil
	}
	if err := s.model.Freeze(s.cfg.Freeze, headOnly); err != nil {
		return false, setting("freeze", err)
	}
	goal, err := s.cfg.objective(len(s.sets.fit.Classes))
	if err != nil {
		return false, err
	}
	before := s.opti
	if s.net != nil {
		s.net.close() // makes room for the next one
		s.net = nil
	}
	if s.net, err = buildNetwork(s.model, goal, s.cfg.Batch(), s.cfg.MicroBatch); err != nil {
		return false, err
	}
	if f := s.feeder(); f != nil {
		if err := s.net.takePixels(f, s.pipeline.Norm); err != nil {
			return false, err
		}
	}
	s.opti, err = optim.New(s.cfg.Optimizer, s.model.Params, s.net)
	if errors.Is(err, optim.ErrNothingToTrain) {
		return false, setting("freeze", err)
	}
	if err != nil {
		return false, err
	}
	s.headOnly = headOnly
	s.warnMicroBatches()
	if before != nil {
		s.opti.Follow(before)
	}
	s.usage = newUsage(s.opti)
	return before != nil, nil
}

// release ends the warm-up when its last epoch is over.
func (s *Session) release() error {
	released, err := s.tune()
	if released {
		s.state.Released = s.opti.Steps()
		s.ev.Say("warm-up is over: the backbone is trained too")
	}
	return err
}

package vernier

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/run"
)

// Option changes how Load opens a model.
type Option func(*settings) error

type settings struct {
	engine    engine.Engine
	threads   int
	choice    run.Choice
	threshold *float64
	maxPixels int64
}

func newSettings(options []Option) (s settings, err error) {
	for _, o := range options {
		if err := o(&s); err != nil {
			return s, err
		}
	}
	if s.engine != nil && s.threads != 0 {
		return s, fmt.Errorf("WithEngine and WithThreads: the engine has its threads already, give one of them")
	}
	return s, nil
}

// WithThreads bounds the processors that the network uses; by default it uses all.
func WithThreads(n int) Option {
	return func(s *settings) error {
		if n < 1 {
			return fmt.Errorf("WithThreads(%d): want at least 1", n)
		}
		s.threads = n
		return nil
	}
}

// WithEngine makes the model compute on an engine of the caller's, such as a GPU, in
// place of the CPU. Nothing else may use the engine at the same time; the caller closes
// it after the model.
func WithEngine(e engine.Engine) Option {
	return func(s *settings) error {
		if e == nil {
			return fmt.Errorf("WithEngine: the engine is nil")
		}
		s.engine = e
		return nil
	}
}

// WithLastEpoch takes the model of a run's last epoch in place of the best.
func WithLastEpoch() Option {
	return func(s *settings) error {
		s.choice = run.Last
		return nil
	}
}

// WithAveragedWeights takes the model of a run's last epoch with averaged weights, of a run
// that has such (run.Config.EMA), in place of the best.
func WithAveragedWeights() Option {
	return func(s *settings) error {
		s.choice = run.LastEMA
		return nil
	}
}

// WithThreshold says at which distance two images are just the same, in place of the
// threshold that the model has, if any.
func WithThreshold(distance float64) Option {
	return func(s *settings) error {
		if math.IsNaN(distance) || math.IsInf(distance, 0) {
			return fmt.Errorf("WithThreshold(%v): want a finite distance", distance)
		}
		s.threshold = &distance
		return nil
	}
}

// WithMaxPixels refuses images of more than n pixels, width times height; by default
// those of more than the run may read, or than 50 million. A file may have 8
// bytes for each of them and 64 MiB besides.
func WithMaxPixels(n int64) Option {
	return func(s *settings) error {
		if n < 1 {
			return fmt.Errorf("WithMaxPixels(%d): want at least 1", n)
		}
		s.maxPixels = n
		return nil
	}
}

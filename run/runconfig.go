package run

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Output says what a run writes beside its model, and how it goes about its work. Nothing
// in it changes what is computed, so all of it may change when a run is resumed.
type Output struct {
	// SaveEvery is the time after which a checkpoint is written within an epoch;
	// 0 for none.
	SaveEvery Duration `json:"save_every"`
	// Keep is the number of last epochs whose checkpoints stay.
	Keep int `json:"keep"`
	// EvalEvery is the number of epochs after which the test classes are measured
	// too, for curves; 0 for never. They decide nothing.
	EvalEvery int `json:"eval_every"`
	// TensorBoard asks for event files.
	TensorBoard bool `json:"tensorboard"`
	// Recompute computes blocks of the backbone a second time in the reverse pass instead
	// of keeping what they give: less memory for more time, at the same bits.
	Recompute bool `json:"recompute,omitempty"`
}

// DefaultOutput is what a run does if nothing else is said.
func DefaultOutput() Output { return Output{SaveEvery: Duration(10 * time.Minute), Keep: 1} }

func (r Output) validate() error {
	switch {
	case r.SaveEvery < 0:
		return fmt.Errorf("checkpoints every %v: want a time, or 0 for after epochs only", time.Duration(r.SaveEvery))
	case r.Keep < 1:
		return fmt.Errorf("checkpoints of the last %d epochs: at least 1 stays", r.Keep)
	case r.EvalEvery < 0:
		return fmt.Errorf("test classes are measured every %d epochs: want a number from 0 on", r.EvalEvery)
	}
	return nil
}

// Duration is a time that stands in files as 1h30m.
type Duration time.Duration

// MarshalText writes 1h30m0s.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	t, err := ParseDuration(string(text))
	*d = Duration(t)
	return err
}

// durationForm matches what time.ParseDuration reads, of whatever size.
var durationForm = regexp.MustCompile(`^[+-]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)

// ParseDuration is time.ParseDuration with errors for users.
func ParseDuration(text string) (time.Duration, error) {
	t, err := time.ParseDuration(text)
	switch {
	case err == nil:
		return t, nil
	case durationForm.MatchString(text):
		return 0, fmt.Errorf("must be at most %dh", math.MaxInt64/int64(time.Hour))
	}
	return 0, errors.New("want a time with its unit, such as 10m or 1h30m")
}

// changeable are the places that may be given anew to a run that is resumed.
var changeable = []string{"data.max_bad", "data.max_pixels", "run."}

// WithChangeable returns the configuration with what may be given anew to a run that is
// resumed, and the places of its files, as another has them.
func (c Config) WithChangeable(of Config) Config {
	c.Data.MaxBad, c.Data.MaxPixels, c.Run = of.Data.MaxBad, of.Data.MaxPixels, of.Run
	c.Data.Spec, c.Weights.Path = of.Data.Spec, of.Weights.Path
	return c
}

// Change gives a stored configuration what of the settings may change.
func (s *Settings) Change(c Config) (_ Config, err error) {
	if s == nil {
		return c, nil
	}
	if c, err = s.Moved(c); err != nil {
		return c, err
	}
	all := layer{}
	for _, l := range s.layers {
		if err := all.put(l); err != nil {
			return c, err
		}
	}
	for path, g := range all {
		for _, p := range changeable {
			if !strings.HasPrefix(path, p) {
				continue
			}
			if err := assign(reflect.ValueOf(&c).Elem(), path, g.node); err != nil {
				return c, fmt.Errorf("%s: %s: %w", g.source, path, err)
			}
		}
	}
	return c, nil
}

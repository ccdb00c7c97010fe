package model

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// Scaling says how the scale c of embeddings changes in training: ScaleFixed,
// ScaleLearn, ScaleLearnEach, or "to:C" for a schedule.
//
// While it changes, c is exp of a parameter, so that a step changes it by a share of
// itself. A model's file has the scale that came of it in its specification: a model
// with one scale is one of a fixed scale from there on. Scales of coordinates stay a
// parameter.
type Scaling string

const (
	// ScaleFixed leaves c at Spec.Scale.
	ScaleFixed Scaling = ""
	// ScaleLearn learns c.
	ScaleLearn Scaling = "learn"
	// ScaleLearnEach learns a scale for each coordinate.
	ScaleLearnEach Scaling = "learn-each"

	scaleFixedName = "fixed" // what ScaleFixed is called in settings
	scaleTo        = "to:"
)

// Scalings lists how the values of Spec.Scaling are written.
func Scalings() []string {
	return []string{scaleFixedName, string(ScaleLearn), string(ScaleLearnEach), scaleTo + "C"}
}

// Canonical is ScaleFixed for what settings call fixed.
func (s Scaling) Canonical() Scaling {
	if s == scaleFixedName {
		return ScaleFixed
	}
	return s
}

// Learned reports whether gradients move the scale.
func (s Scaling) Learned() bool { return s == ScaleLearn || s == ScaleLearnEach }

// To returns the scale at which a schedule ends.
func (s Scaling) To() (c float64, is bool) {
	text, is := strings.CutPrefix(string(s), scaleTo)
	c, err := strconv.ParseFloat(text, 64)
	return c, is && err == nil && c > 0 && !math.IsInf(c, 0)
}

// At is the scale in an epoch, from 0 on, of a schedule over epochs, or start if there
// is none: its logarithm goes evenly from the first epoch to the last.
func (s Scaling) At(start float64, epoch, epochs int) float64 {
	end, is := s.To()
	if !is || epochs < 2 {
		return start
	}
	return start * math.Pow(end/start, float64(min(epoch, epochs-1))/float64(epochs-1))
}

// ParseScale reads a scale with its scaling as one text: a number, "learn" or
// "learn-each", with a number behind a colon to start elsewhere than at 1, or "C..C" for
// a schedule.
func ParseScale(text string) (c float64, s Scaling, err error) {
	wrong := fmt.Errorf("scale %q: want a number above 0 such as 0.5; %s or %s, or with a start as in %s:0.5; or a schedule from one number to another as in 0.1..1", text, ScaleLearn, ScaleLearnEach, ScaleLearn)
	name, number, has := strings.Cut(text, ":")
	from, to, schedule := strings.Cut(text, "..")
	switch {
	case Scaling(name).Learned():
		s = Scaling(name)
		if !has {
			number = "1"
		}
	case schedule:
		number, s = from, Scaling(scaleTo+to)
		if _, ok := s.To(); !ok {
			return 0, "", wrong
		}
	default:
		number = text
	}
	c, err = strconv.ParseFloat(number, 64)
	if err != nil || !(c > 0) || math.IsInf(c, 0) {
		return 0, "", wrong
	}
	return c, s, nil
}

func (s Spec) validateScaling() error {
	_, scheduled := s.Scaling.To()
	switch {
	case s.Scaling == ScaleFixed:
		return nil
	case !s.Scaling.Learned() && !scheduled:
		return fmt.Errorf("unknown scaling %q (there is: %s, C a number above 0)", s.Scaling, strings.Join(Scalings(), ", "))
	case s.Metric.Kind != metric.BRM:
		return fmt.Errorf("scaling %q is for metric brm: other metrics, and the losses on them, do not depend on the scale, so that metric %v has nothing to learn it by", s.Scaling, s.Metric)
	case s.Normalization != NormRows && s.Normalization != NormCoordinates:
		return fmt.Errorf("scaling %q needs embeddings of one scale: normalization %s or %s, not %s", s.Scaling, NormRows, NormCoordinates, s.Normalization)
	}
	return nil
}

// logScale is the parameter whose exponential the scale is.
const logScale = headPrefix + "log_scale"

// LogScale returns the logarithms of the scale as they stand in a graph, (1) or (h), or
// nil where the scale is fixed.
func (m *Model) LogScale(g *layers.Graph) *layers.Node {
	role, n := layers.Scale, 1
	switch m.Spec.Scaling {
	case ScaleFixed:
		return nil
	case ScaleLearn:
	case ScaleLearnEach:
		n = m.Spec.Dim
	default:
		role = layers.Buffer
	}
	defer g.In(layers.Head)()
	return g.Param(logScale, role, layers.Constant(float32(math.Log(m.Spec.Scale))), n)
}

// rescale adds a scale that changes.
func (m *Model) rescale(g *layers.Graph, name string, x *layers.Node) *layers.Node {
	log := m.LogScale(g)
	if log == nil {
		return x
	}
	return g.ExpScale(name, x, log)
}

// Scales returns the scale as it is now, one number, or one for each coordinate under
// ScaleLearnEach.
func (m *Model) Scales() ([]float64, error) {
	p := m.Params.Get(logScale)
	if p == nil {
		return []float64{m.Spec.Scale}, nil
	}
	host := make([]float32, p.Value.Size())
	if err := m.Params.Engine().Read(host, p.Value); err != nil {
		return nil, fmt.Errorf("model: %s: %w", logScale, err)
	}
	c := make([]float64, len(host))
	for k, v := range host {
		c[k] = math.Exp(float64(v))
	}
	return c, nil
}

// Scale is the scale as it is now; of scales of coordinates it is the root of their mean
// square, with which RowLength is that of a row of equal coordinates.
func (m *Model) Scale() (float64, error) {
	c, err := m.Scales()
	if err != nil || len(c) == 1 {
		return c[0], err
	}
	sum := 0.
	for _, v := range c {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(c))), nil
}

// SetScale sets the scale of a schedule.
func (m *Model) SetScale(c float64) error {
	p := m.Params.Get(logScale)
	if p == nil || m.Spec.Scaling.Learned() {
		return errors.New("model: SetScale is for a model whose scale has a schedule")
	}
	return m.Params.Engine().Write(p.Value, []float32{float32(math.Log(c))})
}

// Settled is the specification with the scale that the model has now and without LoRA, as its
// file has it.
func (m *Model) Settled() (Spec, error) {
	s := m.Spec
	s.LoRA = layers.LoRA{}
	if s.Scaling == ScaleFixed {
		return s, nil
	}
	var err error
	if s.Scale, err = m.Scale(); err != nil {
		return s, err
	}
	if s.Scaling != ScaleLearnEach {
		s.Scaling = ScaleFixed
	}
	return s, nil
}

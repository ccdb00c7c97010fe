package model

import (
	"fmt"

	"github.com/vernier-ml/vernier/backbone"
)

// NormalizesInput reports whether the model brings each coordinate of the rows that it
// takes to mean 0 and deviation 1, by statistics that SetInput gives it.
func (m *Model) NormalizesInput() bool { return m.Params.Get(backbone.FeaturesMean) != nil }

// SetInput gives a model that NormalizesInput mean and variance of each coordinate of
// its training rows.
func (m *Model) SetInput(mean, variance []float32) error {
	for name, v := range map[string][]float32{backbone.FeaturesMean: mean, backbone.FeaturesVar: variance} {
		p := m.Params.Get(name)
		if p == nil {
			return fmt.Errorf("model: backbone %s normalizes no coordinates", m.Spec.Backbone)
		}
		if err := m.Params.Engine().Write(p.Value, v); err != nil {
			return fmt.Errorf("model: %s: %w", name, err)
		}
	}
	return nil
}

// TakeInput gives a model the statistics of another one of the same specification that
// SetInput gave that; it does nothing if there are none.
func (m *Model) TakeInput(from *Model) error {
	if !m.NormalizesInput() || !from.NormalizesInput() {
		return nil
	}
	for _, name := range []string{backbone.FeaturesMean, backbone.FeaturesVar} {
		if err := m.Params.Engine().Copy(m.Params.Get(name).Value, from.Params.Get(name).Value); err != nil {
			return fmt.Errorf("model: %s: %w", name, err)
		}
	}
	return nil
}

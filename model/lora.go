package model

import (
	"fmt"
	"strings"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/weights"
)

// validateLoRA checks that the network has what LoRA changes.
func (s Spec) validateLoRA(net backbone.Backbone) error {
	l := s.LoRA
	width, ok := backbone.Attention(net)
	switch {
	case l.Rank < 0:
		return fmt.Errorf("the rank of LoRA is %d: want 1 or more, or 0 for none", l.Rank)
	case l.Rank == 0 && l.Alpha != 0:
		return fmt.Errorf("alpha %v of LoRA needs a rank", l.Alpha)
	case l.Rank == 0:
		return nil
	case !ok:
		return fmt.Errorf("LoRA of rank %d changes the attention of transformers: backbone %s has none", l.Rank, s.Backbone)
	case l.Rank > width:
		return fmt.Errorf("the rank of LoRA is %d: tokens of backbone %s have %d numbers, and a higher rank adds nothing; 4 to 16 are usual", l.Rank, s.Backbone, width)
	case !(l.Alpha >= 0):
		return fmt.Errorf("alpha of LoRA is %v: want a number above 0", l.Alpha)
	}
	return nil
}

// isLoRA reports whether p is one of LoRA's matrices.
func isLoRA(p *layers.Param) bool { return p.Role == layers.LowRank }

// low returns LoRA's matrices for the weights of a layer; nil for other parameters.
func (m *Model) low(p *layers.Param) (a, b *layers.Param) {
	layer, ok := strings.CutSuffix(p.Name, ".weight")
	if !ok {
		return nil, nil
	}
	if a, b = m.Params.Get(layer+layers.LoRAA), m.Params.Get(layer+layers.LoRAB); a == nil || b == nil || !isLoRA(a) {
		return nil, nil
	}
	return a, b
}

// stored copies a parameter to the host as a model's file has it: weights with what LoRA adds.
func (m *Model) stored(p *layers.Param) (*weights.Tensor, error) {
	return weights.Deferred(p.Name, p.Value.Shape(), func(dst []float32) error {
		v, err := m.merged(p)
		if err != nil {
			return err
		}
		return m.Params.Engine().Read(dst, v)
	})
}

// merged returns the value of a parameter, or where LoRA changes it a new tensor of W plus
// Factor B A.
func (m *Model) merged(p *layers.Param) (engine.Tensor, error) {
	a, b := m.low(p)
	if a == nil {
		return p.Value, nil
	}
	eng, l := m.Params.Engine(), m.Spec.LoRA
	host := make([]float32, b.Value.Size())
	if err := eng.Read(host, b.Value); err != nil {
		return nil, fmt.Errorf("reading %s: %w", b.Name, err)
	}
	rows := a.Value.Shape()[0]
	spread, err := eng.New(b.Value.Shape()[0], rows)
	if err != nil {
		return nil, err
	}
	if err := eng.Write(spread, l.Spread(host, rows/l.Rank)); err != nil {
		return nil, err
	}
	w, err := eng.New(p.Value.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := eng.Copy(w, p.Value); err != nil {
		return nil, err
	}
	if err := eng.MatMul(w, spread, a.Value, false, false, true); err != nil {
		return nil, fmt.Errorf("%s with what LoRA adds: %w", p.Name, err)
	}
	return w, nil
}

// Merged returns a model of the same embeddings, with parameters of its own, that has what
// LoRA adds in its weights, as the model's file does; m itself where there is no LoRA.
func (m *Model) Merged() (*Model, error) {
	if m.Spec.LoRA.Rank == 0 {
		return m, nil
	}
	spec := m.Spec
	spec.LoRA = layers.LoRA{}
	whole, err := New(m.Params.Engine(), spec, 0)
	if err != nil {
		return nil, err
	}
	whole.Threshold, whole.Shorter = m.Threshold, m.Shorter
	for _, p := range whole.Params.All() {
		v, err := m.merged(m.Params.Get(p.Name))
		if err != nil {
			return nil, err
		}
		if err := whole.Params.Engine().Copy(p.Value, v); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return whole, nil
}

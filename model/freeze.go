package model

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/vernier-ml/vernier/layers"
)

// Freeze says what training leaves as it is.
type Freeze struct {
	// BNStats keeps the running statistics of the backbone's batch
	// normalizations: they normalize by them as in evaluation.
	BNStats bool `json:"bn_stats"`
	// BNAffine keeps gamma and beta of the backbone's batch normalizations.
	BNAffine bool `json:"bn_affine"`
	// To is a block of the backbone: it and all before it are kept, parameters
	// and running statistics. A group of blocks stands for its last.
	To string `json:"to,omitempty"`
	// Params are patterns of names of parameters that are kept, those of
	// path.Match: "patch_embed.*", "layer[12].*", "*.bias". A batch
	// normalization whose running statistics match keeps them too.
	Params []string `json:"params,omitempty"`
}

// Validate checks the patterns' syntax.
func (f Freeze) Validate() error {
	for _, p := range f.Params {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("pattern %q of frozen parameters: %w", p, err)
		}
	}
	return nil
}

func (f Freeze) matches(name string) bool {
	for _, p := range f.Params {
		if ok, _ := path.Match(p, name); ok { // Validate has seen the error
			return true
		}
	}
	return false
}

// Freeze marks what training leaves alone and releases everything else. With Spec.LoRA that is
// the whole backbone but for LoRA's matrices.
// headOnly leaves nothing to train but the head, for the first epochs; calling
// it again without headOnly releases exactly what f does not name. Graphs built
// before do not notice.
func (m *Model) Freeze(f Freeze, headOnly bool) error {
	if err := f.Validate(); err != nil {
		return err
	}
	for _, pattern := range f.Params {
		if !(Freeze{Params: []string{pattern}}).any(m.Params) {
			return fmt.Errorf("no parameter has a name like %q; vernier weights inspect lists the names of a model file", pattern)
		}
	}
	if (f.BNStats || f.BNAffine) && !m.hasBatchNorm() {
		return errors.New("batch normalization is to be frozen, but the backbone has none")
	}
	frozen, err := m.upTo(f.To)
	if err != nil {
		return fmt.Errorf("freezing up to a block: %w", err)
	}
	m.freeze, m.frozen = f, frozen
	for _, p := range m.Params.All() {
		if !Owns(p) || p.Role == layers.Buffer {
			continue
		}
		lora := m.Spec.LoRA.Rank > 0 && p.Group == layers.Backbone && !isLoRA(p)
		p.Frozen = lora || f.matches(p.Name) || frozen[p.Name] || headOnly && p.Group != layers.Head || f.BNAffine && m.isBatchNorm(p)
	}
	return nil
}

func (f Freeze) any(ps *layers.Params) bool {
	for _, p := range ps.All() {
		if Owns(p) && f.matches(p.Name) {
			return true
		}
	}
	return false
}

// isBatchNorm reports whether p is gamma or beta of a batch normalization of the
// backbone: one beside running statistics.
func (m *Model) isBatchNorm(p *layers.Param) bool {
	if p.Role != layers.NormGain && p.Role != layers.NormBias || p.Group != layers.Backbone {
		return false
	}
	return m.Params.Get(normOf(p.Name)+".running_mean") != nil
}

func (m *Model) hasBatchNorm() bool {
	for _, p := range m.Params.All() {
		if m.isBatchNorm(p) {
			return true
		}
	}
	return false
}

// normOf cuts the last part of a parameter's name.
func normOf(name string) string {
	return name[:len(name)-len(path.Ext(name))]
}

// batchStats reports whether a batch normalization of the backbone uses the batch's
// statistics in training.
func (m *Model) batchStats(norm string) bool { return !m.freeze.BNStats && m.ownStats(norm) }

// ownStats reports the same of one that Freeze.BNStats does not mean, the head's.
func (m *Model) ownStats(norm string) bool {
	stats := norm + ".running_mean"
	return !m.frozen[stats] && !m.freeze.matches(stats)
}

// BatchStats names the batch normalizations before the embedding that use the
// statistics of the batch in training. That of coordinates is not among them.
func (m *Model) BatchStats() []string {
	var names []string
	for _, p := range m.Params.All() {
		norm, ok := strings.CutSuffix(p.Name, ".running_mean")
		if !ok || norm == coordinates {
			continue
		}
		if p.Group == layers.Backbone && m.batchStats(norm) || p.Group == layers.Head && m.ownStats(norm) {
			names = append(names, norm)
		}
	}
	return names
}

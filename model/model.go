package model

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// Model is a specification and its parameters on an engine.
type Model struct {
	Spec   Spec
	Params *layers.Params
	// Threshold is nil unless one was calibrated for these parameters.
	Threshold *Threshold
	// Shorter is the shorter side, in pixels, that larger images were brought to in
	// training before Spec.Input began; 0 for none. It is part of the model's file and
	// not of its fingerprint: other images at that side are embedded all but alike.
	Shorter int

	net    backbone.Backbone
	flow   *backbone.Flow // nil for none
	again  int            // see Recompute
	freeze Freeze
	frozen map[string]bool // parameters that freeze.To names
	entry  string          // see Enter
	shape  []int           // of entry's output for one image
}

// New returns a model with initial weights, which are a function of seed.
func New(eng engine.Engine, spec Spec, seed uint64) (*Model, error) {
	if eng == nil {
		return nil, errors.New("model: the engine is nil: cpu.New makes one")
	}
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	net, err := backbone.New(spec.Backbone)
	if err != nil {
		return nil, err
	}
	if width, rows := backbone.TakesRows(net); rows && width == 0 {
		return nil, fmt.Errorf("model: backbone %s does not say how long its rows are: want %s:dim=N", spec.Backbone, spec.Backbone)
	}
	m := &Model{Spec: spec, Params: layers.NewParams(eng, seed), net: net}
	if spec.Flow != "" {
		if m.flow, err = backbone.ParseFlow(spec.Flow); err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
	}
	// Building the graph once makes the parameters, in the order of the network.
	g := layers.NewGraph(eng, m.Params)
	m.Normalize(g, m.raw(g, g.Input("images", m.InputShape(1)...), false, m.flow), false)
	if err := g.Err(); err != nil {
		return nil, fmt.Errorf("model: %s at %d pixels: %w", spec.Backbone, spec.Input.Size, err)
	}
	return m, m.setDepths()
}

// Forward adds the network on images, of InputShape, to g and returns the
// embeddings (B, h), ready for the metric. training lets batch normalizations
// use the statistics of the batch, except those that Freeze named, and geometry
// flow layers mix its images, and drops numbers and paths.
func (m *Model) Forward(g *layers.Graph, images *layers.Node, training bool) *layers.Node {
	return m.Normalize(g, m.Raw(g, images, training), training)
}

// Raw is Forward without what comes between head and metric, Normalize.
func (m *Model) Raw(g *layers.Graph, images *layers.Node, training bool) *layers.Node {
	raw, _ := m.RawAndFeatures(g, images, training)
	return raw
}

// RawAndFeatures is Raw, with the pooled features (B, C) that the head is given; nil of a
// model with levels, which has a head for each.
func (m *Model) RawAndFeatures(g *layers.Graph, images *layers.Node, training bool) (raw, features *layers.Node) {
	if !training {
		return m.rawAndFeatures(g, images, false, nil)
	}
	return m.rawAndFeatures(g, images, true, m.flow)
}

// raw is Raw, with the images mixed by flow unless it is nil.
func (m *Model) raw(g *layers.Graph, images *layers.Node, training bool, flow *backbone.Flow) *layers.Node {
	raw, _ := m.rawAndFeatures(g, images, training, flow)
	return raw
}

// rawAndFeatures is RawAndFeatures, with the images mixed by flow unless it is nil.
func (m *Model) rawAndFeatures(g *layers.Graph, images *layers.Node, training bool, flow *backbone.Flow) (raw, features *layers.Node) {
	mode := backbone.Mode{From: m.entry, Flow: flow, LoRA: m.Spec.LoRA}
	if training {
		mode.BatchStats, mode.DropPath, mode.Recompute = m.batchStats, m.Spec.DropPath, m.again
	}
	if m.HasLevels() {
		if m.entry != "" {
			g.Fail("levels", fmt.Errorf("the network begins behind %s, and its levels need what comes before", m.entry))
			return nil, nil
		}
		return m.levels(g, images, mode, training), nil
	}
	features = m.Spec.pool(g, m.net.Forward(g, images, mode))
	return m.head(g, features, training), features
}

// Averaged reports whether an average of the model's weights is taken over a parameter: one
// that training moves, running statistics among them. A scale that follows a schedule is none.
func (m *Model) Averaged(p *layers.Param) bool {
	return Owns(p) && (p.Trainable() || p.Role == layers.Buffer && p.Name != logScale)
}

// Size returns the number of numbers of the network that training may change, without running
// statistics and LoRA's matrices.
func (m *Model) Size() int {
	n := 0
	for _, p := range m.Params.All() {
		if p.Role != layers.Buffer && Owns(p) && !isLoRA(p) {
			n += p.Value.Size()
		}
	}
	return n
}

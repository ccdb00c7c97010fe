package train

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
	"github.com/vernier-ml/vernier/run"
)

// momentumPrefix begins the names of the momentum encoder's parameters.
const momentumPrefix = "training.momentum."

// keys adds the momentum encoder (He et al. 2020, Momentum contrast) on images and returns its
// raw embeddings (B, h), or nil where there is none. It is the network with numbers of its
// own, which follow those that are trained; its normalizations have the statistics of the batch.
func (o objective) keys(m *model.Model, g *layers.Graph, images *layers.Node) *layers.Node {
	if !o.momentum {
		return nil
	}
	defer g.Copy(momentumPrefix)()
	return m.Raw(g, images, true)
}

// normalizedKeys adds the momentum encoder's projection and normalization to its raw embeddings.
func normalizedKeys(m *model.Model, g *layers.Graph, raw *layers.Node) *layers.Node {
	defer g.Copy(momentumPrefix)()
	if m.Spec.Projection != "" {
		raw = m.Project(g, raw)
	}
	return m.Compared().Normalize(g, raw, true)
}

// followMomentum makes what moves the momentum encoder, where there is one.
func (s *stepper) followMomentum() (err error) {
	if s.cfg.MomentumEncoder == 0 {
		return nil
	}
	ps := s.model.Params
	s.momentum, err = optim.NewFollower(s.cfg.MomentumEncoder, ps, func(p *layers.Param) *layers.Param { return ps.Get(momentumPrefix + p.Name) })
	return run.AtSetting("momentum_encoder", err)
}

// updateMomentum moves the momentum encoder behind a step.
func (s *stepper) updateMomentum() error {
	if s.momentum == nil {
		return nil
	}
	return engine.Observe(s.observer, &averaging, s.momentum.Update)
}

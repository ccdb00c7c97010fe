package train

import (
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/run"
)

// recompute sets by how many blocks the network that is built next is computed again.
func (s *Session) recompute(headOnly bool) error {
	if !s.cfg.Run.Recompute {
		return s.model.Recompute(0)
	}
	images := s.cfg.Batch()
	if micro := s.cfg.MicroBatch; micro > 0 {
		images = min(images, micro)
	}
	together, bytes, without, err := s.model.RecomputeLeast(images)
	if err != nil {
		return run.AtSetting("run.recompute", err)
	}
	switch {
	case headOnly: // which keeps nothing of the backbone
	case together == 0:
		s.ev.Warn("%s changes nothing: a step keeps nothing of the backbone that is worth computing again", setting.Name("run.recompute"))
	default:
		s.ev.Say("blocks are computed twice, %d together: activations and gradients take %d MiB instead of %d", together, bytes>>20, without>>20)
	}
	return nil
}

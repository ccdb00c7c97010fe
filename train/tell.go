package train

import (
	"fmt"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/run"
)

// tellParts makes the network say how far a step has come, if that is taken in
// parts: with large batches it takes minutes.
func (s *Session) tellParts(task string, batches int) {
	s.net.told = func(pass string, images int) {
		parts := []string{fmt.Sprintf("%s %d/%d images", pass, images, s.cfg.Batch())}
		if s.state.LossSteps > 0 {
			parts = append(parts, s.detail())
		}
		s.ev.Progress(task, s.state.Position.Batch, batches, strings.Join(parts, "  "))
	}
}

// detail is what stands on the line of progress: loss, rates, speed, and how long
// the whole run will take.
func (s *Session) detail() string {
	st := &s.state
	var parts []string
	if st.LossSteps > 0 { // the first step of an epoch may not be settled yet
		parts = append(parts, fmt.Sprintf("loss %.4f", st.LossSum/float64(st.LossSteps)))
	}
	parts = append(parts, s.rates())
	if each := s.pace.each(); each > 0 {
		parts = append(parts, fmt.Sprintf("%.1f images/s", float64(s.cfg.Batch())/each.Seconds()), fmt.Sprintf("training ends in %s", s.left().Round(time.Second)))
	}
	return strings.Join(parts, "  ")
}

// left is how long the rest of the training will take, 0 where nothing tells it.
func (s *Session) left() time.Duration {
	return s.pace.left(s.steps()-s.opti.Steps(), s.epochs()-s.state.Position.Epoch)
}

// rates are those of the latest step: of the backbone, and of what differs.
func (s *Session) rates() string {
	o := s.cfg.Optimizer
	rate := o.Rate * s.cfg.Schedule.At(max(s.opti.Steps()-1, 0), s.steps(), s.sampler.Batches())
	text := fmt.Sprintf("rate %.2g", rate)
	if o.HeadRate != 1 {
		text += fmt.Sprintf(", head %.2g", rate*o.HeadRate)
	}
	if o.ProxyRate != 1 && s.hasLossParams() {
		text += fmt.Sprintf(", loss %.2g", rate*o.ProxyRate)
	}
	return text
}

// tell reports an epoch to the user.
func (s *Session) tell(r run.EpochRecord) {
	line := fmt.Sprintf("epoch %d/%d  loss %.4f  %s %.3f±%.3f", r.Epoch, s.epochs(), r.Loss, s.quantity(), r.DistanceMean, r.DistanceStd)
	if r.Recall1 >= 0 {
		line += fmt.Sprintf("  validation Recall@1 %.1f%% MAP@R %.1f%%", r.Recall1, r.MAPAtR)
		if r.Best {
			line += " (best so far)"
		}
	}
	if r.Test != nil {
		line += fmt.Sprintf("  test classes, for the curve only: Recall@1 %.1f%% MAP@R %.1f%%", r.Test.Recall1, r.Test.MAPAtR)
	}
	line += flowText(r.Flow)
	if left := s.left(); left > 0 {
		line += fmt.Sprintf("  training ends in %s", left.Round(time.Second))
	}
	s.ev.Say("%s", line)
}

// flowText says how much the geometry flow layers mix.
func flowText(list []layers.FlowStats) string {
	text := ""
	for _, f := range list {
		text += fmt.Sprintf("  %s: %.1f neighbours, weight %.2f", f.Name, f.Neighbours, f.Weight)
	}
	return text
}

func (s *Session) quantity() string {
	if s.cfg.Model.Metric.Similarity() {
		return "similarity"
	}
	return "distance"
}

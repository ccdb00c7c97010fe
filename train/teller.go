package train

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/run"
)

// teller reports to the user how a run is doing, and what looks wrong about it.
type teller struct {
	*setup
	stepper *stepper
	pace    pace
	warned  warnings
}

// tellParts makes the network say how far a step has come, if that is taken in
// parts: with large batches it takes minutes.
func (s *teller) tellParts(task string, batches int) {
	s.stepper.net.progress = func(pass string, images int) {
		parts := []string{fmt.Sprintf("%s %d/%d images", pass, images, s.cfg.Batch())}
		if s.state.LossSteps > 0 {
			parts = append(parts, s.detail())
		}
		s.ev.Progress(task, s.state.Position.Batch, batches, strings.Join(parts, "  "))
	}
}

// detail is what stands on the line of progress: loss, rates, speed, and how long
// the whole run will take.
func (s *teller) detail() string {
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
func (s *teller) left() time.Duration {
	return s.pace.left(s.steps()-s.stepper.opti.Steps(), s.epochs()-s.state.Position.Epoch)
}

// rates are those of the latest step: of the backbone, and of what differs.
func (s *teller) rates() string {
	o := s.cfg.Optimizer
	rate := o.Rate * s.cfg.Schedule.At(max(s.stepper.opti.Steps()-1, 0), s.steps(), s.sampler.Batches())
	text := fmt.Sprintf("rate %.2g", rate)
	if o.HeadRate != 1 {
		text += fmt.Sprintf(", head %.2g", rate*o.HeadRate)
	}
	if o.ProxyRate != 1 && learns(s.model) {
		text += fmt.Sprintf(", loss %.2g", rate*o.ProxyRate)
	}
	return text
}

// tell reports an epoch to the user.
func (s *teller) tell(r run.EpochRecord) {
	line := fmt.Sprintf("epoch %d/%d  loss %.4f  %s %.3f±%.3f", r.Epoch, s.epochs(), r.Loss, s.quantity(), r.DistanceMean, r.DistanceStd)
	if r.Recall1 >= 0 {
		_, _, averaged := r.Candidate()
		line += fmt.Sprintf("  validation Recall@1 %.1f%% MAP@R %.1f%%", r.Recall1, r.MAPAtR) + bestText(r.Best && !averaged)
		if e := r.EMA; e != nil {
			line += fmt.Sprintf(", averaged weights %.1f%% %.1f%%", e.Recall1, e.MAPAtR) + bestText(r.Best && averaged)
		}
	}
	if r.Test != nil {
		line += fmt.Sprintf("  test classes, for the curve only: Recall@1 %.1f%% MAP@R %.1f%%", r.Test.Recall1, r.Test.MAPAtR)
		if e := r.EMA; e != nil && e.Test != nil {
			line += fmt.Sprintf(", averaged weights %.1f%% %.1f%%", e.Test.Recall1, e.Test.MAPAtR)
		}
	}
	if r.Scale > 0 {
		line += fmt.Sprintf("  scale %.3f", r.Scale)
	}
	line += flowText(r.Flow)
	if left := s.left(); left > 0 {
		line += fmt.Sprintf("  training ends in %s", left.Round(time.Second))
	}
	s.ev.Say("%s", line)
}

func bestText(best bool) string {
	if best {
		return " (best so far)"
	}
	return ""
}

// scale is that of an epoch.
func (s *setup) scale(r run.EpochRecord) float64 {
	if r.Scale > 0 {
		return r.Scale
	}
	return s.cfg.Model.Scale
}

// flowText says how much the geometry flow layers mix.
func flowText(list []layers.FlowStats) string {
	text := ""
	for _, f := range list {
		text += fmt.Sprintf("  %s: %.1f neighbors, weight %.2f", f.Name, f.Neighbors, f.Weight)
	}
	return text
}

func (s *setup) quantity() string {
	if s.cfg.Model.Metric.Similarity() {
		return "similarity"
	}
	return "distance"
}

// warnings are what a session has warned of.
type warnings struct {
	kinds   []*repeated
	skipped int // images, when they were last spoken of
}

// repeated is a kind of warning, and the epochs that gave cause for it.
type repeated struct {
	kind                string // as the summary says it
	first, last, epochs int
}

// once warns of something the first time, and counts it.
func (s *teller) once(kind string, epoch int, format string, a ...any) {
	for _, w := range s.warned.kinds {
		if w.kind == kind {
			if w.last != epoch {
				w.last = epoch
				w.epochs++
			}
			return
		}
	}
	s.warned.kinds = append(s.warned.kinds, &repeated{kind, epoch, epoch, 1})
	s.ev.Warn(format, a...)
}

// summarize says what more than one epoch gave cause to warn of.
func (s *teller) summarize() {
	for _, w := range s.warned.kinds {
		if w.epochs > 1 {
			s.ev.Warn("%s in %d epochs, from %d to %d", w.kind, w.epochs, w.first, w.last)
		}
	}
	s.warned.kinds = nil
}

// saturatedShare is the share of saturated coordinates from which on a user is
// warned.
const saturatedShare = 0.3

// warn says what looks wrong about an epoch of steps steps: of every kind the first
// time in full, and what was not shown in a line at the end.
func (s *teller) warn(r run.EpochRecord, steps int, h health) {
	for _, f := range r.Flow {
		if f.Neighbors == 0 {
			s.once(f.Name+" found no neighbors", r.Epoch, "%s found no neighbors in the epoch's last batch and changed nothing; raise delta in %s", f.Name, setting.Name("model.flow"))
		}
	}
	equal := r.DistanceStd < 1e-3*math.Abs(r.DistanceMean) || r.DistanceMean == 0
	if one := s.cfg.Batch() == 2; equal && !one { // a single pair has no spread
		s.once(collapsedKind, r.Epoch, "the embeddings have collapsed: %s between images of a batch is %.3g everywhere; lower the learning rate or change the loss's margin", s.quantity(), r.DistanceMean)
	}
	switch {
	case steps > 0 && h.Idle == steps:
		s.once("no pair was active in any step", r.Epoch, "no pair was active in epoch %[2]d (%[1]s): the loss is 0 and nothing was learned; batches need several images a class, a loss a margin that pairs fall short of", plural.Of(steps, "step"), r.Epoch)
	case 2*h.Idle > steps:
		s.once("no pair was active in most steps", r.Epoch, "no pair was active in %d of %s of epoch %d: they taught nothing; larger batches or a larger margin find more", h.Idle, plural.Of(steps, "step"), r.Epoch)
	}
	if r.Saturated > saturatedShare {
		s.once("many coordinates were saturated", r.Epoch, "%.0f%% of the coordinates between images of a batch are beyond %.0f%% of the restriction's bound, where it hardly feels them: lower %s (now %v) or normalize embeddings", 100*r.Saturated, 100*saturation, setting.Name("model.scale"), s.scale(r))
	}
	if h.Loud > 0 {
		s.once("the gradient exploded", r.Epoch, "the gradient exploded in %s, at step %d to a norm of %.3g where %.3g is usual: lower %s, or limit it with %s", plural.Of(h.Loud, "step"), h.LoudAt, h.LoudNorm, math.Exp(h.Level), setting.Name("optimizer.rate"), setting.Name("optimizer.clip_norm"))
	}
	if 2*h.Faint > steps-h.Idle && h.Faint > 0 {
		s.once("the gradient vanished in most steps", r.Epoch, "the gradient vanished in %d of %s of epoch %d (a norm below %g although the loss is not 0): too large a value of %s drives embeddings to where nothing moves them (it is %.3g); else look at their scale and the loss's temperature", h.Faint, plural.Of(steps, "step"), r.Epoch, faintNorm, setting.Name("optimizer.rate"), s.cfg.Optimizer.Rate)
	}
	if r.Skipped > s.warned.skipped {
		s.warned.skipped = r.Skipped
		s.ev.Warn("unreadable and replaced by others of their class: %s; vernier data check lists them", plural.Of(r.Skipped, "image"))
	}
}

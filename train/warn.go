package train

import (
	"math"

	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/run"
)

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
func (s *Session) once(kind string, epoch int, format string, a ...any) {
	for _, w := range s.warned.kinds {
		if w.kind == kind {
			w.last = epoch
			w.epochs++
			return
		}
	}
	s.warned.kinds = append(s.warned.kinds, &repeated{kind, epoch, epoch, 1})
	s.ev.Warn(format, a...)
}

// summarize says what more than one epoch gave cause to warn of.
func (s *Session) summarize() {
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

// warn says what looks wrong about an epoch of so many steps: of every kind the first
// time in full, and what went on in a line at the end.
func (s *Session) warn(r run.EpochRecord, steps int, h health) {
	for _, f := range r.Flow {
		if f.Neighbours == 0 {
			s.once(f.Name+" found no neighbours", r.Epoch, "%s found no neighbours in the epoch's last batch and changed nothing; raise delta in %s", f.Name, setting.Name("model.flow"))
		}
	}
	equal := r.DistanceStd < 1e-3*math.Abs(r.DistanceMean) || r.DistanceMean == 0
	if one := s.cfg.Batch() == 2; equal && !one { // a single pair has no spread
		s.once("the embeddings had collapsed", r.Epoch, "the embeddings have collapsed: %s between images of a batch is %.3g everywhere; lower the learning rate or change the loss's margin", s.quantity(), r.DistanceMean)
	}
	switch {
	case steps > 0 && h.Idle == steps:
		s.once("no pair was active in any step", r.Epoch, "no pair was active in epoch %[2]d (%[1]s): the loss is 0 and nothing was learned; batches need several images a class, a loss a margin that pairs fall short of", plural.Of(steps, "step"), r.Epoch)
	case 2*h.Idle > steps:
		s.once("no pair was active in most steps", r.Epoch, "no pair was active in %d of %s of epoch %d: they taught nothing; larger batches or a larger margin find more", h.Idle, plural.Of(steps, "step"), r.Epoch)
	}
	if r.Saturated > saturatedShare {
		s.once("many coordinates were saturated", r.Epoch, "%.0f%% of the coordinates between images of a batch are beyond %.0f%% of the restriction's bound, where it hardly feels them: lower %s (now %v) or normalise embeddings", 100*r.Saturated, 100*saturation, setting.Name("model.scale"), s.cfg.Model.Scale)
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

package train

import (
	"github.com/vernier-ml/vernier/engine"
)

// goOnWith notes what computes from here on, and warns where it is not what computed
// so far.
func (s *Session) goOnWith(now engine.Info) {
	before := s.state.Engine
	s.state.Engine = now
	switch {
	case before == now || before == engine.Info{}:
	case before.Precision != now.Precision:
		s.ev.Warn("the run was computed in %s so far (%v), and goes on in %s (%v): its figures will differ a little from those of an uninterrupted run", before.Precision, before, now.Precision, now)
	default:
		s.ev.Warn("the run began with other kernels (%v, now %v): its last bits will differ from those of an uninterrupted run", before, now)
	}
}

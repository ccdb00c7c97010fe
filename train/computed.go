package train

import (
	"encoding/json"
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/weights"
)

// Engine says what computed the checkpoint that Options.From names, so that a run can
// go on in the same precision. The zero value is that of a run without one.
func (f Folder) Engine(from string) (engine.Info, error) {
	path, err := f.checkpoint(from)
	if err != nil || path == "" {
		return engine.Info{}, err
	}
	file, err := weights.Open(path)
	if err != nil {
		return engine.Info{}, f.damaged(path, err)
	}
	defer file.Close()
	var st state
	if err := json.Unmarshal([]byte(file.Metadata()[stateKey]), &st); err != nil {
		return engine.Info{}, fmt.Errorf("%s: its state: %w", path, err)
	}
	return st.Engine, nil
}

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

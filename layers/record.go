package layers

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// A graph on a Recorder runs on the tape machine at first: the engine makes its
// choices, and every op shows whether the host takes part in it. Then each series
// of ops without the host becomes a recording, and a run is a few replays with
// what the host does between them, such as the loss.

// warmUps are the runs before recording: in the first an engine may look for
// the fastest way to do something, for which the host is needed once.
const warmUps = 2

// stretch is a series of ops that is replayed, or a single one that is run.
type stretch struct {
	ops       []*op
	recording engine.Recording // nil for an op that the host takes part in
}

// recorded is the state of recording a graph.
type recorded struct {
	runs     int
	program  []stretch
	refusal  error // why there is no program
	attended map[*op]bool
}

// Recorded returns how many recordings a run replays, 0 before there are any, and
// why there are none on an engine that could have some.
func (g *Graph) Recorded() (stretches int, refusal error) {
	for _, s := range g.record.program {
		if s.recording != nil {
			stretches++
		}
	}
	return stretches, g.record.refusal
}

// runRecorded is Run on a Recorder.
func (g *Graph) runRecorded(rec engine.Recorder) error {
	r := &g.record
	r.runs++
	switch {
	case r.refusal != nil || r.runs <= warmUps:
		return g.runTape()
	case r.program == nil:
		return g.recordProgram(rec)
	}
	for _, s := range r.program {
		if err := s.run(); err != nil {
			return err
		}
	}
	return nil
}

func (s stretch) run() error {
	if s.recording == nil {
		return s.ops[0].again()
	}
	if err := s.recording.Replay(); err != nil {
		return &OpError{s.name(), err}
	}
	return nil
}

func (s stretch) name() string {
	return fmt.Sprintf("%s ... %s", s.ops[0].name, s.ops[len(s.ops)-1].name)
}

// again runs an op with the tensors of its inputs.
func (o *op) again() error {
	if o.alias != nil {
		return nil
	}
	if err := o.do(o.tensors()); err != nil {
		return &OpError{o.name, err}
	}
	return nil
}

// recordProgram runs the graph once, and records it on the way. Where recording
// fails the ops are run as they are, now and from then on.
func (g *Graph) recordProgram(rec engine.Recorder) error {
	for _, s := range g.stretches() {
		if !g.record.attended[s.ops[0]] && g.record.refusal == nil {
			recording, err := rec.Record(func() error {
				for _, o := range s.ops {
					if err := o.again(); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil {
				s.recording = recording
				if err := s.run(); err != nil {
					return errors.Join(err, recording.Close())
				}
				g.record.program = append(g.record.program, s)
				continue
			}
			g.record.refusal = fmt.Errorf("%s: %w", s.name(), err)
		}
		for _, o := range s.ops {
			if err := o.again(); err != nil {
				return err
			}
		}
		g.record.program = append(g.record.program, s)
	}
	if g.record.refusal != nil {
		return g.forget()
	}
	return nil
}

// stretches cuts the ops into series.
func (g *Graph) stretches() []stretch {
	var list []stretch
	open := false // may the last one grow
	for _, o := range g.ops {
		switch {
		case o.alias != nil: // runs with its op
		case g.record.attended[o]:
			list = append(list, stretch{ops: []*op{o}})
			open = false
		case open:
			last := &list[len(list)-1]
			last.ops = append(last.ops, o)
		default:
			list = append(list, stretch{ops: []*op{o}})
			open = true
		}
	}
	return list
}

// forget releases the recordings.
func (g *Graph) forget() error {
	var errs []error
	for _, s := range g.record.program {
		if s.recording != nil {
			errs = append(errs, s.recording.Close())
		}
	}
	g.record.program = nil
	return errors.Join(errs...)
}

// watch runs the op and notes whether the host took part in it.
func (o *op) watch(in []engine.Tensor) error {
	rec, ok := o.g.eng.(engine.Recorder)
	if !ok {
		return o.observed(in)
	}
	before := rec.Attended()
	err := o.observed(in)
	if o.g.record.attended == nil {
		o.g.record.attended = map[*op]bool{}
	}
	o.g.record.attended[o] = rec.Attended() != before
	return err
}

package train

import (
	"context"
	"fmt"
	"io"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/trace"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/run"
)

// tracing takes the times of some steps of a run, which compute what they compute
// without it. The first step of the process is not among them: an engine chooses its
// algorithms in it, and no picture has been prepared ahead.
type tracing struct {
	*setup
	stepper *stepper
	steps   int // to be traced, those that were included; 0 for none
	taken   int // steps of this process
	traced  int
	last    int // number of the latest traced step in the run
	tracer  *trace.Tracer
	watched *network // that notifies the tracer; nil for none
}

// traceAfter is the number of steps of a process before those that are traced.
const traceAfter = 1

// tracedRows is the number of kinds and shapes that the table of a run names.
const tracedRows = 40

// step takes a step, with a tracer around it if it is one of those to be traced.
func (s *tracing) step(read *lookahead, take func() error) error {
	s.taken++
	if s.steps < 1 || s.taken <= traceAfter {
		return take()
	}
	if err := s.watch(read); err != nil {
		return err
	}
	err := engine.Observe(s.tracer, &engine.Work{Name: fmt.Sprintf("step %d", s.stepper.opti.Steps()+1), Kind: "step"}, take)
	read.observer = nil
	if err != nil {
		s.unwatch()
		return err
	}
	s.traced++
	s.last = s.stepper.opti.Steps()
	if s.traced < s.steps {
		return nil
	}
	return s.finish(nil)
}

// watch makes all that a step consists of notify the tracer.
func (s *tracing) watch(read *lookahead) (err error) {
	if s.tracer == nil {
		if s.tracer, err = trace.New(s.model.Params.Engine()); err != nil {
			return err
		}
	}
	read.observer = s.tracer
	if s.watched != s.stepper.net {
		s.watched = s.stepper.net
		s.stepper.observe(s.tracer)
	}
	return nil
}

// unwatch ends the notifications.
func (s *tracing) unwatch() {
	if s.watched == s.stepper.net && s.watched != nil {
		s.stepper.observe(nil)
	}
	s.watched = nil
}

// finish writes what was traced, unless the run failed.
func (s *tracing) finish(failed error) error {
	s.unwatch()
	if s.steps < 1 {
		return nil
	}
	s.steps = 0
	defer s.close()
	switch {
	case failed != nil:
		return nil
	case s.traced == 0:
		s.ev.Warn("no step was traced: this process took %s, and the first of a process is left out", plural.Of(s.taken, "step"))
		return nil
	}
	spans, err := s.tracer.Spans()
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	table := trace.Tabulate(spans)
	if err := wholefile.Write(s.folder.Path(run.TraceFile), s.tracer.WriteChrome); err != nil {
		return err
	}
	head := fmt.Sprintf("%s to step %d on %s: %.2f ms each, %.1f%% of it waiting for pictures",
		plural.Of(s.traced, "step"), s.last, s.model.Params.Engine().Name(), 1e3*table.Each().Seconds(), 100*table.Waiting())
	err = wholefile.Write(s.folder.Path(run.TraceTable), func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "%s\n\n", head); err != nil {
			return err
		}
		return table.Write(w, tracedRows)
	})
	if err != nil {
		return err
	}
	s.ev.Say("traced %s; the table is %s, for chrome://tracing and ui.perfetto.dev there is %s", head, s.folder.Path(run.TraceTable), s.folder.Path(run.TraceFile))
	return s.log.write(traceRecord{Event: "trace", Step: s.last, Traced: s.traced, Seconds: table.Each().Seconds(), Waiting: table.Waiting()})
}

// close releases the tracer.
func (s *tracing) close() error {
	if s.tracer == nil {
		return nil
	}
	err := s.tracer.Close()
	s.tracer = nil
	return err
}

// end finishes what a run that ended with err, nil for none, traced until then.
func (s *tracing) end(ctx context.Context, err error) error {
	failed := err
	if ctx.Err() != nil { // interrupted and saved
		failed = nil
	}
	if wrong := s.finish(failed); err == nil {
		return wrong
	}
	return err
}

// Work around what the graphs and the optimizer do.
var (
	waiting     = engine.Work{Name: trace.KindWait, Kind: trace.KindWait, Phase: engine.PhaseData}
	uploading   = engine.Work{Name: "pictures to the engine", Kind: "upload", Phase: engine.PhaseData}
	embedding   = engine.Work{Name: "embeddings to the host", Kind: "download", Phase: engine.PhaseForward}
	seeding     = engine.Work{Name: "gradients of embeddings", Kind: "upload", Phase: engine.PhaseBackward}
	summing     = engine.Work{Name: "sum of gradients", Kind: "sum of gradients", Phase: engine.PhaseBackward}
	gathering   = engine.Work{Name: "embeddings of all ranks", Kind: "gathering", Phase: engine.PhaseForward}
	reducing    = engine.Work{Name: "sum over ranks", Kind: "sum over ranks", Phase: engine.PhaseBackward}
	remembering = engine.Work{Name: "cross-batch memory", Kind: "cross-batch memory", Phase: engine.PhaseLoss}
	averaging   = engine.Work{Name: "average of the weights", Kind: "average of weights", Phase: engine.PhaseOptimizer}
	concluding  = engine.Work{Name: "numbers of a step", Kind: "numbers of a step", Phase: engine.PhaseOptimizer}
)

// observe makes the steps to come notify o of all that they do; nil ends that.
func (s *stepper) observe(o engine.Observer) {
	s.observer = o
	s.opti.Observe(o)
	s.net.observe(o)
}

// observe makes later runs notify o; nil ends that.
func (n *network) observe(o engine.Observer) {
	n.observer = o
	n.g.Observe(o)
	if n.micro != nil {
		if n.micro.forth != nil {
			n.micro.forth.Observe(o)
		}
		n.micro.back.Observe(o)
	}
	for _, in := range n.inlets {
		in.observer = o
	}
}

package main

import (
	"fmt"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/trace"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// tracedRows is the number of kinds and shapes that the table of --trace names.
const tracedRows = 20

// newTracer makes a tracer that waits for each op of a device.
func newTracer(eng engine.Engine) *trace.Tracer {
	if d, ok := eng.(engine.Device); ok {
		return trace.New(d.Synchronize)
	}
	return trace.New(nil)
}

// writeTrace writes the file and, unless the output is JSON, prints the table.
func (f *benchFlags) writeTrace(w io.Writer, t *trace.Tracer, log *logrus.Logger) error {
	spans, err := t.Spans()
	if err != nil {
		return err
	}
	if !f.asJSON {
		fmt.Fprintln(w)
		if err := trace.Tabulate(spans).Write(w, tracedRows); err != nil {
			return err
		}
	}
	if err := wholefile.Write(f.trace, func(w io.Writer) error { return trace.WriteChrome(w, spans) }); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	log.Infof("%s: %s, for chrome://tracing and ui.perfetto.dev", f.trace, plural.Of(len(spans), "event"))
	return nil
}

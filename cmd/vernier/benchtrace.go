package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/vernier-ml/vernier/cmd/internal/cli"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/bench"
	"github.com/vernier-ml/vernier/internal/plural"
	"github.com/vernier-ml/vernier/internal/trace"
	"github.com/vernier-ml/vernier/internal/wholefile"
)

// tracedRows is the number of kinds and shapes that the table of --trace names.
const tracedRows = 20

// benchTrace is the file of --trace, open from before the measurement on, so that a path
// where none can be is known at once. A nil benchTrace traces nothing.
type benchTrace struct {
	path string
	file *wholefile.File
}

// openTrace opens the file of --trace, if there is one.
func (f *benchFlags) openTrace() (*benchTrace, error) {
	if f.trace == "" {
		return nil, nil
	}
	file, err := wholefile.Create(f.trace)
	if err != nil {
		return nil, cli.Usagef("--trace: %w", err)
	}
	return &benchTrace{f.trace, file}, nil
}

// close drops the file if it was not written.
func (b *benchTrace) close() error {
	if b == nil {
		return nil
	}
	return b.file.Cleanup()
}

// take traces a step of a case, writes the file and returns the table.
func (b *benchTrace) take(r *bench.Runner, eng engine.Engine, log *logrus.Logger) (table *trace.Table, err error) {
	if b == nil {
		return nil, nil
	}
	t, err := trace.New(eng)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := r.Trace(t); err != nil {
		return nil, err
	}
	spans, err := t.Spans()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.WriteChrome(b.file), b.file.CloseAtomicallyReplace()); err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	log.Infof("%s: %s, for chrome://tracing and ui.perfetto.dev", b.path, plural.Of(len(spans), "event"))
	tabulated := trace.Tabulate(spans)
	return &tabulated, nil
}

// tracedResult is a line of JSON with --trace.
type tracedResult struct {
	bench.Result
	Trace trace.Report `json:"trace"`
}

// printTrace prints a result and the table of its step, if there is one.
func (f *benchFlags) printTrace(w io.Writer, r bench.Result, t *trace.Table) error {
	switch {
	case f.asJSON && t != nil:
		return cli.WriteJSONLine(w, tracedResult{r, t.Report()})
	case f.asJSON:
		return cli.WriteJSONLine(w, r)
	}
	printResult(w, r)
	if t == nil {
		return nil
	}
	fmt.Fprintln(w)
	return t.Write(w, tracedRows)
}

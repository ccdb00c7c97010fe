package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/vernier-ml/vernier/engine"
)

// startRecord is a line of the log about a start of the run, its first or one that
// continues.
type startRecord struct {
	Event  string      `json:"event"` // "start"
	Steps  int         `json:"steps"` // that were done before
	Engine engine.Info `json:"engine"`
}

// stepRecord is a line of the log about one training step.
type stepRecord struct {
	Event    string  `json:"event"` // "step"
	Epoch    int     `json:"epoch"` // from 1
	Step     int     `json:"step"`  // from 1, over the whole run
	Loss     float64 `json:"loss"`
	Active   int     `json:"active"` // terms of the loss that had a gradient
	Total    int     `json:"total"`
	GradNorm float64 `json:"grad_norm"` // before clipping
	Rate     float64 `json:"rate"`      // of the backbone
	HeadRate float64 `json:"head_rate"` // of the embedding layer
	LossRate float64 `json:"loss_rate"` // of the loss's own parameters
	Seconds  float64 `json:"seconds"`
}

// traceRecord is a line of the log about steps that were traced, which end with Step.
type traceRecord struct {
	Event   string  `json:"event"` // "trace"
	Step    int     `json:"step"`
	Traced  int     `json:"traced"`  // steps
	Seconds float64 `json:"seconds"` // of a step, waiting for its pictures included
	Waiting float64 `json:"waiting"` // share of that in which it waited
}

// logFile is the run's log, one JSON object a line, appended to.
type logFile struct {
	f   *os.File
	enc *json.Encoder
}

// openLog appends to the log what follows on a number of steps. Lines about
// later steps, which a killed process wrote after its last checkpoint, are
// dropped, and a line that a full disk or a kill cut short.
func openLog(path string, steps int) (*logFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := dropLater(f, steps); err != nil {
		f.Close()
		return nil, err
	}
	return &logFile{f, json.NewEncoder(f)}, nil
}

func dropLater(f *os.File, steps int) error {
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	whole := int64(0)
	for line := range bytes.Lines(text) {
		var r struct{ Step, Steps int }
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &r) != nil || max(r.Step, r.Steps) > steps {
			break
		}
		whole += int64(len(line))
	}
	if err := f.Truncate(whole); err != nil {
		return err
	}
	_, err = f.Seek(whole, io.SeekStart)
	return err
}

// write appends a line; no log takes none.
func (l *logFile) write(v any) error {
	if l == nil {
		return nil
	}
	if err := l.enc.Encode(v); err != nil {
		return fmt.Errorf("writing %s: %w", l.f.Name(), err)
	}
	return nil
}

func (l *logFile) close() error { return l.f.Close() }

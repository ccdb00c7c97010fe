package train

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// startRecord is a line of the log about a start of the run, its first or one that
// goes on.
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

// EpochRecord is what an epoch came to.
type EpochRecord struct {
	Event   string  `json:"event"` // "epoch"
	Epoch   int     `json:"epoch"`
	Steps   int     `json:"steps"` // over the whole run
	Loss    float64 `json:"loss"`  // mean over the epoch's steps
	Skipped int     `json:"skipped"`
	// DistanceMean and DistanceStd are of the metric's values between different
	// images of the last batch: a collapsed embedding shows here first.
	DistanceMean float64 `json:"distance_mean"`
	DistanceStd  float64 `json:"distance_std"`
	// Recall1 is Recall@1 in percent on the validation classes, -1 without any.
	Recall1 float64 `json:"validation_recall@1"`
	// MAPAtR is MAP@R in percent on the validation classes, -1 without any. It
	// decides which epoch is best: it looks at all images of a class and so
	// swings less than Recall@1 (Musgrave, Belongie and Lim 2020, Sect. 3.1).
	MAPAtR float64 `json:"validation_map@r"`
	Best   bool    `json:"best"` // the best epoch so far
	// Flow is what the geometry flow layers found in the last batch.
	Flow []layers.FlowStats `json:"geometry_flow,omitempty"`
	// Idle is the share of steps in which no term of the loss was active.
	Idle float64 `json:"idle"`
	// Saturated is the share of coordinates between images of the last batch at
	// which the restriction is beyond 95% of its bound; 0 for other metrics.
	Saturated float64 `json:"saturated"`
	// Test holds figures of the test classes, which decide nothing, where they
	// were asked for.
	Test *TestRecord `json:"test,omitempty"`
}

// TestRecord are figures on the test classes in the middle of a run, of each image
// alone. They choose nothing.
type TestRecord struct {
	TestFigures
	// Shuffled is of batches in drawn order, through geometry flow.
	Shuffled *TestFigures `json:"shuffled,omitempty"`
}

// TestFigures are those of a point of a curve. NMI and F1 are there if
// Options.AllTestFigures asks for them.
type TestFigures struct {
	Recall1 float64 `json:"recall@1"` // percent, as MAP@R
	MAPAtR  float64 `json:"map@r"`
	NMI     float64 `json:"nmi,omitempty"`
	F1      float64 `json:"f1,omitempty"`
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

func (l *logFile) write(v any) error {
	if err := l.enc.Encode(v); err != nil {
		return fmt.Errorf("writing %s: %w", l.f.Name(), err)
	}
	return nil
}

func (l *logFile) close() error { return l.f.Close() }

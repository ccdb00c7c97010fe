package train

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/run"
)

// TrialFile holds the figures of a run of an experiment.
const TrialFile = "trial.json"

// Trial is a run of an experiment: what it was asked for, and what came out.
type Trial struct {
	Config run.Config `json:"config"`
	Epoch  int        `json:"epoch"` // of the measured model, from 1
	// Alone are the figures of each image alone, on the test classes.
	Alone *eval.Figures `json:"alone"`
	// Mixed are those of batches, for models with geometry flow.
	Mixed *run.MixedResults `json:"geometry_flow,omitempty"`
	// StepSeconds is the median time of a step of training.
	StepSeconds float64 `json:"step_seconds"`
	// Curve is how the figures went, where Output.EvalEvery asked for that.
	Curve []CurvePoint `json:"curve,omitempty"`
}

// CurvePoint are figures on the test classes after an epoch.
type CurvePoint struct {
	Epoch    int              `json:"epoch"`
	Steps    int              `json:"steps"`
	Alone    run.TestFigures  `json:"alone"`
	Shuffled *run.TestFigures `json:"shuffled,omitempty"` // nil without geometry flow
}

// RunTrial makes the run that the settings describe in a folder, continues with it
// if it is there unfinished, or reads what came out if it is done. restarts are
// of k-means. A folder with a run of other settings is an error. Output.EvalEvery
// measures all figures, see Options.AllTestFigures.
func RunTrial(ctx context.Context, folder run.Folder, settings *run.Settings, eng engine.Engine, restarts int, opt Options) (*Trial, error) {
	opt.AllTestFigures = true
	s, err := openTrial(ctx, folder, settings, eng, opt)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return LoadTrial(folder)
	}
	defer s.Close()
	if err := s.Train(ctx); err != nil {
		return nil, err
	}
	t := &Trial{Config: s.cfg}
	for _, r := range s.state.History {
		if r.Test != nil {
			t.Curve = append(t.Curve, CurvePoint{r.Epoch, r.Steps, r.Test.TestFigures, r.Test.Shuffled})
		}
	}
	if t.StepSeconds, err = stepSeconds(folder); err != nil {
		return nil, err
	}
	measure := run.MeasureOptions{Selection: run.Selection{Options: opt.run()}, Restarts: restarts}
	measure.ModelOnly = true
	if err := t.measure(ctx, folder, eng, measure); err != nil {
		return nil, err
	}
	return t, folder.SaveJSON(TrialFile, t)
}

// openTrial starts a run or continues with it; it returns nil if it is done.
func openTrial(ctx context.Context, folder run.Folder, settings *run.Settings, eng engine.Engine, opt Options) (*Session, error) {
	stored, err := folder.LoadConfig()
	if errors.Is(err, fs.ErrNotExist) {
		cfg, err := settings.Config()
		if err != nil {
			return nil, err
		}
		return Start(ctx, cfg, folder, eng, opt)
	}
	if err != nil {
		return nil, err
	}
	diff, err := settings.Differences(stored)
	if err != nil {
		return nil, err
	}
	if len(diff) > 0 {
		return nil, fmt.Errorf("folder %s holds a run with other settings:\n  %s", folder, strings.Join(diff, "\n  "))
	}
	if _, err := os.Stat(folder.Path(TrialFile)); err == nil {
		return nil, nil
	}
	opt.Given = settings
	return Resume(ctx, folder, eng, opt)
}

// LoadTrial reads what the run of an experiment in a folder came to.
func LoadTrial(f run.Folder) (*Trial, error) {
	text, err := os.ReadFile(f.Path(TrialFile))
	if err != nil {
		return nil, err
	}
	t := &Trial{}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path(TrialFile), err)
	}
	return t, nil
}

// measure fills in the figures of the best epoch.
func (t *Trial) measure(ctx context.Context, folder run.Folder, eng engine.Engine, opt run.MeasureOptions) error {
	emb, r, err := run.Measure(ctx, folder, eng, opt)
	if err != nil {
		return err
	}
	defer emb.Close()
	t.Epoch, t.Alone, t.Mixed = emb.Epoch, r.Model, r.GeometryFlow
	return nil
}

// stepSeconds is the median over the steps of a run's log.
func stepSeconds(f run.Folder) (float64, error) {
	file, err := os.Open(f.Path(run.LogFile))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var times []float64
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var r stepRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err == nil && r.Event == "step" {
			times = append(times, r.Seconds)
		}
	}
	if len(times) == 0 || lines.Err() != nil {
		return 0, lines.Err()
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train/tune/tpe"
)

// State says how far a trial has come.
type State string

const (
	Running  State = "running" // or left by a process that ended
	Complete State = "complete"
	Stopped  State = "stopped" // early, since it looked bad
	Failed   State = "failed"  // diverged, or has settings that do not go together
)

// Trial is a point of the space and what came of it.
type Trial struct {
	Number int                `json:"number"` // from 0 on
	Params map[string]float64 `json:"params"` // of a choice the index
	// Settings are what the parameters mean, by place.
	Settings map[string]string `json:"settings"`
	State    State             `json:"state"`
	// Value is the mean over folds of the figure; of a stopped trial over what it had.
	Value float64 `json:"value"`
	// Values are the means after each epoch over all folds so far, one after the other;
	// Steps is how many a whole trial has.
	Values []float64 `json:"values"`
	Steps  int       `json:"steps"`
	// Folds are the values of the folds that are done.
	Folds   []float64 `json:"folds"`
	Seconds float64   `json:"seconds"` // of all processes that worked on it
	Why     string    `json:"why,omitempty"`
}

// Over reports whether nothing is left to do.
func (t *Trial) Over() bool { return t.State != Running }

// asTPE is the trial as a proposal sees it.
func (t *Trial) asTPE() tpe.Trial {
	switch t.State {
	case Complete:
		return tpe.Trial{Params: t.Params, Value: t.Value, Rank: 1}
	case Stopped:
		return tpe.Trial{Params: t.Params, Value: t.Value, Rank: float64(len(t.Values)) / float64(t.Steps+1)}
	}
	return tpe.Trial{Params: t.Params, Value: -1, Rank: 0}
}

// trialFile holds a Trial.
const trialFile = "trial.json"

// loadTrial reads a trial; nil if it has not begun.
func loadTrial(dir string) (*Trial, error) {
	path := filepath.Join(dir, trialFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &Trial{}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func (t *Trial) save(dir string) error { return run.Folder(dir).SaveJSON(trialFile, t) }

// same reports whether a stored trial is the one that is proposed now.
func (t *Trial) same(other *Trial) bool {
	return maps.Equal(t.Params, other.Params) && maps.Equal(t.Settings, other.Settings)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

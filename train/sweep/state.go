package sweep

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/vernier-ml/vernier/run"
)

// State says in words how far a run has come.
func State(path string) (string, error) {
	folder := run.Folder(path)
	switch {
	case exists(folder.Path(run.ResultsFile)):
		return "finished", nil
	case !isRun(string(folder)):
		return "to be made", nil
	}
	cfg, err := folder.LoadConfig()
	if err != nil {
		return "", err
	}
	ended, err := epochs(folder.Path(run.HistoryFile))
	if err != nil {
		return "", err
	}
	state := fmt.Sprintf("epoch %d of %d", ended+1, cfg.Epochs)
	switch {
	case cfg.Steps > 0:
		state = fmt.Sprintf("epoch %d", ended+1)
	case ended >= cfg.Epochs:
		state = "trained, not measured"
	}
	if folder.Busy() {
		return state + ", another process works on it", nil
	}
	c, err := readCost(folder)
	if err != nil {
		return "", err
	}
	if c.Failed != "" {
		return state + ", failed: " + c.Failed, nil
	}
	return state, nil
}

// epochs counts those that a history has.
func epochs(path string) (int, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return max(len(rows)-1, 0), nil
}

// Missing is a run that a table leaves out.
type Missing struct {
	Folder string `json:"folder"`
	State  string `json:"state"`
}

// Unfinished says how far the runs in the given folders have come.
func Unfinished(folders []string) ([]Missing, error) {
	var list []Missing
	for _, f := range folders {
		state, err := State(f)
		if err != nil {
			return nil, err
		}
		list = append(list, Missing{f, state})
	}
	return list, nil
}

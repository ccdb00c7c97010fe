package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/weights"
)

// FromBest is the value of Options.From for the best epoch.
const FromBest = "best"

// Checkpoint finds the file that from means; "" if a run has none yet.
func (f Folder) Checkpoint(from string) (string, error) {
	name := CheckpointFile
	switch from {
	case "", "latest":
	case FromBest:
		name = BestCheckpointFile
	default:
		n, err := strconv.Atoi(from)
		if err != nil || n < 1 {
			return "", fmt.Errorf("a run continues from latest, from %s or from an epoch by its number, not from %q", FromBest, from)
		}
		name = EpochCheckpoint(n)
	}
	_, err := os.Stat(f.Path(name))
	switch {
	case err == nil:
		return f.Path(name), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	case name == CheckpointFile:
		return "", f.checkUntrained()
	}
	have := []string{}
	if _, err := os.Stat(f.Path(CheckpointFile)); err == nil {
		have = append(have, "the latest")
	}
	others, err := f.others(f.Path(name))
	if err != nil {
		return "", err
	}
	for _, o := range others {
		if o == FromBest {
			o = "the best"
		}
		have = append(have, o)
	}
	if len(have) == 0 {
		have = append(have, "none")
	}
	return "", setting.Errorf("%s has no checkpoint of epoch %s (there is: %s; %s N keeps the last N)", f, from, strings.Join(have, ", "), setting.Name("run.keep"))
}

// others lists the values of Options.From, beside the latest, that a run has a
// checkpoint for other than the one at path.
func (f Folder) others(path string) (list []string, err error) {
	if best := f.Path(BestCheckpointFile); best != path {
		if _, err := os.Stat(best); err == nil {
			list = append(list, FromBest)
		}
	}
	kept, err := f.KeptEpochs()
	if err != nil {
		return nil, err
	}
	for _, n := range kept {
		if f.Path(EpochCheckpoint(n)) != path {
			list = append(list, strconv.Itoa(n))
		}
	}
	return list, nil
}

// wayOn says what else a run can continue from.
func (f Folder) wayOn(path string) error {
	others, err := f.others(path)
	switch {
	case err != nil:
		return err
	case len(others) == 0:
		return errors.New("there is no other checkpoint; train anew in another folder")
	}
	return setting.Errorf("continue from another one, with the option %s "+strings.Join(others, ", or "), setting.Name("from"))
}

// Damaged is the error about a checkpoint that cannot be read.
func (f Folder) Damaged(path string, err error) error {
	if !strings.Contains(err.Error(), "damaged") {
		err = fmt.Errorf("%s is damaged: %w", filepath.Base(path), err)
	}
	return setting.Errorf("%w: %v", err, f.wayOn(path))
}

// untrained is an error unless a run without a latest checkpoint has trained nothing
// yet, so that nothing is lost if it begins anew.
func (f Folder) checkUntrained() error {
	path := f.Path(CheckpointFile)
	others, err := f.others(path)
	if err != nil {
		return err
	}
	trained := len(others) > 0
	for _, name := range []string{LastFile, LastEMAFile, BestFile} {
		switch file, err := weights.Open(f.Path(name)); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			trained = true // by all one can tell
		default:
			trained = trained || file.Metadata()[EpochKey] != "0"
			file.Close()
		}
	}
	if !trained {
		return nil
	}
	return setting.Errorf("%s has no %s, but was trained before, which beginning anew would overwrite: %v", f, CheckpointFile, f.wayOn(path))
}

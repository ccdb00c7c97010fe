package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/vernier-ml/vernier/weights"
)

// Choice says which model of a run is meant; empty is Best.
type Choice string

const (
	// Best is the model of the best epoch by the validation classes: of a run with an average
	// of weights (Config.EMA) the better one of the two.
	Best Choice = "best"
	// Last is the model of the last epoch as it was trained.
	Last Choice = "last"
	// LastEMA is the model of the last epoch with averaged weights.
	LastEMA Choice = "last-ema"
)

// Choices lists them.
func Choices() []string { return []string{string(Best), string(Last), string(LastEMA)} }

// IsBest reports whether the best model is meant.
func (c Choice) IsBest() bool { return c == "" || c == Best }

// ModelPath is the file of a model.
func (f Folder) ModelPath(c Choice) string {
	switch c {
	case Last:
		return f.Path(LastFile)
	case LastEMA:
		return f.Path(LastEMAFile)
	}
	return f.Path(BestFile)
}

// checkChoice says that a run has no averaged weights.
func (f Folder) checkChoice(c Choice) error {
	if _, err := os.Stat(f.ModelPath(c)); c == LastEMA && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no %s: the run was trained without an average of its weights", f, LastEMAFile)
	}
	return nil
}

// IsAveraged reports whether a model of the run has averaged weights.
func (f Folder) IsAveraged(c Choice) (bool, error) {
	file, err := weights.Open(f.ModelPath(c))
	if err != nil {
		return false, err
	}
	defer file.Close()
	return file.Metadata()[EMAKey] != "", nil
}

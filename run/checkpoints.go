package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/weights"
)

// Checkpoints of single epochs stand beside the latest one.
const (
	BestCheckpointFile = "checkpoint-best.safetensors"
	epochPrefix        = "checkpoint-epoch-"
	epochSuffix        = ".safetensors"
	linkSuffix         = ".link" // of a checkpoint's second name until it has it
)

// EpochCheckpoint is the name of the file of an epoch's own checkpoint.
func EpochCheckpoint(n int) string { return fmt.Sprintf("%s%04d%s", epochPrefix, n, epochSuffix) }

// KeptEpochs lists the epochs that have a checkpoint of their own, in order.
func (f Folder) KeptEpochs() ([]int, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), epochPrefix)
		number, whole := strings.CutSuffix(rest, epochSuffix)
		if n, err := strconv.Atoi(number); ok && whole && err == nil {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// LinkCheckpoint makes the latest checkpoint known under another name too: as a hard link,
// which takes no room, or where the file system has none as a copy.
func (f Folder) LinkCheckpoint(name string) error {
	temporary := f.Path("." + name + linkSuffix)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(f.Path(CheckpointFile), temporary); err != nil {
		return f.copyCheckpoint(name)
	}
	if err := os.Rename(temporary, f.Path(name)); err != nil {
		return err
	}
	// If both names were one file already, the rename did nothing at all.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f Folder) copyCheckpoint(name string) error {
	from, err := os.Open(f.Path(CheckpointFile))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := wholefile.Create(f.Path(name))
	if err != nil {
		return err
	}
	defer to.Cleanup()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.CloseAtomicallyReplace()
}

// SweepTemporary removes temporary files that a killed process left.
func (f Folder) SweepTemporary() error {
	for _, name := range append(slices.Clone(runFiles), epochPrefix) {
		wholefile.Sweep(string(f), name)
	}
	links, err := filepath.Glob(f.Path(".*" + linkSuffix))
	if err != nil {
		return err
	}
	for _, path := range links {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Keys of a checkpoint's metadata.
const (
	StateKey  = "vernier.state"
	ConfigKey = "vernier.config"
	EpochKey  = "vernier.epoch"
	EMAKey    = "vernier.ema" // of a model with averaged weights, the decay
)

// Engine says what computed the checkpoint that Options.From names, so that a run can
// continue in the same precision. The zero value is that of a run without one.
func (f Folder) Engine(from string) (engine.Info, error) {
	path, err := f.Checkpoint(from)
	if err != nil || path == "" {
		return engine.Info{}, err
	}
	file, err := weights.Open(path)
	if err != nil {
		return engine.Info{}, f.Damaged(path, err)
	}
	defer file.Close()
	var st struct {
		Engine engine.Info `json:"engine"`
	}
	if err := json.Unmarshal([]byte(file.Metadata()[StateKey]), &st); err != nil {
		return engine.Info{}, fmt.Errorf("%s: its state: %w", path, err)
	}
	return st.Engine, nil
}

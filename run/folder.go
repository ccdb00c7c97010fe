package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/wholefile"
	"github.com/vernier-ml/vernier/model"
)

// The files of a run folder.
const (
	ConfigFile     = "config.json"
	LogFile        = "log.jsonl"
	HistoryFile    = "history.csv"
	ResultsFile    = "results.json"
	CheckpointFile = "checkpoint.safetensors"
	LastFile       = "last.safetensors"
	BestFile       = "best.safetensors"
	LastEMAFile    = "last-ema.safetensors" // with averaged weights
	FiguresFolder  = "figures"
	BoardFolder    = "tensorboard" // for tensorboard --logdir
	ExportFolder   = "export"      // where vernier export writes by default
	ReportFile     = "report.html" // and vernier report
	TraceFile      = "trace.json"  // of vernier train --trace, for a trace viewer
	TraceTable     = "trace.txt"   // and as a table
	MarksFile      = "marks.jsonl" // of vernier serve; a run that begins anew keeps it
)

// runFiles are those that are files and appear as a whole.
var runFiles = []string{LogFile, HistoryFile, ResultsFile, CheckpointFile, BestCheckpointFile, LastFile, BestFile, LastEMAFile, ConfigFile}

// Folder is a run's place on disk.
type Folder string

// Path returns the path of one of the run's files.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// Name is the last part of the folder's path, for titles.
func (f Folder) Name() string {
	if full, err := filepath.Abs(string(f)); err == nil {
		return filepath.Base(full)
	}
	return filepath.Base(string(f))
}

// ErrExists says that the output folder is already there.
var ErrExists = errors.New("already exists")

// Claim says where a new run may go. A folder that holds anything is refused;
// with force one that holds a run is accepted. Nothing is changed yet: an
// earlier run is only given up once the new one can begin.
func Claim(path string, force bool) (Folder, error) {
	f := Folder(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	case !info.IsDir():
		return f, fmt.Errorf("%s is a file, not a folder", path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return f, err
	}
	// A run that was killed before it had a configuration left hidden files at most.
	if !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") }) {
		return f, nil
	}
	if !force {
		return f, fmt.Errorf("folder %s %w", path, ErrExists)
	}
	if _, err := os.Stat(f.Path(ConfigFile)); err != nil {
		return f, fmt.Errorf("folder %s %w and holds no run, so it is not overwritten", path, ErrExists)
	}
	return f, nil
}

// ClearCheckpoints removes all checkpoints of a run, and the models, so that it is one
// that has trained nothing.
func (f Folder) ClearCheckpoints() error {
	kept, err := f.KeptEpochs()
	if err != nil {
		return err
	}
	names := []string{CheckpointFile, BestCheckpointFile}
	for _, n := range kept {
		names = append(names, EpochCheckpoint(n))
	}
	return f.remove(append(names, LastFile, BestFile, LastEMAFile)...)
}

// ClearResults removes what else a run wrote, but its configuration.
func (f Folder) ClearResults() error {
	return f.remove(LogFile, HistoryFile, ResultsFile, FiguresFolder, ExportFolder, ReportFile, BoardFolder, TraceFile, TraceTable)
}

func (f Folder) remove(names ...string) error {
	for _, name := range names {
		if err := os.RemoveAll(f.Path(name)); err != nil {
			return err
		}
	}
	return nil
}

// Abandon removes what a run that could not begin has left.
func (f Folder) Abandon() error {
	if err := f.ClearCheckpoints(); err != nil {
		return err
	}
	if err := f.ClearResults(); err != nil {
		return err
	}
	if err := f.remove(ConfigFile, lockFile); err != nil {
		return err
	}
	// The folder itself goes only if it holds nothing else.
	if entries, err := os.ReadDir(string(f)); err == nil && len(entries) == 0 {
		return os.Remove(string(f))
	}
	return nil
}

// Open finds a run.
func Open(path string) (Folder, error) {
	f := Folder(path)
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		in := Folder(filepath.Dir(path))
		if _, err := os.Stat(in.Path(ConfigFile)); err == nil {
			return f, fmt.Errorf("%s is a file of a run: give the folder %s", path, in)
		}
		return f, fmt.Errorf("%s is a file; want the folder of a run, which vernier train wrote (embed and eval take a model file as well)", path)
	}
	if _, err := os.Stat(f.Path(ConfigFile)); err != nil {
		if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
			return f, fmt.Errorf("there is no folder %s", path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return f, fmt.Errorf("%s is not a run folder: it has no %s", path, ConfigFile)
		}
		return f, err
	}
	return f, nil
}

// SaveConfig stores the configuration.
func (f Folder) SaveConfig(c Config) error { return f.SaveJSON(ConfigFile, c) }

// LoadConfig reads the configuration. Unknown keys are errors: another version
// wrote them, and what they meant would be lost.
func (f Folder) LoadConfig() (Config, error) {
	var c Config
	text, err := wholefile.Read(f.Path(ConfigFile))
	if err != nil {
		return c, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w", f.Path(ConfigFile), err)
	}
	return c, nil
}

// SaveJSON writes v atomically under the given name.
func (f Folder) SaveJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return f.WriteFile(name, append(text, '\n'))
}

// WriteFile replaces a file as a whole or not at all.
func (f Folder) WriteFile(name string, text []byte) error {
	return wholefile.WriteBytes(f.Path(name), text)
}

// LoadModel reads a model of a run, and the number of its epoch.
func (f Folder) LoadModel(eng engine.Engine, c Choice) (*model.Model, int, error) {
	if err := f.checkChoice(c); err != nil {
		return nil, 0, err
	}
	path := f.ModelPath(c)
	m, meta, err := model.Load(path, eng)
	if err != nil {
		return nil, 0, err
	}
	epoch, err := strconv.Atoi(meta[EpochKey])
	if err != nil {
		return nil, 0, fmt.Errorf("%s: its metadata has no epoch: %w", path, err)
	}
	cfg, err := f.LoadConfig() // models had no Shorter once
	m.Shorter = cfg.Data.Shorter
	return m, epoch, err
}

// SaveThreshold writes a calibrated threshold into the file of a model of the run, which
// is otherwise unchanged. The error is ErrBusy while the run is being trained.
func (f Folder) SaveThreshold(eng engine.Engine, c Choice, t *model.Threshold) error {
	lock, err := f.Lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := f.checkChoice(c); err != nil {
		return err
	}
	path := f.ModelPath(c)
	m, meta, err := model.Load(path, eng)
	if err != nil {
		return err
	}
	m.Threshold = t
	return m.Save(path, meta)
}

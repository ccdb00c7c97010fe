package sweep

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/run"
)

// Run is a finished run.
type Run struct {
	Folder  string
	Seed    uint64
	Fold    int               // of the training classes; 0 without folds
	Values  map[string]string // settings by place, without seed and fold
	Figures map[string]float64
	// Test is what the figures were measured on; the zero value where it is not known.
	Test TestSet

	config *run.Config // nil where it is not known
}

// TestSet tells Sets of test images apart by their size. Two runs may read the same
// images from different folders: names say little.
type TestSet struct{ Images, Classes int }

// The figures that a run is compared by; Percent says which are in percent.
const (
	recallPrefix  = "recall@"
	validationMAP = "validation_map@r"
)

// ErrUnfinished says that a run has no results yet.
var ErrUnfinished = errors.New("the run is not finished")

// Check reports whether Compare will find the baseline among runs that are not made
// yet, and the figure among theirs; an empty one is there.
func Check(jobs []Job, o Options, figure string) error {
	t := &Table{Figures: []string{recallPrefix + "1", recallPrefix + "2", recallPrefix + "4", recallPrefix + "8", "map@r", "nmi", "f1", validationMAP}}
	if figure != "" && !slices.Contains(t.Figures, figure) {
		return t.unknown(figure)
	}
	runs := make([]Run, len(jobs))
	for i, j := range jobs {
		runs[i] = Run{Folder: j.Name, Seed: j.Config.Seed, Fold: j.Config.Data.Fold, Values: settingsOf(j.Config), config: &j.Config}
	}
	o.By = ""
	_, err := Compare(runs, o)
	return err
}

// CheckData reports whether every run's data set is there and has the classes that its
// split and its folds need.
func CheckData(ctx context.Context, jobs []Job) error {
	seen := map[string]bool{}
	for _, j := range jobs {
		d := j.Config.Data
		key := fmt.Sprintf("%q %q %d %d", d.Spec, d.TrainClasses, d.Fold, d.Folds)
		if seen[key] {
			continue
		}
		seen[key] = true
		if err := run.CheckData(ctx, j.Config); err != nil {
			return err
		}
	}
	return nil
}

// Load reads the runs in the given folders: each is one, or holds some. It
// returns the finished ones and the folders of the others.
func Load(paths []string) (runs []Run, unfinished []string, err error) {
	var folders []string
	for _, p := range paths {
		inside, err := runFolders(p)
		if err != nil {
			return nil, nil, err
		}
		folders = append(folders, inside...)
	}
	seen := map[string]bool{}
	for _, f := range folders {
		if seen[filepath.Clean(f)] {
			continue
		}
		seen[filepath.Clean(f)] = true
		r, err := loadRun(f)
		switch {
		case errors.Is(err, ErrUnfinished):
			unfinished = append(unfinished, f)
		case err != nil:
			return nil, nil, err
		default:
			runs = append(runs, *r)
		}
	}
	return runs, unfinished, nil
}

// runFolders lists the folder itself if it holds a run, else the runs in it.
func runFolders(path string) ([]string, error) {
	if isRun(path) {
		return []string{path}, nil
	}
	list, err := runsIn(path)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s is no run folder and holds none", path)
	}
	for i, name := range list {
		list[i] = filepath.Join(path, name)
	}
	return list, nil
}

// runsIn lists the names of the run folders in a folder.
func runsIn(path string) (names []string, err error) {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if isRun(filepath.Join(path, e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// isRun reports whether a folder holds a run, finished or not.
func isRun(path string) bool { return exists(run.Folder(path).Path(run.ConfigFile)) }

// loadRun reads one run.
func loadRun(path string) (*Run, error) {
	folder := run.Folder(path)
	text, err := os.ReadFile(folder.Path(run.ResultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrUnfinished
	}
	if err != nil {
		return nil, err
	}
	cfg, err := folder.LoadConfig()
	if err != nil {
		return nil, err
	}
	var res run.Results
	if err := json.Unmarshal(text, &res); err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(run.ResultsFile), err)
	}
	if res.Model == nil {
		return nil, fmt.Errorf("%s has no figures of the model", folder.Path(run.ResultsFile))
	}
	r := &Run{Folder: path, Seed: cfg.Seed, Fold: cfg.Data.Fold, Values: settingsOf(cfg), Figures: map[string]float64{}, config: &cfg,
		Test: TestSet{res.Model.Queries, res.Model.Classes}}
	for _, k := range res.Model.Recall {
		r.Figures[recallPrefix+strconv.Itoa(k.K)] = k.Percent
	}
	r.Figures["map@r"] = 100 * res.Model.MAPAtR
	for name, v := range map[string]*float64{"nmi": res.Model.NMI, "f1": res.Model.F1} {
		if v != nil {
			r.Figures[name] = *v
		}
	}
	return r, r.readHistory(folder.Path(run.HistoryFile), res.Epoch)
}

// settingsOf are the settings that runs of one group share: not what a run writes
// beside its model, which changes nothing.
func settingsOf(cfg run.Config) map[string]string {
	v := cfg.Values()
	delete(v, "seed")
	delete(v, "data.fold")
	maps.DeleteFunc(v, func(place, _ string) bool { return strings.HasPrefix(place, "run.") })
	return v
}

// readHistory adds the validation figure of the epoch that was measured.
func (r *Run) readHistory(path string, epoch int) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return nil
	}
	number, figure := slices.Index(rows[0], "epoch"), slices.Index(rows[0], validationMAP)
	if number < 0 || figure < 0 {
		return nil
	}
	for _, row := range rows[1:] {
		if row[number] != strconv.Itoa(epoch) {
			continue
		}
		if v, err := strconv.ParseFloat(row[figure], 64); err == nil && v >= 0 { // -1 without validation
			r.Figures[validationMAP] = v
		}
	}
	return nil
}

// figureOrder lists the names of figures as tables have them.
func figureOrder(runs []Run) []string {
	have := map[string]bool{}
	for _, r := range runs {
		for name := range r.Figures {
			have[name] = true
		}
	}
	var names []string
	for name := range have {
		names = append(names, name)
	}
	rank := func(name string) int {
		if k, ok := strings.CutPrefix(name, recallPrefix); ok {
			n, err := strconv.Atoi(k)
			if err == nil {
				return n
			}
		}
		return 1e9 + slices.Index([]string{"map@r", "nmi", "f1", validationMAP}, name)
	}
	slices.SortFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// Percent says whether a figure is in percent; the others are shares.
func Percent(figure string) bool { return figure != "nmi" && figure != "f1" }

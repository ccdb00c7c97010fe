package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train/tune/tpe"
)

// Study is the search of one variant, in a folder of its own.
type Study struct {
	Variant Variant
	Dir     string

	file  *File
	space dimensions
	tpe   tpe.Space
	done  []*Trial // by number; nil for those that are not over
}

// studyFile says what the trials of a study depend on.
const studyFile = "study.json"

// studyText is its content.
type studyText struct {
	Variant string `json:"variant"`
	Digest  string `json:"digest"`
}

// Studies are those of a file in a folder.
func (f *File) Studies(dir string) []*Study {
	var list []*Study
	for _, v := range f.Variants {
		s := &Study{Variant: v, Dir: filepath.Join(dir, folderName(v.Name)), file: f, space: f.spaceOf(v), done: make([]*Trial, f.Trials)}
		s.tpe = s.space.tpe(v)
		list = append(list, s)
	}
	return list
}

// open makes the folder, or refuses one with trials of other settings.
func (s *Study) open() error {
	digest, err := s.file.digest(s.Variant)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(s.Dir, studyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return run.Folder(s.Dir).SaveJSON(studyFile, studyText{s.Variant.Name, digest})
	}
	if err != nil {
		return err
	}
	var stored studyText
	if err := json.Unmarshal(text, &stored); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if stored.Digest != digest {
		return fmt.Errorf("%s holds a study of other settings (base, space, folds, seed, sampler, stopping, parallel, figure or epoch of %s have changed since it began): take another folder; trials, hours, seeds and the variants may change", s.Dir, s.file.Name)
	}
	return nil
}

func (s *Study) folder(number int) string {
	return filepath.Join(s.Dir, fmt.Sprintf("trial-%04d", number+1))
}

// refresh reads what is over by now.
func (s *Study) refresh() error {
	for n, t := range s.done {
		if t != nil {
			continue
		}
		t, err := loadTrial(s.folder(n))
		if err != nil {
			return err
		}
		if t != nil && t.Over() {
			s.done[n] = t
		}
	}
	return nil
}

// Trials are those that are over, in their order.
func (s *Study) Trials() (list []*Trial) {
	for _, t := range s.done {
		if t != nil {
			list = append(list, t)
		}
	}
	return list
}

// Best is the complete trial with the largest value, the first of equal ones; nil if
// there is none.
func (s *Study) Best() (best *Trial) {
	for _, t := range s.Trials() {
		if t.State == Complete && (best == nil || t.Value > best.Value) {
			best = t
		}
	}
	return best
}

// Point are the settings of a trial.
func (s *Study) Point(t *Trial) []run.Setting { return s.space.settings(t.Params) }

// Seconds is what the trials that are over have cost.
func (s *Study) Seconds() (sum float64) {
	for _, t := range s.Trials() {
		sum += t.Seconds
	}
	return sum
}

// generation are the numbers of the trials that are proposed together and not all over:
// from, before to. It is empty when no trial is left.
func (s *Study) generation() (from, to int) {
	k := s.file.Parallel
	for from = 0; from < len(s.done); from += k {
		to = min(from+k, len(s.done))
		for _, t := range s.done[from:to] {
			if t == nil {
				return from, to
			}
		}
	}
	return len(s.done), len(s.done)
}

// spent reports whether the hours are over, so that no trial may begin.
func (s *Study) spent() bool { return s.file.Hours > 0 && s.Seconds() >= 3600*s.file.Hours }

// propose makes a trial of a generation whose first number is from: it depends on the
// trials before that alone.
func (s *Study) propose(number, from int) *Trial {
	var at map[string]float64
	if s.file.Random {
		at = tpe.Random(s.tpe, s.file.Seed, number)
	} else {
		var earlier []tpe.Trial
		for _, t := range s.done[:from] {
			earlier = append(earlier, t.asTPE())
		}
		at = tpe.Suggest(s.tpe, earlier, s.file.Seed, number, tpe.Options{Startup: s.file.Startup})
	}
	t := &Trial{Number: number, Params: s.space.rounded(at), Settings: map[string]string{}, State: Running}
	for _, x := range s.Point(t) {
		t.Settings[x.Path] = fmt.Sprint(x.Value)
	}
	return t
}

// Importance says how much each parameter decides; nil before enough trials are over.
func (s *Study) Importance() map[string]float64 {
	var list []tpe.Trial
	for _, t := range s.Trials() {
		list = append(list, t.asTPE())
	}
	return tpe.Importance(s.tpe, list)
}

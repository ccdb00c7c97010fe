package tune

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train/sweep"
)

// File is what to tune as its YAML file has it:
//
//	base:                          # settings of every run, as in a configuration file
//	  data: {spec: glyphs}
//	space:
//	  optimizer.rate: {log: [1e-5, 1e-2]}    # uniform in the logarithm
//	  model.dropout: {uniform: [0, 0.5]}
//	  epochs: {int: [4, 12]}
//	  model.head: [linear, "mlp:512"]        # choices
//	  model.scale: {log: [0.1, 3], when: {model.metric: brm}}
//	compare:                       # variants, each with a study of its own
//	  loss.name: [npairs, proxy-anchor]      # every combination of these
//	  model.metric: [euclidean, brm]
//	trials: 16                     # of each variant
//	hours: 2                       # of each variant at most, of one trial at a time
//	folds: 4                       # of the training classes
//	seed: 1
//	sampler: tpe                   # or random
//	startup: 8                     # first trials, drawn at random
//	stopping: asha                 # or median, or none
//	parallel: 1                    # trials of a variant that are proposed together
//	figure: validation_map@r       # or validation_recall@1: what trials are measured by
//	epoch: last                    # or best: which epoch of a run counts
//	seeds: 5                       # of the best of each variant on the test classes; 0 for none
//	baseline: {model.metric: euclidean}
//	restarts: 20                   # of k-means on the test classes
type File struct {
	Name     string
	Variants []Variant
	Trials   int
	Hours    float64 // 0 for no limit
	Folds    int
	Seed     uint64
	Random   bool // the sampler
	Startup  int
	Stopping Stopping
	Parallel int
	Figure   string
	Best     bool // the best epoch of a run counts, not its last
	Seeds    int
	Restarts int

	base  *yaml.Node
	over  []run.Setting
	space []dimension
}

// Variant is what gets a study of its own.
type Variant struct {
	Name     string
	Settings []run.Setting
	// Baseline is the index of the variant that this one is tested against, -1 for none.
	Baseline int
}

// Stopping says how trials that look bad are stopped early.
type Stopping string

const (
	StopNever  Stopping = "none"
	StopASHA   Stopping = "asha"   // successive halving
	StopMedian Stopping = "median" // below the median of earlier trials
)

// The figures that trials are measured by, in percent.
const (
	FigureMAP    = "validation_map@r"
	FigureRecall = "validation_recall@1"
)

// fileText is the outline of a file.
type fileText struct {
	Base     yaml.Node         `yaml:"base"`
	Space    yaml.Node         `yaml:"space"`
	Compare  yaml.Node         `yaml:"compare"`
	Trials   int               `yaml:"trials"`
	Hours    float64           `yaml:"hours"`
	Folds    int               `yaml:"folds"`
	Seed     uint64            `yaml:"seed"`
	Sampler  string            `yaml:"sampler"`
	Startup  int               `yaml:"startup"`
	Stopping string            `yaml:"stopping"`
	Parallel int               `yaml:"parallel"`
	Figure   string            `yaml:"figure"`
	Epoch    string            `yaml:"epoch"`
	Seeds    int               `yaml:"seeds"`
	Baseline map[string]string `yaml:"baseline"`
	Restarts int               `yaml:"restarts"`
}

// MaxTrials is the largest number of trials of a variant, MaxSeeds of final runs.
const (
	MaxTrials = 10_000
	MaxSeeds  = 1_000
)

// Parse reads a file. name is that of the text, for messages.
func Parse(name string, text []byte) (*File, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s is empty", name)
	}
	n, err := run.ParseYAML(name, text)
	if err != nil {
		return nil, err
	}
	t := fileText{Trials: 20, Folds: 4, Seed: 1, Sampler: "tpe", Startup: 8, Stopping: string(StopNever), Parallel: 1, Figure: FigureMAP, Epoch: "last"}
	if n != nil {
		if err := n.Load(&t, yaml.WithKnownFields()); err != nil {
			return nil, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: construct errors: "))
		}
	}
	f := &File{
		Name: name, Trials: t.Trials, Hours: t.Hours, Folds: t.Folds, Seed: t.Seed, Random: t.Sampler == "random", Startup: t.Startup,
		Stopping: Stopping(t.Stopping), Parallel: t.Parallel, Figure: t.Figure, Best: t.Epoch == "best", Seeds: t.Seeds, Restarts: t.Restarts, base: &t.Base,
	}
	if err := t.check(name); err != nil {
		return nil, err
	}
	if f.space, err = parseSpace(name, &t.Space); err != nil {
		return nil, err
	}
	if f.Variants, err = parseVariants(name, &t.Compare); err != nil {
		return nil, err
	}
	if err := f.findBaselines(t.Baseline); err != nil {
		return nil, err
	}
	for _, v := range f.Variants {
		if s := f.spaceOf(v); len(s) == 0 {
			return nil, fmt.Errorf("%s: nothing varies for variant %s: its space is empty", name, v.Name)
		} else if err := s.tpe(v).Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return f, nil
}

// check says what is wrong with the numbers and words of a file.
func (t fileText) check(name string) error {
	for _, w := range []struct {
		what, value string
		words       []string
	}{
		{"sampler", t.Sampler, []string{"tpe", "random"}}, {"stopping", t.Stopping, []string{"none", "asha", "median"}},
		{"figure", t.Figure, []string{FigureMAP, FigureRecall}}, {"epoch", t.Epoch, []string{"last", "best"}},
	} {
		if !slices.Contains(w.words, w.value) {
			return fmt.Errorf("%s: %s: %q%s (there is: %s)", name, w.what, w.value, nearest.Hint(w.value, w.words), strings.Join(w.words, ", "))
		}
	}
	for _, w := range []struct {
		what             string
		value, low, high int
	}{
		{"trials", t.Trials, 1, MaxTrials}, {"folds", t.Folds, 2, 100}, {"startup", t.Startup, 1, MaxTrials},
		{"parallel", t.Parallel, 1, 1000}, {"seeds", t.Seeds, 0, MaxSeeds}, {"restarts", t.Restarts, 0, run.MaxRestarts},
	} {
		if w.value < w.low || w.value > w.high {
			return fmt.Errorf("%s: %s: %d, want a number from %d to %d", name, w.what, w.value, w.low, w.high)
		}
	}
	if !(t.Hours >= 0) {
		return fmt.Errorf("%s: hours: %v, want 0 for no limit, or more", name, t.Hours)
	}
	return nil
}

// Override lays settings over the base.
func (f *File) Override(over []run.Setting) { f.over = over }

// parseVariants reads a list of variants, or axes with lists of values of which every
// combination is one.
func parseVariants(name string, n *yaml.Node) ([]Variant, error) {
	switch n.Kind {
	case 0:
		return []Variant{{Name: "study"}}, nil
	case yaml.SequenceNode:
		return listedVariants(name, n)
	case yaml.MappingNode:
	default:
		return nil, fmt.Errorf("%s:%d: compare is a list of groups of settings, or settings with lists of values", name, n.Line)
	}
	list := []Variant{{}}
	for i := 0; i < len(n.Content); i += 2 {
		key, values := n.Content[i], n.Content[i+1]
		choices, err := parseChoices(name, key.Value, values)
		if err != nil {
			return nil, err
		}
		var longer []Variant
		for _, v := range list {
			for _, c := range choices {
				longer = append(longer, Variant{Name: strings.TrimSpace(v.Name + " " + c.label), Settings: append(slices.Clip(v.Settings), c.settings...)})
			}
		}
		list = longer
	}
	return list, nameApart(name, list)
}

func listedVariants(name string, n *yaml.Node) (list []Variant, err error) {
	for _, item := range n.Content {
		if item.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s:%d: a variant is a group of settings, with a name if you like", name, item.Line)
		}
		v, values := Variant{}, []string(nil)
		for i := 0; i < len(item.Content); i += 2 {
			key, value := item.Content[i], item.Content[i+1]
			if key.Value == "name" {
				v.Name = value.Value
				continue
			}
			s, err := settingAt(name, key.Value, value)
			if err != nil {
				return nil, err
			}
			v.Settings, values = append(v.Settings, s), append(values, fmt.Sprint(s.Value))
		}
		if v.Name == "" {
			v.Name = strings.Join(values, " ")
		}
		list = append(list, v)
	}
	return list, nameApart(name, list)
}

func nameApart(file string, list []Variant) error {
	seen := map[string]bool{}
	for i, v := range list {
		if v.Name == "" || seen[folderName(v.Name)] {
			return fmt.Errorf("%s: compare: variant %d, %q, needs a name of its own", file, i+1, v.Name)
		}
		seen[folderName(v.Name)] = true
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: compare is empty", file)
	}
	return nil
}

// findBaselines finds for each variant the one that has the baseline's settings and is
// otherwise the same; without settings it is the first for all.
func (f *File) findBaselines(settings map[string]string) error {
	found := settings == nil
	for i := range f.Variants {
		v := &f.Variants[i]
		if v.Baseline = -1; settings == nil {
			if i > 0 {
				v.Baseline = 0
			}
			continue
		}
		want := v.values()
		maps.Copy(want, settings)
		for k, other := range f.Variants {
			if maps.Equal(other.values(), want) {
				found = true
				if k != i {
					v.Baseline = k
				}
			}
		}
	}
	if !found {
		return fmt.Errorf("%s: baseline: no variant has the settings %v", f.Name, settings)
	}
	return nil
}

// values are a variant's settings by place.
func (v Variant) values() map[string]string {
	m := map[string]string{}
	for _, s := range v.Settings {
		m[s.Path] = fmt.Sprint(s.Value)
	}
	return m
}

// folderName is a variant's name as that of a folder.
func folderName(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	return strings.Trim(b.String(), "._")
}

// settingAt is the setting of a place in a file.
func settingAt(file, place string, v *yaml.Node) (run.Setting, error) {
	text := v.Value
	if v.Kind != yaml.ScalarNode {
		b, err := yaml.Marshal(v)
		if err != nil {
			return run.Setting{}, fmt.Errorf("%s:%d: %s: %w", file, v.Line, place, err)
		}
		text = strings.TrimSpace(string(b))
	}
	return run.Setting{Path: place, Value: text, Source: file + ":" + strconv.Itoa(v.Line)}, nil
}

// config is that of a run with the settings of a variant and those in more.
func (f *File) config(v Variant, more ...run.Setting) (run.Config, error) {
	s := &run.Settings{}
	if f.base.Kind != 0 {
		if err := s.AddNode(f.Name, f.base); err != nil {
			return run.Config{}, err
		}
	}
	for _, layer := range [][]run.Setting{f.over, v.Settings, more} {
		if err := s.Add(layer...); err != nil {
			return run.Config{}, err
		}
	}
	cfg, err := s.Config()
	if err == nil && cfg.Data.Spec == "" {
		err = fmt.Errorf("%s: data.spec is missing: say under base which images to train on", f.Name)
	}
	if err == nil && cfg.Steps > 0 {
		err = fmt.Errorf("%s: steps: runs that are tuned are as long as their epochs say", f.Name)
	}
	return cfg, err
}

// foldConfig is that of a fold of a trial. Test classes are not measured.
func (f *File) foldConfig(v Variant, point []run.Setting, fold int) (run.Config, error) {
	source := f.Name + ": folds"
	return f.config(v, append(slices.Clip(point),
		run.Setting{Path: "data.folds", Value: f.Folds, Source: source}, run.Setting{Path: "data.fold", Value: fold, Source: source},
		run.Setting{Path: "run.eval_every", Value: 0, Source: source}, run.Setting{Path: "run.tensorboard", Value: false, Source: source})...)
}

// FinalConfig is that of the best settings of a variant on all training classes.
func (f *File) FinalConfig(v Variant, point []run.Setting, seed uint64) (run.Config, error) {
	more := append(slices.Clip(point), run.Setting{Path: "seed", Value: seed, Source: f.Name + ": seeds"})
	if !f.Best {
		more = append(more, run.Setting{Path: "data.validation", Value: 0., Source: f.Name + ": epoch"})
	}
	return f.config(v, more...)
}

// digest identifies what the trials of a variant depend on, apart from their number.
func (f *File) digest(v Variant) (string, error) {
	h := sha256.New()
	for _, d := range f.spaceOf(v) {
		fmt.Fprintf(h, "%+v\n", d.text)
	}
	if f.base.Kind != 0 {
		text, err := yaml.Marshal(f.base)
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	fmt.Fprintf(h, "%v %v %d %d %v %d %s %d %s %v", v.values(), settingsText(f.over), f.Folds, f.Seed, f.Random, f.Startup, f.Stopping, f.Parallel, f.Figure, f.Best)
	return hex.EncodeToString(h.Sum(nil)), nil
}

func settingsText(list []run.Setting) (text []string) {
	for _, s := range list {
		text = append(text, fmt.Sprintf("%s=%v", s.Path, s.Value))
	}
	return text
}

// Check reports whether each variant has settings of a run, and data with enough classes
// for the folds.
func (f *File) Check(ctx context.Context) error {
	var jobs []sweep.Job
	for _, v := range f.Variants {
		cfg, err := f.foldConfig(v, nil, 1)
		if err != nil {
			return fmt.Errorf("variant %s: %w", v.Name, err)
		}
		jobs = append(jobs, sweep.Job{Name: v.Name, Config: cfg})
	}
	return sweep.CheckData(ctx, jobs)
}

package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/run"
)

// File is a sweep as its YAML file has it:
//
//	base:                       # settings of every run, as in a configuration file
//	  data: {spec: glyphs}
//	grid:                       # every combination of these
//	  model.metric: [cosine, euclidean, brm]
//	  loss:                     # an axis may change several settings at once
//	    - {loss.name: npairs}
//	    - {loss.name: proxy-anchor, optimizer.proxy_rate: 100}
//	random:                     # and of each of 20 draws
//	  trials: 20
//	  seed: 1
//	  values:
//	    optimizer.rate: {log: [1e-5, 1e-2]}    # uniform in the logarithm
//	    model.scale: {uniform: [0.5, 2]}
//	    model.dim: [64, 128, 512]
//	seeds: 5                    # 1 to 5; or a list
//	folds: 4                    # of the training classes, for cross-validation
//	baseline: {model.metric: cosine}
//	figure: recall@1            # that is tested and drawn
//	restarts: 20                # of k-means
type File struct {
	Name     string
	Baseline map[string]string
	Figure   string
	Restarts int
	Folds    int
	Seeds    []uint64

	base  *yaml.Node
	axes  []axis
	drawn bool
}

// axis is one thing that varies.
type axis struct {
	values [][]run.Setting
	drawn  bool // at random
}

// fileText is the outline of a file.
type fileText struct {
	Base   yaml.Node `yaml:"base"`
	Grid   yaml.Node `yaml:"grid"`
	Random struct {
		Trials int       `yaml:"trials"`
		Seed   uint64    `yaml:"seed"`
		Values yaml.Node `yaml:"values"`
	} `yaml:"random"`
	Seeds    yaml.Node         `yaml:"seeds"`
	Folds    int               `yaml:"folds"`
	Baseline map[string]string `yaml:"baseline"`
	Figure   string            `yaml:"figure"`
	Restarts int               `yaml:"restarts"`
}

// unknownPart is how the YAML package speaks of a part that a file does not have.
var unknownPart = regexp.MustCompile(`field (\S+) not found in type sweep\.fileText`)

// mistakes says what is wrong with the outline of a file, all of it. What is no part
// may be one of random, or a setting of a run.
func mistakes(err error) string {
	parts := []string{"base", "grid", "random", "seeds", "folds", "baseline", "figure", "restarts"}
	drawn := []string{"trials", "seed", "values"} // parts of random
	text, unknown := strings.TrimPrefix(err.Error(), "yaml: construct errors: "), false
	text = unknownPart.ReplaceAllStringFunc(text, func(said string) string {
		part := unknownPart.FindStringSubmatch(said)[1]
		if slices.Contains(drawn, part) {
			return fmt.Sprintf("%q belongs under random%s", part, nearest.Hint(part, parts))
		}
		unknown = true
		return fmt.Sprintf("unknown part %q%s", part, nearest.Hint(part, parts))
	})
	if unknown {
		text += fmt.Sprintf(" (there is: %s; settings of every run belong under base)", strings.Join(parts, ", "))
	}
	return text
}

// Parse reads a sweep. name is that of the text, for messages.
func Parse(name string, text []byte) (*File, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s is empty", name)
	}
	n, err := run.ParseYAML(name, text)
	if err != nil {
		return nil, err
	}
	var t fileText
	if n != nil {
		if err := n.Load(&t, yaml.WithKnownFields()); err != nil {
			return nil, fmt.Errorf("%s: %s", name, mistakes(err))
		}
	}
	f := &File{Name: name, Baseline: t.Baseline, Figure: t.Figure, Restarts: t.Restarts, Folds: t.Folds, base: &t.Base}
	switch {
	case f.Folds < 0 || f.Folds == 1:
		return nil, fmt.Errorf("%s: folds: %d: there must be at least 2 folds, or 0 for none", name, f.Folds)
	case f.Folds > MaxRuns:
		return nil, fmt.Errorf("%s: folds: %d: a sweep has at most %d runs", name, f.Folds, MaxRuns)
	case f.Restarts < 0 || f.Restarts > run.MaxRestarts:
		return nil, fmt.Errorf("%s: restarts: %d: k-means runs 1 to %d times, or 20 times for 0", name, f.Restarts, run.MaxRestarts)
	}
	if err := f.readGrid(&t.Grid); err != nil {
		return nil, err
	}
	r := t.Random
	if r.Trials < 0 || (r.Trials == 0) != (r.Values.Kind == 0) {
		return nil, fmt.Errorf("%s: random draws need trials and values", name)
	}
	if r.Trials > MaxRuns {
		return nil, fmt.Errorf("%s: random: trials: %d: a sweep has at most %d runs", name, r.Trials, MaxRuns)
	}
	if r.Trials > 0 {
		if err := f.draw(&r.Values, r.Trials, r.Seed); err != nil {
			return nil, err
		}
	}
	if f.Figure == "" {
		f.Figure = "recall@1"
		if f.drawn { // what is chosen by test classes is no result on them
			f.Figure = validationMAP
		}
	}
	f.Seeds, err = seeds(&t.Seeds)
	if err != nil {
		return nil, fmt.Errorf("%s: seeds: %w", name, err)
	}
	return f, f.checkRuns()
}

// MaxRuns is the largest number of runs of a sweep.
const MaxRuns = 10_000

// checkRuns refuses more runs than a sweep may have. Each factor is at most MaxRuns or
// the length of a list in the file, and the product ends above MaxRuns.
func (f *File) checkRuns() error {
	runs, factors := 1, []string{}
	multiply := func(n int, what string) {
		if n > 1 {
			factors = append(factors, fmt.Sprintf("%d %s", n, what))
		}
		runs = min(runs, MaxRuns+1) * n
	}
	for _, a := range f.axes {
		what := "values"
		if a.drawn {
			what = "draws"
		}
		multiply(len(a.values), what)
	}
	multiply(max(f.Folds, 1), "folds")
	multiply(len(f.Seeds), "seeds")
	if runs > MaxRuns {
		return fmt.Errorf("%s: %s are more than the %d runs that a sweep may have: make the lists shorter, or several sweeps", f.Name, strings.Join(factors, " x "), MaxRuns)
	}
	return nil
}

// Drawn reports whether values are drawn at random, to find good ones.
func (f *File) Drawn() bool { return f.drawn }

// at says where a node stands.
func (f *File) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.Name, n.Line) }

// seeds reads a number or a list.
func seeds(n *yaml.Node) ([]uint64, error) {
	switch n.Kind {
	case 0:
		return []uint64{1}, nil
	case yaml.ScalarNode:
		k, err := strconv.Atoi(n.Value)
		if err != nil || k < 1 {
			return nil, fmt.Errorf("%q is neither a number of seeds nor a list", n.Value)
		}
		if k > MaxRuns {
			return nil, fmt.Errorf("%d: a sweep has at most %d runs", k, MaxRuns)
		}
		var list []uint64
		for i := range k {
			list = append(list, uint64(i+1))
		}
		return list, nil
	}
	var list []uint64
	if err := n.Decode(&list); err != nil || len(list) == 0 {
		return nil, errors.New("want a number of seeds, or a list of whole numbers")
	}
	seen := make(map[uint64]bool, len(list))
	for _, s := range list {
		if seen[s] {
			return nil, fmt.Errorf("%d is there twice", s)
		}
		seen[s] = true
	}
	return list, nil
}

// readGrid reads the axes, in the order of the file.
func (f *File) readGrid(n *yaml.Node) error {
	if n.Kind == 0 {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: grid is a group of settings with lists of values", f.at(n))
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, list := n.Content[i], n.Content[i+1]
		if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
			return fmt.Errorf("%s: %s: want a list of values", f.at(key), key.Value)
		}
		var a axis
		for _, v := range list.Content {
			s, err := f.settings(key.Value, v)
			if err != nil {
				return err
			}
			a.values = append(a.values, s)
		}
		f.axes = append(f.axes, a)
	}
	return nil
}

// settings are those of one value of an axis: of the place that it is named by,
// or of the places in a group.
func (f *File) settings(place string, v *yaml.Node) ([]run.Setting, error) {
	if v.Kind != yaml.MappingNode {
		s, err := f.setting(place, v)
		return []run.Setting{s}, err
	}
	var list []run.Setting
	for i := 0; i < len(v.Content); i += 2 {
		s, err := f.setting(v.Content[i].Value, v.Content[i+1])
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (f *File) setting(place string, v *yaml.Node) (run.Setting, error) {
	text := v.Value
	if v.Kind != yaml.ScalarNode {
		b, err := yaml.Marshal(v)
		if err != nil {
			return run.Setting{}, fmt.Errorf("%s: %s: %w", f.at(v), place, err)
		}
		text = strings.TrimSpace(string(b))
	}
	return run.Setting{Path: place, Value: text, Source: f.at(v)}, nil
}

// draw adds an axis of trials random combinations.
func (f *File) draw(n *yaml.Node, trials int, seed uint64) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s: random values are a group of settings", f.at(n))
	}
	r := rand.New(rand.NewPCG(seed, 0x7377656570))
	a := axis{drawn: true}
	for range trials {
		var s []run.Setting
		for i := 0; i < len(n.Content); i += 2 {
			place, how := n.Content[i].Value, n.Content[i+1]
			v, err := f.drawOne(place, how, r)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", f.at(how), place, err)
			}
			s = append(s, run.Setting{Path: place, Value: v, Source: f.at(how)})
		}
		a.values = append(a.values, s)
	}
	f.axes, f.drawn = append(f.axes, a), true
	return nil
}

// maxInt is the largest number that an int range draws: float64 holds all up to it.
const maxInt = 1 << 53

// drawOne draws a value for a place: of a list, or of a range, with three digits.
func (f *File) drawOne(place string, n *yaml.Node, r *rand.Rand) (string, error) {
	const ranges = "{uniform: [LOW, HIGH]}, {log: [LOW, HIGH]} or {int: [LOW, HIGH]}"
	switch {
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		s, err := f.setting("", n.Content[r.IntN(len(n.Content))])
		text, _ := s.Value.(string)
		return text, err
	case n.Kind != yaml.MappingNode || len(n.Content) != 2:
		return "", errors.New("want a list of values, or " + ranges)
	}
	var ends []float64
	kind := n.Content[0].Value
	if !slices.Contains([]string{"uniform", "log", "int"}, kind) {
		return "", fmt.Errorf("unknown range %q%s (want a list of values, or %s)", kind, nearest.Hint(kind, []string{"uniform", "log", "int"}), ranges)
	}
	if err := n.Content[1].Decode(&ends); err != nil || len(ends) != 2 {
		return "", fmt.Errorf("%s: want two numbers, as in %s", kind, ranges)
	}
	low, high, u := ends[0], ends[1], r.Float64()
	switch {
	case !(low < high) || math.IsInf(low, 0) || math.IsInf(high-low, 0):
		return "", fmt.Errorf("%s: [%v, %v]: LOW must be below HIGH", kind, low, high)
	case kind == "log" && low <= 0:
		return "", fmt.Errorf("log: [%v, %v]: LOW must be above 0, which has no logarithm", low, high)
	case kind == "int" && (low != math.Trunc(low) || high != math.Trunc(high)):
		return "", fmt.Errorf("int: [%v, %v]: want whole numbers", low, high)
	case kind == "int" && max(-low, high) > maxInt:
		return "", fmt.Errorf("int: [%v, %v]: want numbers of at most %d", low, high, int64(maxInt))
	case kind == "int":
		return strconv.Itoa(int(low) + r.IntN(int(high-low)+1)), nil
	case run.IsWhole(place):
		return "", fmt.Errorf("%s draws no whole numbers; want {int: [LOW, HIGH]} or a list of values", kind)
	case kind == "log":
		return strconv.FormatFloat(math.Exp(math.Log(low)+u*(math.Log(high)-math.Log(low))), 'g', 3, 64), nil
	}
	return strconv.FormatFloat(low+u*(high-low), 'g', 3, 64), nil
}

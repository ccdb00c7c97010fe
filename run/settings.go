package run

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/internal/home"
	"github.com/vernier-ml/vernier/internal/nametext"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/model"
)

// Settings are values of a Config that somebody gave: a preset, a file, flags.
// They come in layers, of which a later one wins. What nobody gave follows
// from what was given (the pictures from the backbone, say) or is the default.
//
// A value is named by its place, the keys of the stored configuration with dots
// between them: "optimizer.rate", "loss.params.margin".
type Settings struct{ layers []layer }

// layer holds values by place.
type layer map[string]given

// given is a value and where it stands: "run.yaml:7", "--rate".
type given struct {
	node   *yaml.Node
	source string
}

// Setting is one value. Value is a string as a user writes it, or anything
// of the type that the place has.
type Setting struct {
	Path   string
	Value  any
	Source string // for messages; "" for Path
}

// Add puts a layer of values on top of those before.
func (s *Settings) Add(list ...Setting) error {
	l := layer{}
	for _, x := range list {
		if x.Source == "" {
			x.Source = x.Path
		}
		t, err := typeAt(reflect.TypeFor[Config](), x.Path)
		if err != nil {
			return fmt.Errorf("%s: %w", x.Source, err)
		}
		var n *yaml.Node
		if text, ok := x.Value.(string); !ok {
			n = toNode(reflect.ValueOf(x.Value))
		} else if n, err = parseValue(t, text); err != nil {
			return fmt.Errorf("%s: %w", x.Source, err)
		}
		if err := l.flatten(t, x.Path, n, func(*yaml.Node) string { return x.Source }); err != nil {
			return err
		}
	}
	s.layers = append(s.layers, l)
	return nil
}

// AddYAML puts the values of a YAML text (or JSON, which is YAML) on top of those
// before. name is that of the text, for messages.
func (s *Settings) AddYAML(name string, text []byte) error {
	n, err := ParseYAML(name, text)
	if err != nil || n == nil {
		return err
	}
	return s.AddNode(name, n)
}

// AddNode is AddYAML for a part of a text that ParseYAML has read.
func (s *Settings) AddNode(name string, n *yaml.Node) error {
	l := layer{}
	at := func(n *yaml.Node) string { return fmt.Sprintf("%s:%d", name, n.Line) }
	if err := l.flatten(reflect.TypeFor[Config](), "", n, at); err != nil {
		return err
	}
	s.layers = append(s.layers, l)
	return nil
}

// Config returns the configuration that the settings come to. It has every value
// that a run would be stored with and passes Config.Validate, but for the data
// set, which may be missing.
func (s *Settings) Config() (Config, error) {
	all, err := s.merge()
	if err != nil {
		return Config{}, err
	}
	c, err := all.assigned()
	if err != nil {
		return c, err
	}
	if err := c.complete(all); err != nil {
		return c, s.blame(all, err)
	}
	return c, s.checkViews(c)
}

// assigned puts the values into a configuration that is otherwise the default.
func (l layer) assigned() (Config, error) {
	c, err := l.base()
	if err != nil {
		return c, err
	}
	for _, path := range slices.Sorted(maps.Keys(l)) {
		if err := assign(reflect.ValueOf(&c).Elem(), path, l[path].node); err != nil {
			return c, fmt.Errorf("%s: %s: %w", l[path].source, path, err)
		}
	}
	// No shell has looked at a file of settings. (Data.Spec is for data.Open.)
	c.Weights.Path, c.Data.TrainClasses = home.Expand(c.Weights.Path), home.Expand(c.Data.TrainClasses)
	return c, nil
}

// groupToBlame is blame for values of one group that go with each other, as a schedule
// with its milestones: without all of them the configuration is right.
func (l layer) groupToBlame(theirs map[string]bool) (sources []string) {
	for _, path := range slices.Sorted(maps.Keys(l)) {
		group, _, _ := strings.Cut(path, ".")
		in := func(place string) bool { return strings.HasPrefix(place, group+".") }
		if slices.Contains(sources, l[path].source) || !theirs[path] || !in(path) {
			continue
		}
		without := maps.Clone(l)
		maps.DeleteFunc(without, func(place string, _ given) bool { return in(place) })
		if c, wrong := without.assigned(); wrong == nil && c.complete(without) == nil {
			sources = append(sources, l[path].source)
		}
	}
	return sources
}

// blame says where the values stand that an error comes from: the one that it names, or
// those without any of which the configuration is right. The preset's own are not among
// them.
func (s *Settings) blame(all layer, err error) error {
	theirs := map[string]bool{}
	for _, l := range s.layers {
		for path := range l {
			theirs[path] = true
		}
	}
	if wrong := new(SettingError); errors.As(err, &wrong) && theirs[wrong.Place] {
		return fmt.Errorf("%s: %w", all[wrong.Place].source, err)
	}
	var sources []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		without := maps.Clone(all)
		delete(without, path)
		source := all[path].source
		if !theirs[path] || slices.Contains(sources, source) {
			continue
		}
		if c, wrong := without.assigned(); wrong == nil && c.complete(without) == nil {
			sources = append(sources, source)
		}
	}
	if len(sources) == 0 {
		sources = all.groupToBlame(theirs)
	}
	if len(sources) == 0 {
		return err
	}
	return fmt.Errorf("%s: %w", strings.Join(sources, ", "), err)
}

// Backbone is the one of the configuration, which need not be complete yet.
func (s *Settings) Backbone() (string, error) {
	all, err := s.merge()
	if err != nil {
		return "", err
	}
	c, err := all.base()
	return c.Model.Backbone, err
}

// merge lays all layers over each other, the preset's lowest.
func (s *Settings) merge() (layer, error) {
	layers := s.layers
	if name, err := s.preset(); err != nil {
		return nil, err
	} else if name != "" {
		p, err := LoadPreset(name)
		if err != nil {
			return nil, err
		}
		layers = append([]layer{p.settings}, layers...)
	}
	all := layer{}
	for _, l := range layers {
		if err := all.put(l); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// preset is the last one that a layer names, or "".
func (s *Settings) preset() (name string, err error) {
	for _, l := range s.layers {
		if err := l.read("preset", &name); err != nil {
			return "", err
		}
	}
	return name, nil
}

// read assigns the value at a place, if there is one.
func (l layer) read(path string, to any) error {
	g, ok := l[path]
	if !ok {
		return nil
	}
	if err := setNode(reflect.ValueOf(to).Elem(), g.node); err != nil {
		return fmt.Errorf("%s: %s: %w", g.source, path, err)
	}
	return nil
}

// base holds the defaults for the data set and the backbone that were given.
func (l layer) base() (Config, error) {
	spec := ""
	if err := l.read("data.spec", &spec); err != nil {
		return Config{}, err
	}
	c := Default(spec)
	if err := l.read("data.labels", &c.Data.Labels); err != nil {
		return c, err
	}
	if c.Unlabeled() {
		c.withoutLabels()
	}
	size := 0
	if err := l.read("model.backbone", &c.Model.Backbone); err != nil {
		return c, err
	}
	if err := l.read("model.input.size", &size); err != nil {
		return c, err
	}
	input, err := l.byWeights(&c)
	if err != nil {
		return c, err
	}
	net, err := backbone.New(c.Model.Backbone)
	if err != nil {
		return c, err
	}
	c.Model.Input, c.Model.Pool = net.Preprocessing(), model.DefaultPool(net)
	if input != nil {
		c.Model.Input = *input
	}
	if _, rows := backbone.TakesRows(net); rows {
		c.Data.Augment = transform.NoAugmentation
	}
	if size > 0 {
		c.Model.Input = c.Model.Input.WithSize(size)
	}
	return c, nil
}

// complete fills in what follows from other values.
func (c *Config) complete(given layer) error {
	if err := c.checkBounds(); err != nil { // before anything is computed from them
		return err
	}
	net, err := backbone.New(c.Model.Backbone)
	if err != nil {
		return err
	}
	if c.Model.Dim == 0 {
		c.Model.Head, c.Model.Dim = model.HeadNone, net.Channels()
	}
	if _, ok := given["data.shorter"]; !ok {
		c.Data.Shorter = Shorter(c.Model.Input)
		if c.TakesRows() {
			c.Data.Shorter = 0
		}
	}
	if _, ok := given["data.augment"]; !ok && c.Data.CacheFrozen != "" {
		c.Data.Augment = frozenAugmentation(c.Data.Spec, c.Model)
	}
	c.completeViews()
	c.Pairs.complete(func(place string) bool { _, ok := given[place]; return ok })
	c.Model.Scaling = c.Model.Scaling.Canonical()
	if c.Model.Input.Crops == 1 {
		c.Model.Input = c.Model.Input.Single()
	}
	if l := &c.Model.LoRA; l.Rank > 0 { // spelled out
		l.Alpha = l.Factor() * float64(l.Rank)
	}
	if c.Weights.Path == NoWeights {
		c.Weights.Path = ""
	} else if err := c.checkPresetWeights(); err != nil {
		return err
	}
	if c.Weights.Path == "" && c.Weights.Dictionary != "" {
		return setting.Errorf("%s chooses among the networks in a file: %s is missing", setting.Name("weights.dictionary"), setting.Name("weights.path"))
	}
	if err := c.absolute(); err != nil {
		return err
	}
	if err := c.spellOutFlow(); err != nil {
		return err
	}
	if err := c.checkConstants(given); err != nil {
		return err
	}
	check := *c
	if check.Data.Spec == "" {
		check.Data.Spec = "glyphs"
	}
	if err := check.Validate(); err != nil {
		return err
	}
	const some = 2 // classes, of which no parameter depends on the number
	c.Loss.Effective, err = losses.Effective(c.Loss.Name, c.LossOptions(some, c.Loss.Params))
	return err
}

// spellOutFlow gives every option of the geometry flow, so that a run says what it
// was made with whatever the defaults become.
func (c *Config) spellOutFlow() error {
	if c.Model.Flow == "" {
		return nil
	}
	f, err := backbone.ParseFlow(c.Model.Flow)
	if err != nil {
		return err
	}
	c.Model.Flow = f.String()
	return nil
}

// absolute makes the paths of a run independent of the folder it is started in.
func (c *Config) absolute() (err error) {
	if kind, path, ok := strings.Cut(c.Data.Spec, ":"); ok && path != "" {
		labels := ""
		if kind == backbone.FeaturesName {
			path, labels = data.SplitFeatures(path)
		}
		abs, err := filepath.Abs(home.Expand(path))
		if err != nil {
			return err
		}
		if labels != "" {
			if labels, err = filepath.Abs(home.Expand(labels)); err != nil {
				return err
			}
			abs = data.JoinFeatures(abs, labels)
		}
		c.Data.Spec = nametext.Valid(kind + ":" + abs) // config.json can hold no other bytes
	}
	if c.Weights.Path != "" {
		if c.Weights.Path, err = weightsFile(c.Weights.Path); err != nil {
			return err
		}
	}
	if c.Pairs.File != "" {
		if c.Pairs.File, err = filepath.Abs(home.Expand(c.Pairs.File)); err != nil {
			return err
		}
	}
	split, err := data.ParseSplit(c.Data.TrainClasses, 0)
	if err != nil || split.Kind != data.ListedClasses {
		return nil // Validate reports what is wrong
	}
	c.Data.TrainClasses, err = filepath.Abs(split.File)
	return err
}

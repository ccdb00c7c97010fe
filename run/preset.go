package run

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vernier-ml/vernier/internal/nearest"
	"github.com/vernier-ml/vernier/internal/setting"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// Preset is a recipe: a published one with the figures that its authors report, or one of our
// own, whose name begins with own- and for which there are none.
type Preset struct {
	Name    string
	Summary string
	// Data is the kind of data set that the figures are of, as in
	// data.Open: "cub200".
	Data string
	// Weights says which file the network starts from.
	Weights string
	// Source is the publication or the code that the settings are from.
	Source string
	// Open lists what the source leaves open, and what was chosen here.
	Open      []string
	Published []Published // none of our own recipes

	settings layer
}

// Published are figures that somebody reports for a recipe.
type Published struct {
	From string `yaml:"from" json:"from"` // publication and table
	// Seen says where we read them: in the authors' paper, in the authors'
	// repository, or quoted by others.
	Seen string `yaml:"seen" json:"seen"`
	// Recall holds Recall@K in percent by K.
	Recall map[int]float64 `yaml:"recall" json:"recall"`
	// NMI and F1 are shares, 0 if not reported.
	NMI float64 `yaml:"nmi" json:"nmi,omitempty"`
	F1  float64 `yaml:"f1" json:"f1,omitempty"`
}

// seen are the values of Published.Seen.
var seen = []string{"paper", "repository", "quoted"}

// presetFile is a family of recipes in one file.
type presetFile struct {
	Source  string    `yaml:"source"`
	Weights string    `yaml:"weights"`
	Open    []string  `yaml:"open"`
	Common  yaml.Node `yaml:"common"`
	Presets []struct {
		Name      string      `yaml:"name"`
		Summary   string      `yaml:"summary"`
		Data      string      `yaml:"data"`
		Open      []string    `yaml:"open"`
		Settings  yaml.Node   `yaml:"settings"`
		Published []Published `yaml:"published"`
	} `yaml:"presets"`
	Shared yaml.Node `yaml:"shared"` // anchors that the presets refer to
}

// needed are the places that a preset has to fill: what is left to a default
// changes when the default does.
var needed = []string{
	"data.augment", "data.validation", "model.backbone", "model.dim", "model.pool", "model.head_norm", "model.normalization",
	"model.scale", "model.metric", "model.input.size", "loss.name", "freeze.bn_stats", "freeze.bn_affine",
	"optimizer.name", "optimizer.rate", "optimizer.decay", "optimizer.head_rate", "optimizer.proxy_rate",
	"schedule.name", "sampler",
}

// Presets lists all presets, by family.
func Presets() ([]Preset, error) {
	names, err := fs.Glob(presetFiles, "presets/*.yaml")
	if err != nil {
		return nil, err
	}
	var list []Preset
	for _, name := range names {
		text, err := presetFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		more, err := parsePresets(path.Base(name), text)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// NotBuilt says of methods that publications on BRM compare with why there is no preset and
// no loss of their name.
func NotBuilt() map[string]string {
	const undefined = "no public source defines it completely, so that whatever had its name would be a guess"
	return map[string]string{
		"metricformer": "MetricFormer (Yan et al. 2022): " + undefined + "; intra-batch connections (ibc) attend over a batch too",
		"cgml":         "CGML, graph consistency (Chen et al. 2021): " + undefined,
		"um2l":         "UM2L, unified multi-metric learning (Ye et al. 2016): " + undefined,
		"bdml":         "BDML, bilevel metric learning (Xu et al. 2018): " + undefined + "; l1-ml and cap are the robust learners here",
		"cerml":        "CERML (Huang et al. 2018): it compares sets of images by their mean and covariance, and a row of a table or one image is no set",
	}
}

// LoadPreset finds a preset by its name.
func LoadPreset(name string) (*Preset, error) {
	if why := NotBuilt()[strings.ToLower(name)]; why != "" {
		return nil, fmt.Errorf("no preset %q: %s", name, why)
	}
	all, err := Presets()
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names = append(names, all[i].Name)
	}
	if hint := nearest.Hint(name, names); hint != "" {
		return nil, fmt.Errorf("unknown preset %q%s", name, hint)
	}
	return nil, fmt.Errorf("unknown preset %q; vernier presets lists them", name)
}

// parsePresets reads a family of presets.
func parsePresets(name string, text []byte) ([]Preset, error) {
	var f presetFile
	n, err := ParseYAML(name, text)
	if err == nil && n != nil {
		err = n.Load(&f, yaml.WithKnownFields())
	}
	if err != nil {
		return nil, fmt.Errorf("presets of %s: %w", name, err)
	}
	var list []Preset
	for _, e := range f.Presets {
		p := Preset{Name: e.Name, Summary: e.Summary, Data: e.Data, Weights: f.Weights, Source: f.Source,
			Open: append(slices.Clone(f.Open), e.Open...), Published: e.Published, settings: layer{}}
		for _, n := range []*yaml.Node{&f.Common, &e.Settings} {
			l := layer{}
			at := func(n *yaml.Node) string { return fmt.Sprintf("preset %s (%s:%d)", e.Name, name, n.Line) }
			if n.Kind != 0 {
				if err := l.flatten(reflect.TypeFor[Config](), "", n, at); err != nil {
					return nil, err
				}
			}
			if err := p.settings.put(l); err != nil {
				return nil, err
			}
		}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("preset %s: %w", e.Name, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// check refuses a preset that is not complete.
func (p *Preset) check() error {
	var missing []string
	for _, place := range needed {
		if _, ok := p.settings[place]; !ok {
			missing = append(missing, place)
		}
	}
	switch {
	case p.Name == "" || p.Summary == "" || p.Data == "" || p.Weights == "" || p.Source == "":
		return errors.New("name, summary, data, weights and source must be given")
	case p.settings["epochs"].node == nil && p.settings["steps"].node == nil:
		return errors.New("it is not complete: epochs or steps must be given")
	case p.settings["batch_size"].node == nil && (p.settings["classes_per_batch"].node == nil || p.settings["images_per_class"].node == nil):
		return errors.New("it is not complete: the size of a batch must be given")
	case len(missing) > 0:
		return fmt.Errorf("it is not complete: %s must be given", strings.Join(missing, ", "))
	}
	for _, f := range p.Published {
		if f.From == "" || !slices.Contains(seen, f.Seen) || len(f.Recall) == 0 {
			return fmt.Errorf("figures %+v: want from, seen (%s) and recall", f, strings.Join(seen, ", "))
		}
	}
	return nil
}

// Config is the preset by itself: without data set, and as if its weights were
// given.
func (p *Preset) Config() (Config, error) {
	s := &Settings{}
	if err := s.Add(Setting{Path: "preset", Value: p.Name}, Setting{Path: "weights.path", Value: NoWeights}); err != nil {
		return Config{}, err
	}
	return s.Config()
}

// checkPresetWeights refuses a preset without the weights that it starts from.
func (c *Config) checkPresetWeights() error {
	if c.Preset == "" || c.Weights.Path != "" {
		return nil
	}
	p, err := LoadPreset(c.Preset)
	if err != nil {
		return err
	}
	its := ""
	if err := p.settings.read("model.backbone", &its); err != nil || nameOf(its) != nameOf(c.Model.Backbone) {
		return err
	}
	return setting.Errorf("preset %s starts from pre-trained weights, %s: give %s FILE, or %q to draw them at random", c.Preset, p.Weights, setting.Name("weights.path"), NoWeights)
}

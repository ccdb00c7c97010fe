package run

import (
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
)

func settings(t *testing.T, yaml string, more ...Setting) *Settings {
	t.Helper()
	s := &Settings{}
	if err := s.AddYAML("run.yaml", []byte(yaml)); err != nil {
		t.Fatal(err)
	}
	for _, x := range more {
		if err := s.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func configOf(t *testing.T, yaml string, more ...Setting) Config {
	t.Helper()
	c, err := settings(t, yaml, more...).Config()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestALaterLayerWinsAndTheRestIsDefault(t *testing.T) {
	c := configOf(t, `
data: {spec: glyphs}
optimizer:
  rate: 1e-4
  decay: 0.01
loss:
  name: triplet
  params: {margin: 0.5D0, mining: semihard}
  terms:
    - name: sec
      params: {weight: 0.5}
freeze: {params: [block1.*, "*.bias"]}
`, Setting{Path: "optimizer.rate", Value: "3e-4"}, Setting{Path: "loss.params.mining", Value: "hard"}, Setting{Path: "model.metric", Value: "brm:tanh,p=1"})
	want := Default("glyphs")
	want.Optimizer.Rate, want.Optimizer.Decay = 3e-4, .01
	want.Loss = LossConfig{Name: "triplet", Params: map[string]string{"margin": "0.5D0", "mining": "hard"}, Effective: c.Loss.Effective,
		Terms: []TermConfig{{"sec", map[string]string{"weight": "0.5"}}}}
	want.Freeze.Params = []string{"block1.*", "*.bias"}
	want.Model.Metric = metric.Metric{Kind: metric.BRM, Restriction: metric.TanH, P: 1}
	want.Data.Shorter = Shorter(want.Model.Input)
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%+v\nwant\n%+v", c, want)
	}
	if c.Loss.Effective["mining"] != "hard" || c.Loss.Effective["reduction"] != "nonzero" {
		t.Errorf("effective parameters %v", c.Loss.Effective)
	}
}

func TestAPrintedConfigurationIsReadBackAsItWas(t *testing.T) {
	c := configOf(t, `
data: {spec: "folder:/a: b # c", train_classes: "0.7"}
model: {backbone: resnet50, dim: 0, metric: "poincare:c=0.1,clip=2.3", normalization: none}
loss: {name: soft-triple, params: {centers: 3}, terms: [{name: norm}]}
optimizer: {eps: 0.01}
`)
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if again := configOf(t, string(text)); !reflect.DeepEqual(again, c) {
		t.Errorf("got\n%+v\nwant\n%+v\nfrom\n%s", again, c, text)
	}
}

func TestWhatBelongsToAnotherLossOrBackboneGoesWithIt(t *testing.T) {
	const recipe = `
model: {backbone: bninception, dim: 64, input: {size: 227, resize: 256, mean: [104, 117, 123]}}
loss: {name: npairs, params: {temperature: 25}}
freeze: {bn_stats: true, params: ["conv1_7x7_s2.*"]}
weights: {path: bn.pth}
`
	same := configOf(t, recipe, Setting{Path: "model.input.size", Value: "112"})
	if in := same.Model.Input; in.Size != 112 || in.Resize != 126 || in.Mean[2] != 123 || !in.BGR {
		t.Errorf("half the size: %+v", in)
	}
	other := configOf(t, recipe, Setting{Path: "model.backbone", Value: "convnet"}, Setting{Path: "loss.name", Value: "triplet"})
	if in, want := other.Model.Input, Default("").Model.Input; in != want {
		t.Errorf("pictures of another backbone: %+v, want %+v", in, want)
	}
	if other.Freeze.Params != nil || !other.Freeze.BNStats || other.Weights.Path != "" || other.Loss.Params != nil || other.Model.Dim != 64 {
		t.Errorf("kept what made no sense, or lost what did: %+v", other)
	}
	if c := configOf(t, recipe, Setting{Path: "model.dim", Value: 0}); c.Model.Head != model.HeadNone || c.Model.Dim != 1024 {
		t.Errorf("without a linear layer: %s, %d", c.Model.Head, c.Model.Dim)
	}
}

// What only transformers have goes with their network, and LoRA's alpha is spelled out.
func TestLoRAAndDroppedPathsGoWithTheirNetwork(t *testing.T) {
	const recipe = "model: {backbone: vits16, drop_path: 0.1, lora: {rank: 4}}"
	if c := configOf(t, recipe); c.Model.LoRA.Rank != 4 || c.Model.LoRA.Alpha != 8 || c.Model.DropPath != .1 {
		t.Errorf("got %+v", c.Model)
	}
	if c := configOf(t, recipe, Setting{Path: "model.lora.alpha", Value: "2"}, Setting{Path: "model.backbone", Value: "dinov2s14"}); c.Model.LoRA.Alpha != 2 || c.Model.LoRA.Rank != 4 {
		t.Errorf("with another transformer %+v", c.Model.LoRA)
	}
	if c := configOf(t, recipe, Setting{Path: "model.backbone", Value: "convnet"}); c.Model.LoRA.Rank != 0 || c.Model.DropPath != 0 {
		t.Errorf("with a convolutional network %+v", c.Model)
	}
}

func TestMistakesInSettingsNamePlaceAndRemedy(t *testing.T) {
	for yaml, want := range map[string]string{
		"epochs: 3\n---\nepochs: 4":                    "run.yaml: there is a second YAML document",
		"optimiser: {rate: 1}":                         `run.yaml:1: unknown key "optimiser"; did you mean optimizer?`,
		"optimizer:\n  rat: 1":                         `run.yaml:2: unknown key "optimizer.rat"; did you mean optimizer.rate?`,
		"margin: 1":                                    `unknown key "margin"`,
		"momentum: 1":                                  `did you mean optimizer.momentum?`,
		"optimizer:\n  rate: fast":                     `run.yaml:2: optimizer.rate: "fast" is no number`,
		"epochs: 2.5":                                  `epochs: "2.5" is no whole number`,
		"optimizer: {nesterov: yes}":                   `"yes" is neither true nor false`,
		"optimizer: 3":                                 "optimizer is a group of keys",
		"epochs: {a: 1}":                               "want one value",
		"freeze: {params: block1}":                     "want a list",
		"epochs: 3\nepochs: 4":                         "epochs",
		"model: {input: {mean: [1, 2]}}":               "want a list of 3",
		"optimizer.rate: 1":                            "groups are nested",
		"- a":                                          "a list of keys",
		"epochs: [":                                    "run.yaml",
		"loss: {params: {margn: 1}}":                   `unknown parameter "margn"`,
		"loss: {terms: [{nme: sec}]}":                  `unknown key "nme"; did you mean name?`,
		"loss: {terms: [{name: sec, params: {w: 1}}]}": `unknown parameter "w"`,
		"model: {metric: no-such-metric}":              "euclidean",
		"model: {backbone: vgg}":                       "convnet",
		"preset: brm-x":                                "unknown preset",
		"preset: CGML":                                 "no public source defines it",
		"optimizer: {momentum: 0.5}":                   "optimizer adamw has no momentum; sgd and rmsprop have",
		"optimizer: {name: sgd, eps: 1e-3}":            "optimizer sgd has no eps; adam, adamw, radam and rmsprop have",
	} {
		s := &Settings{}
		err := s.AddYAML("run.yaml", []byte(yaml))
		if err == nil {
			_, err = s.Config()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error that says %q", yaml, err, want)
		}
	}
	for path, want := range map[string]string{"optimizer.rate.a": "is one value", "optmizer.rate": "did you mean optimizer?", "": "", "loss.parms.margin": "did you mean loss.params?"} {
		if err := (&Settings{}).Add(Setting{Path: path, Value: "1"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error that says %q", path, err, want)
		}
	}
}

// What only made sense with the optimizer below goes with it; what a stored
// configuration spells out is no mistake.
func TestConstantsOfAnotherOptimizerGo(t *testing.T) {
	below := "optimizer: {name: sgd, momentum: 0.5}"
	if c := configOf(t, below); c.Optimizer.Momentum != .5 {
		t.Errorf("momentum %v", c.Optimizer.Momentum)
	}
	if c := configOf(t, below, Setting{Path: "optimizer.name", Value: "adamw", Source: "--optimizer"}); c.Optimizer != optim.Default() {
		t.Errorf("got %+v", c.Optimizer)
	}
	if c := configOf(t, below, Setting{Path: "optimizer.name", Value: "rmsprop", Source: "--optimizer"}); c.Optimizer.Momentum != .5 {
		t.Errorf("rmsprop: momentum %v", c.Optimizer.Momentum)
	}
	configOf(t, "optimizer: {name: adamw, momentum: 0.9, alpha: 0.99}")
	configOf(t, "optimizer: {name: adamw, momentum: 0}")
}

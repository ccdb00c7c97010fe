package run

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func presets(t *testing.T) []Preset {
	t.Helper()
	all, err := Presets()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryPresetIsCompleteAndReadsBackAsPrinted(t *testing.T) {
	names := map[string]bool{}
	for _, p := range presets(t) {
		if names[p.Name] {
			t.Errorf("%s is there twice", p.Name)
		}
		names[p.Name] = true
		c, err := p.Config()
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		text, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if again := configOf(t, string(text), Setting{Path: "weights.path", Value: NoWeights}); !reflect.DeepEqual(again, c) {
			t.Errorf("%s: read back as\n%+v\nwant\n%+v", p.Name, again, c)
		}
		if own := strings.HasPrefix(p.Name, "own-"); own && len(p.Published) > 0 || own != strings.HasPrefix(p.Summary, "ours - ") {
			t.Errorf("%s, %q, has %d reported figures", p.Name, p.Summary, len(p.Published))
		}
		for _, f := range p.Published {
			last := 0.
			for _, k := range slices.Sorted(func(yield func(int) bool) {
				for k := range f.Recall {
					if !yield(k) {
						return
					}
				}
			}) {
				// A quarter of a point is how far the source's own columns are out of order.
				if v := f.Recall[k]; v < last-.25 || v > 100 {
					t.Errorf("%s: Recall@%d %v after %v", p.Name, k, v, last)
				} else {
					last = v
				}
			}
			if f.NMI > 1 || f.F1 > 1 {
				t.Errorf("%s: NMI %v, F1 %v, want shares", p.Name, f.NMI, f.F1)
			}
		}
	}
	for _, name := range []string{"brm-c-cub-512", "brm-r-cars-128", "brm-n-sop-512", "brm-proxy-cub", "brm-vit-n-cub", "proxy-anchor-cub", "proxy-anchor-resnet50-cars",
		"multi-similarity-cub", "soft-triple-cub", "avsl-cub", "avsl-cars", "avsl-sop", "ibc-cub", "ibc-cars", "ibc-sop", "sec-triplet-cub", "sec-semihard-cars", "sec-npair-sop", "sec-ms-cub", "vit-sphere-cub", "vit-hyperbolic-sop", "own-vit-cub", "own-dinov2-cub", "own-vit-lora-cub", "own-dinov2-lora-cub"} {
		if !names[name] {
			t.Errorf("there is no preset %s", name)
		}
	}
}

func TestAPresetWithoutItsWeightsIsRefused(t *testing.T) {
	s := &Settings{}
	if err := s.Add(Setting{Path: "preset", Value: "brm-n-cub-512"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Config(); err == nil || !strings.Contains(err.Error(), "bn_inception-52deb4733.pth") || !strings.Contains(err.Error(), "weights.path FILE") {
		t.Errorf("got %v", err)
	}
	if err := s.Add(Setting{Path: "model.backbone", Value: "convnet"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Config(); err != nil {
		t.Errorf("another backbone has other weights: %v", err)
	}
}

func TestAPresetThatIsNotCompleteIsRefused(t *testing.T) {
	const whole = `
source: s
weights: w
common:
  data: {augment: pa, validation: 0}
  model: {backbone: bninception, input: {size: 224, resize: 256}, pool: avg, dim: 8, head_norm: none, normalization: rows, scale: 1, metric: cosine}
  loss: {name: npairs}
  freeze: {bn_stats: true, bn_affine: true}
  optimizer: {name: adam, rate: 1e-4, decay: 0, head_rate: 1, proxy_rate: 1}
  schedule: {name: constant}
  sampler: random
  batch_size: 8
  epochs: 2
presets: [{name: a, summary: b, data: cub200}]
`
	if _, err := parsePresets("test.yaml", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for cut, want := range map[string]string{
		", decay: 0":        "optimizer.decay must be given",
		"  epochs: 2\n":     "epochs or steps",
		"  batch_size: 8\n": "size of a batch",
		"weights: w\n":      "weights and source",
		"{name: a, ":        "",
	} {
		text := strings.Replace(whole, cut, strings.Repeat("{", strings.Count(cut, "{")), 1)
		if _, err := parsePresets("test.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %q: got %v, want an error that says %q", cut, err, want)
		}
	}
	if _, err := parsePresets("test.yaml", []byte(strings.Replace(whole, "epochs: 2", "epoch: 2", 1))); err == nil || !strings.Contains(err.Error(), "did you mean epochs?") {
		t.Errorf("a mistyped key: %v", err)
	}
}

package model_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
)

// withLoRA is a model of a transformer in which LoRA changes weights by about their own size,
// and LayerScale lets the branches have an effect.
func withLoRA(t *testing.T, net string, size int) *model.Model {
	t.Helper()
	spec := features(t, net, size)
	spec.LoRA = layers.LoRA{Rank: 3, Alpha: 6}
	m := newModel(t, spec, 1)
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range m.Params.All() {
		if !strings.HasSuffix(p.Name, layers.LoRAB) && !strings.HasSuffix(p.Name, ".gamma") {
			continue
		}
		host := make([]float32, p.Value.Size())
		for i := range host {
			host[i] = .1 * float32(r.NormFloat64())
		}
		if err := m.Params.Engine().Write(p.Value, host); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// wantSameRows compares embeddings within 1e-5 of the largest number.
func wantSameRows(t *testing.T, what string, got, want []float32) {
	t.Helper()
	largest := 0.
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-5*largest) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// One of every family of transformers.
func TestAMergedModelIsTheModelWithLoRA(t *testing.T) {
	for _, c := range []struct {
		net  string
		size int
	}{{"vitt16", 32}, {"dinos16", 32}, {"dinov2s14", 28}, {"dinov2s14reg4", 28}, {"clipb32", 32}} {
		m := withLoRA(t, c.net, c.size)
		x := images(3, c.size)
		merged, err := m.Merged()
		if err != nil {
			t.Fatal(err)
		}
		wantSameRows(t, c.net, embed(t, merged, 3, x), embed(t, m, 3, x))
		for _, p := range merged.Params.All() {
			if p.Role == layers.LowRank {
				t.Errorf("%s: the merged model has %s", c.net, p.Name)
			}
		}
	}
}

// The file of a model with LoRA is that of one without, whose weights have what the matrices
// add.
func TestAModelFileHasWhatLoRAAdds(t *testing.T) {
	for net, size := range map[string]int{"vitt16": 32, "dinov2s14": 28} {
		m := withLoRA(t, net, size)
		x := images(3, size)
		want := embed(t, m, 3, x)
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := m.Save(path, nil); err != nil {
			t.Fatal(err)
		}
		whole, _, err := model.Load(path, m.Params.Engine())
		if err != nil {
			t.Fatal(err)
		}
		wantSameRows(t, net, embed(t, whole, 3, x), want)
		if whole.Spec.LoRA.Rank != 0 || strings.Contains(whole.Spec.String(), "lora") {
			t.Errorf("%s: the file's specification is %v", net, whole.Spec)
		}
		a, errA := m.Fingerprint()
		b, errB := whole.Fingerprint()
		if a != b || errA != nil || errB != nil {
			t.Errorf("%s: the file is another model: %v, %v", net, errA, errB)
		}
		var files [2][]byte
		for i, from := range []*model.Model{m, whole} {
			path := filepath.Join(t.TempDir(), "m.onnx")
			if err := from.WriteONNX(path, model.ONNXPreprocessed, nil); err != nil {
				t.Fatal(err)
			}
			if files[i], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Error("the ONNX file of the model with LoRA is not that of its merged file")
		}
		a, errA = m.TrunkDigest("blocks.3")
		b, errB = whole.TrunkDigest("blocks.3")
		if a != b || errA != nil || errB != nil {
			t.Errorf("the trunk's digest differs: %v, %v", errA, errB)
		}
	}
}

func TestLoRATrainsItsMatricesAndTheHeadAlone(t *testing.T) {
	m := withLoRA(t, "vitt16", 32)
	for _, headOnly := range []bool{false, true} {
		if err := m.Freeze(model.Freeze{}, headOnly); err != nil {
			t.Fatal(err)
		}
		matrices := 0
		for _, p := range m.Params.All() {
			want := p.Group == layers.Head || p.Role == layers.LowRank && !headOnly
			if p.Trainable() != want {
				t.Errorf("head only %v: %s is trained: %v", headOnly, p.Name, p.Trainable())
			}
			if p.Role == layers.LowRank {
				matrices++
				if p.Depth < 1 || p.Depth > 12 {
					t.Errorf("%s has depth %d", p.Name, p.Depth)
				}
			}
		}
		if matrices != 4*12 {
			t.Errorf("%d matrices, want 4 in each of 12 blocks", matrices)
		}
	}
	// A rank of 3 for queries, keys, values and projection each, of 192 numbers.
	if err := m.Freeze(model.Freeze{To: "blocks.10"}, false); err != nil {
		t.Fatal(err)
	}
	trained := 0
	for _, p := range m.Params.All() {
		if p.Role == layers.LowRank && p.Trainable() {
			trained += p.Value.Size()
		}
	}
	if want := 4 * 3 * (192 + 192); trained != want {
		t.Errorf("the last block trains %d numbers, want %d", trained, want)
	}
}

// Files of pre-trained weights know nothing of LoRA.
func TestWeightsAreReadIntoAModelWithLoRA(t *testing.T) {
	plain := newModel(t, features(t, "vitt16", 32), 7)
	path := filepath.Join(t.TempDir(), "plain.safetensors")
	if err := plain.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	spec := plain.Spec
	spec.LoRA.Rank = 4
	m := newModel(t, spec, 1)
	if _, err := m.LoadWeights(path, ""); err != nil {
		t.Fatal(err)
	}
	x := images(2, 32)
	wantSameRows(t, "before training", embed(t, m, 2, x), embed(t, plain, 2, x))
	if m.Size() != plain.Size() {
		t.Errorf("with LoRA %d numbers, without %d", m.Size(), plain.Size())
	}
}

func TestLoRAIsRefusedWhereItMakesNoSense(t *testing.T) {
	for _, c := range []struct {
		net  string
		lora layers.LoRA
		want string
	}{
		{"convnet", layers.LoRA{Rank: 8, Alpha: 16}, "LoRA of rank 8 changes the attention of transformers: backbone convnet has none"},
		{"vitt16", layers.LoRA{Rank: 193, Alpha: 16}, "the rank of LoRA is 193: tokens of backbone vitt16 have 192 numbers"},
		{"vitt16", layers.LoRA{Rank: -1}, "the rank of LoRA is -1"},
		{"vitt16", layers.LoRA{Alpha: 16}, "alpha 16 of LoRA needs a rank"},
		{"vitt16", layers.LoRA{Rank: 8, Alpha: -1}, "alpha of LoRA is -1"},
	} {
		spec, err := model.DefaultSpec(c.net)
		if err != nil {
			t.Fatal(err)
		}
		spec.LoRA = c.lora
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %+v: %v, want %q", c.net, c.lora, err, c.want)
		}
	}
	for _, name := range backbone.Names() { // whatever has tokens of a transformer has attention
		net, err := backbone.New(name)
		if err != nil {
			t.Fatal(err)
		}
		if width, ok := backbone.Attention(net); ok != (net.Tokens() && width > 0) {
			t.Errorf("%s: attention %v of %d numbers, tokens %v", name, ok, width, net.Tokens())
		}
	}
}

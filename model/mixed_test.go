package model_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/model"
)

// flowing is the small network with geometry flow.
func flowing(t *testing.T) model.Spec {
	s := small(t)
	s.Flow = "delta=2" // random images are all far from each other
	return s
}

func mixAll(t *testing.T, m *model.Model, x []float32) []float32 {
	t.Helper()
	e, err := m.NewMixedEmbedder("")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	out, err := e.Embed(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGeometryFlowMixesBatchesOnly(t *testing.T) {
	s := flowing(t)
	m, plain := newModel(t, s, 3), newModel(t, small(t), 3)
	const n = 6
	x := images(n, s.Input.Size)
	one := len(x) / n
	alone := embed(t, m, n, x)
	if !slices.Equal(alone, embed(t, plain, n, x)) {
		t.Error("embeddings of single images are not those without flow")
	}
	mixed := mixAll(t, m, x)
	if slices.Equal(mixed, alone) {
		t.Error("a batch is not mixed")
	}
	if got := mixAll(t, m, x[:one]); !slices.Equal(got, embed(t, m, 1, x[:one])) {
		t.Error("a batch of one is not as the image alone")
	}
	if _, err := plain.NewMixedEmbedder(""); err == nil || !strings.Contains(err.Error(), "no geometry flow") {
		t.Errorf("mixing without flow: %v", err)
	}
	e, err := plain.NewMixedEmbedder(s.Flow) // which it was not made with
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if got, err := e.Embed(nil, x); err != nil || !slices.Equal(got, mixed) {
		t.Errorf("flow given for the occasion mixes otherwise, %v", err)
	}
	if _, err := e.Embed(nil, x[:one+1]); err == nil {
		t.Error("a part of an image is embedded")
	}
}

func TestModelFileHoldsTheFlow(t *testing.T) {
	m := newModel(t, flowing(t), 3)
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	again, _, err := model.Load(path, m.Params.Engine())
	if err != nil {
		t.Fatal(err)
	}
	if again.Spec.Flow != m.Spec.Flow {
		t.Errorf("flow %q", again.Spec.Flow)
	}
	x := images(4, m.Spec.Input.Size)
	if !slices.Equal(mixAll(t, m, x), mixAll(t, again, x)) {
		t.Error("the model read back mixes otherwise")
	}
}

func TestFlowThatDoesNotFitIsRefused(t *testing.T) {
	vit := features(t, "vits16", 32)
	vit.Flow = "default"
	wrong, missing := flowing(t), flowing(t)
	wrong.Flow, missing.Flow = "lambda=x", "after=conv1"
	for says, s := range map[string]model.Spec{"convolutional networks": vit, "lambda=x": wrong, "there is: block1.conv": missing} {
		if _, err := model.New(newEngine(t), s, 1); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", s.Flow, err)
		}
	}
}

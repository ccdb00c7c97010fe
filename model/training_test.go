package model_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
)

// trainingPart adds what only training needs to a model: a layer and a batch normalization over
// its embeddings, and a learned number of a loss.
func trainingPart(t *testing.T, m *model.Model) {
	t.Helper()
	g := layers.NewGraph(m.Params.Engine(), m.Params)
	x := m.Forward(g, g.Input("images", m.InputShape(4)...), true)
	restore := g.In(layers.Training)
	y := g.LinearModule("training.part", x, 3)
	g.BatchNormModule("training.norm", y, 1e-5, .1, false)
	restore()
	restore = g.In(layers.Loss)
	g.Param("loss.boundary", layers.Bias, layers.Constant(1), 1)
	restore()
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
}

// wantSameFiles compares what two calls write.
func wantSameFiles(t *testing.T, what string, write func(path string, m *model.Model) error, a, b *model.Model) {
	t.Helper()
	var files [2][]byte
	for i, m := range []*model.Model{a, b} {
		path := filepath.Join(t.TempDir(), "file")
		if err := write(path, m); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var err error
		if files[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("%s: %d bytes with parts of training, %d without", what, len(files[1]), len(files[0]))
	}
}

func TestNothingOfTrainingLeavesWithAModel(t *testing.T) {
	for _, net := range []string{"convnet", "vitt16 with LoRA"} {
		make := func() *model.Model {
			if net == "convnet" {
				return newModel(t, small(t), 1)
			}
			return withLoRA(t, "vitt16", 32)
		}
		plain, trained := make(), make()
		trainingPart(t, trained)
		if n := len(trained.Params.All()) - len(plain.Params.All()); n != 7 {
			t.Fatalf("%s: %d parameters belong to training", net, n)
		}
		for what, write := range map[string]func(path string, m *model.Model) error{
			"model file": func(path string, m *model.Model) error { return m.Save(path, nil) },
			"NumPy":      func(path string, m *model.Model) error { return m.SaveNPZ(path) },
			"ONNX":       func(path string, m *model.Model) error { return m.WriteONNX(path, model.ONNXPreprocessed, nil) },
			"merged": func(path string, m *model.Model) error {
				merged, err := m.Merged()
				if err != nil {
					return err
				}
				return merged.Save(path, nil)
			},
		} {
			wantSameFiles(t, net+", "+what, write, plain, trained)
		}
		a, errA := plain.Fingerprint()
		b, errB := trained.Fingerprint()
		if a != b || errA != nil || errB != nil {
			t.Errorf("%s: fingerprints %q and %q, %v, %v", net, a, b, errA, errB)
		}
		if a, b := plain.Size(), trained.Size(); a != b {
			t.Errorf("%s: %d numbers with parts of training, want %d", net, b, a)
		}
		for _, p := range trained.Params.All() {
			if want := plain.Params.Get(p.Name) != nil; model.Owns(p) != want || p.Group.InModel() != want || !want && trained.Averaged(p) {
				t.Errorf("%s: %s of group %v: owned %v, averaged %v", net, p.Name, p.Group, model.Owns(p), trained.Averaged(p))
			}
		}
	}
}

// Weights from elsewhere neither have parts of training nor miss them.
func TestWeightsDoNotReachPartsOfTraining(t *testing.T) {
	plain, trained := newModel(t, small(t), 1), newModel(t, small(t), 2)
	trainingPart(t, trained)
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := plain.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	l, err := trained.LoadWeights(path, "")
	if err != nil || l.Filled != len(plain.Params.All()) || len(l.Kept) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestPartsOfTrainingAreNotFrozen(t *testing.T) {
	s := small(t)
	m := newModel(t, s, 1)
	trainingPart(t, m)
	for _, headOnly := range []bool{false, true} {
		if err := m.Freeze(model.Freeze{BNAffine: true, Params: []string{"embedding.*"}}, headOnly); err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params.All() {
			if !p.Group.InModel() && p.Frozen {
				t.Errorf("%s is frozen", p.Name)
			}
		}
	}
	if err := m.Freeze(model.Freeze{Params: []string{"training.*"}}, false); err == nil {
		t.Error("a pattern that names parts of training alone is accepted")
	}
	for _, name := range m.BatchStats() {
		if name == "training.norm" {
			t.Error("a normalization over embeddings counts as one before them")
		}
	}
}

package model_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/model"
)

// An embedding of several crops is the mean of what the head makes of each, brought to the
// length of an embedding afterwards.
func TestAnEmbeddingOfCropsIsNormalizedAfterTheMean(t *testing.T) {
	spec, err := model.DefaultSpec("convnet")
	if err != nil {
		t.Fatal(err)
	}
	spec.Input.Size, spec.Input.Resize, spec.Dim = 16, 20, 6
	spec.Input.Crops = 10
	eng := newEngine(t)
	crops, err := model.New(eng, spec, 3)
	if err != nil {
		t.Fatal(err)
	}
	spec.Input.Crops, spec.Normalization = 0, model.NormNone
	single, err := model.New(eng, spec, 3)
	if err != nil {
		t.Fatal(err)
	}
	const images, views = 5, 10
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, images*views*3*16*16)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	embed := func(m *model.Model) []float32 {
		e, err := m.NewEmbedder(2) // images do not fill the last batch
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		rows, err := e.Embed(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	got, raw := embed(crops), embed(single)
	if len(got) != images*spec.Dim || len(raw) != images*views*spec.Dim {
		t.Fatalf("%d and %d numbers", len(got), len(raw))
	}
	for i := range images {
		mean, square := make([]float64, spec.Dim), 0.
		for j := range mean {
			for v := range views {
				mean[j] += float64(raw[(i*views+v)*spec.Dim+j]) / views
			}
			square += mean[j] * mean[j]
		}
		for j, m := range mean {
			want := m / math.Sqrt(square) * spec.RowLength()
			if have := float64(got[i*spec.Dim+j]); math.Abs(have-want) > 1e-5 {
				t.Errorf("image %d, number %d: %v, want %v", i, j, have, want)
			}
		}
	}
	a, err := crops.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	crops.Spec.Input.Crops = 5
	if b, err := crops.Fingerprint(); err != nil || a == b {
		t.Errorf("models that look at 10 and at 5 crops have the same fingerprint, %v", err)
	}
}

func TestCropsNeedRoom(t *testing.T) {
	for want, change := range map[string]func(s *model.Spec){
		"evaluation on 3 crops: want 5, 10": func(s *model.Spec) { s.Input.Crops = 3 },
		"resize these to more than that, as to 256": func(s *model.Spec) {
			s.Input.Size, s.Input.Resize, s.Input.Crops = 224, 224, 5
		},
		"not for networks with geometry flow": func(s *model.Spec) { s.Input.Resize, s.Input.Crops, s.Flow = 40, 5, "default" },
	} {
		s, err := model.DefaultSpec("convnet")
		if err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

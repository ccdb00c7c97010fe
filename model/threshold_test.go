package model_test

import (
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/weights"
)

func TestAThresholdIsKeptInTheModelFileAndChangesNoFingerprint(t *testing.T) {
	eng := newEngine(t)
	m, err := model.New(eng, small(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	before, err := m.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Threshold{Distance: 0.125, Rule: "far=0.001", FAR: 0.0009, FRR: 0.25, Same: 12, Different: 34, Source: "validation classes", Identities: []string{"a", "U+00E9 é"}}
	m.Threshold = want
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path, map[string]string{"vernier.epoch": "3"}); err != nil {
		t.Fatal(err)
	}
	loaded, meta, err := model.Load(path, eng)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(loaded.Threshold, want) {
		t.Errorf("read %+v, want %+v", loaded.Threshold, want)
	}
	if after, err := loaded.Fingerprint(); err != nil || after != before {
		t.Errorf("the fingerprint changed from %s to %s: %v", before, after, err)
	}
	// What Load returned may be saved again, with another threshold or none.
	loaded.Threshold = nil
	if err := loaded.Save(path, meta); err != nil {
		t.Fatal(err)
	}
	if loaded, meta, err = model.Load(path, eng); err != nil || loaded.Threshold != nil || meta["vernier.epoch"] != "3" {
		t.Errorf("after removing it: %+v, %v, %v", loaded.Threshold, meta, err)
	}
	loaded.Threshold = &model.Threshold{Distance: math.NaN()}
	if err := loaded.Save(path, nil); err == nil || !strings.Contains(err.Error(), "not a finite distance") {
		t.Errorf("a threshold of NaN: %v", err)
	}
}

func TestFingerprintsTellModelsApart(t *testing.T) {
	eng := newEngine(t)
	seen := map[string]string{}
	for name, change := range map[string]func(*model.Spec, *uint64){
		"as it is":    func(*model.Spec, *uint64) {},
		"other seed":  func(_ *model.Spec, seed *uint64) { *seed = 2 },
		"other p":     func(s *model.Spec, _ *uint64) { s.Metric.P = 2 },
		"other scale": func(s *model.Spec, _ *uint64) { s.Scale = 2 },
	} {
		spec, seed := small(t), uint64(1)
		change(&spec, &seed)
		m, err := model.New(eng, spec, seed)
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[f]; ok {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		seen[f] = name
	}
}

func TestDamagedMetadataIsNamed(t *testing.T) {
	eng := newEngine(t)
	m, err := model.New(eng, small(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := m.Save(path, nil); err != nil {
		t.Fatal(err)
	}
	f, err := weights.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct{ key, text, says string }{
		{"vernier.threshold", "{", "vernier.threshold"},
		{"vernier.threshold", `{"distance":0.1,"far":2}`, "rates from 0 to 1"},
		{"vernier.shorter", "large", "want a number of pixels"},
		{"vernier.shorter", "0", "want a number of pixels"},
	} {
		meta := maps.Clone(f.Metadata())
		meta[c.key] = c.text
		bad := filepath.Join(t.TempDir(), "bad.safetensors")
		if err := weights.WriteChecked(bad, f.Tensors(), meta); err != nil {
			t.Fatal(err)
		}
		if _, _, err := model.Load(bad, eng); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "bad.safetensors") {
			t.Errorf("%s %s: %v", c.key, c.text, err)
		}
	}
}

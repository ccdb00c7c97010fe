package model_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/weights"
)

func newEngine(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

func small(t *testing.T) model.Spec {
	t.Helper()
	net, err := backbone.New("convnet")
	if err != nil {
		t.Fatal(err)
	}
	return model.Spec{
		Backbone: "convnet", Input: net.Preprocessing().WithSize(16), Pool: model.PoolAvgMax,
		HeadNorm: model.HeadNormNone, Head: model.HeadLinear, Dim: 7,
		Normalization: model.NormRows, Scale: 1.5, Metric: metric.Metric{Kind: metric.BRM, Restriction: metric.TanH, P: 1},
	}
}

func images(n, size int) []float32 {
	r := rand.New(rand.NewPCG(4, 2))
	x := make([]float32, n*3*size*size)
	for i := range x {
		x[i] = r.Float32()*2 - 1
	}
	return x
}

func embed(t *testing.T, m *model.Model, batch int, x []float32) []float32 {
	t.Helper()
	e, err := m.NewEmbedder(batch)
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

func TestAnEmbeddingDoesNotDependOnTheImagesBesideIt(t *testing.T) {
	m, err := model.New(newEngine(t), small(t), 3)
	if err != nil {
		t.Fatal(err)
	}
	x := images(5, 16)
	all := embed(t, m, 4, x) // a full batch and a part of one
	one := embed(t, m, 1, x)
	for i := range all {
		if math.Abs(float64(all[i]-one[i])) > 1e-5 {
			t.Fatalf("number %d: %v in a batch, %v alone", i, all[i], one[i])
		}
	}
}

// Rows of BRM have length c*sqrt(h).
func TestRowsHaveTheLengthThatTheSpecificationSays(t *testing.T) {
	spec := small(t)
	m, err := model.New(newEngine(t), spec, 3)
	if err != nil {
		t.Fatal(err)
	}
	row := embed(t, m, 1, images(1, 16))
	sum := 0.
	for _, v := range row {
		sum += float64(v) * float64(v)
	}
	if want := 1.5 * math.Sqrt(7); math.Abs(math.Sqrt(sum)-want) > 1e-5 || math.Abs(spec.RowLength()-want) > 1e-12 {
		t.Errorf("length %v, specification %v, want %v", math.Sqrt(sum), spec.RowLength(), want)
	}
}

// A scale that training changed is that of the model's file: one number is part of its
// specification, scales of coordinates are parameters. Either way the file gives the
// embeddings that the model gave, and has its fingerprint.
func TestAModelFileHasTheScaleThatWasLearned(t *testing.T) {
	for _, norm := range []model.Normalization{model.NormRows, model.NormCoordinates} {
		for scaling, log := range map[model.Scaling][]float32{
			model.ScaleLearn: {-.5}, "to:3": {1}, model.ScaleLearnEach: {-1, -.5, 0, .5, 1, .2, -.3},
		} {
			eng, spec := newEngine(t), small(t)
			spec.Normalization, spec.Scaling = norm, scaling
			m, err := model.New(eng, spec, 3)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := m.Scale(); err != nil || math.Abs(c-1.5) > 1e-6 {
				t.Errorf("%s: the scale starts at %v (%v), want 1.5", scaling, c, err)
			}
			if err := eng.Write(m.Params.Get("embedding.log_scale").Value, log); err != nil {
				t.Fatal(err)
			}
			squares := 0.
			for _, v := range log {
				squares += math.Exp(2 * float64(v))
			}
			c := math.Sqrt(squares / float64(len(log)))
			path := filepath.Join(t.TempDir(), "model.safetensors")
			if err := m.Save(path, nil); err != nil {
				t.Fatal(err)
			}
			back, _, err := model.Load(path, eng)
			if err != nil {
				t.Fatal(err)
			}
			if each := scaling == model.ScaleLearnEach; each != (back.Spec.Scaling == scaling) || each != (back.Params.Get("embedding.log_scale") != nil) || math.Abs(back.Spec.Scale-c) > 1e-6 {
				t.Errorf("%s: the file says scale %v, scaling %q, want %v", scaling, back.Spec.Scale, back.Spec.Scaling, c)
			}
			before, err := m.Fingerprint()
			if err != nil {
				t.Fatal(err)
			}
			if after, err := back.Fingerprint(); err != nil || after != before {
				t.Errorf("%s: fingerprint %s (%v), want %s", scaling, after, err, before)
			}
			x := images(3, 16)
			want, got := embed(t, m, 3, x), embed(t, back, 3, x)
			for i := range want {
				if math.Abs(float64(want[i]-got[i])) > 2e-6*math.Abs(float64(want[i])) {
					t.Fatalf("%s: number %d: %v before, %v after", scaling, i, want[i], got[i])
				}
			}
		}
	}
}

func TestScalesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]struct {
		c float64
		s model.Scaling
	}{"0.5": {.5, ""}, "learn": {1, "learn"}, "learn:0.25": {.25, "learn"}, "learn-each:2": {2, "learn-each"}, "0.1..1": {.1, "to:1"}} {
		if c, s, err := model.ParseScale(text); err != nil || c != want.c || s != want.s {
			t.Errorf("%q: %v, %q, %v", text, c, s, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "learn:", "learn:0", "each", "1..", "..1", "1..0", "to:2"} {
		if _, _, err := model.ParseScale(text); err == nil {
			t.Errorf("%q is no scale", text)
		}
	}
	s := model.Scaling("to:1")
	for epoch, want := range []float64{.01, .1, 1, 1} {
		if got := s.At(.01, epoch, 3); math.Abs(got-want) > 1e-12 {
			t.Errorf("epoch %d: scale %v, want %v", epoch, got, want)
		}
	}
}

func TestAModelFileHoldsEverything(t *testing.T) {
	eng := newEngine(t)
	m, err := model.New(eng, small(t), 3)
	if err != nil {
		t.Fatal(err)
	}
	// A parameter of a loss shares the set while training, but not the file.
	if _, err := m.Params.Add("loss.proxies", layers.Loss, layers.Proxy, layers.Constant(1), 2, 7); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	m.Shorter = 300
	if err := m.Save(path, map[string]string{"note": "hello"}); err != nil {
		t.Fatal(err)
	}
	back, meta, err := model.Load(path, eng)
	if err != nil {
		t.Fatal(err)
	}
	if back.Spec != m.Spec || back.Shorter != 300 || meta["note"] != "hello" {
		t.Errorf("got %v, %d and %v", back.Spec, back.Shorter, meta)
	}
	if back.Params.Get("loss.proxies") != nil {
		t.Error("the file holds the loss's proxies")
	}
	x := images(3, 16)
	want, got := embed(t, m, 3, x), embed(t, back, 3, x)
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("number %d: %v before, %v after", i, want[i], got[i])
		}
	}
	again := filepath.Join(t.TempDir(), "again.safetensors")
	if err := back.Save(again, map[string]string{"note": "hello"}); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(path)
	b, _ := os.ReadFile(again)
	if string(a) != string(b) {
		t.Error("saving what was loaded gives other bytes")
	}
}

func TestFilesThatAreNoModelAreRefused(t *testing.T) {
	eng := newEngine(t)
	dir := t.TempDir()
	m, err := model.New(eng, small(t), 3)
	if err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(dir, "good.safetensors")
	if err := m.Save(good, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.safetensors")
	tensor, err := weights.FromFloat32("w", []int{1}, []float32{1})
	if err != nil {
		t.Fatal(err)
	}
	if err := weights.WriteSafetensors(other, []*weights.Tensor{tensor}, nil); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short.safetensors")
	if err := os.WriteFile(short, whole[:len(whole)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	lacking := filepath.Join(dir, "lacking.safetensors")
	if err := weights.WriteSafetensors(lacking, []*weights.Tensor{tensor}, map[string]string{"vernier.model": m.Spec.String()}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing.safetensors"): "missing.safetensors",
		other:   "no Vernier model",
		short:   "short.safetensors",
		lacking: "embedding.weight",
	} {
		if _, _, err := model.Load(path, eng); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error that says %q", filepath.Base(path), err, want)
		}
	}
}

func TestASpecificationOutOfRangeIsNamed(t *testing.T) {
	for want, change := range map[string]func(*model.Spec){
		"convnet":       func(s *model.Spec) { s.Backbone = "vgg" },
		"input size":    func(s *model.Spec) { s.Input.Size = 0 },
		"avg+max":       func(s *model.Spec) { s.Pool = "sum" },
		"rows":          func(s *model.Spec) { s.Normalization = "l3" },
		"scale":         func(s *model.Spec) { s.Scale = math.NaN() },
		"dimension":     func(s *model.Spec) { s.Dim = -1 },
		"deviation":     func(s *model.Spec) { s.Input.Std[1] = 0 },
		"resizing to 8": func(s *model.Spec) { s.Input.Resize = 8 },
	} {
		s := small(t)
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}

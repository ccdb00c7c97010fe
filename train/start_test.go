package train

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// silent is Events for tests.
type silent struct{}

func (silent) Say(string, ...any)                {}
func (silent) Warn(string, ...any)               {}
func (silent) Progress(string, int, int, string) {}

// listening keeps what it receives, and of progress the details.
type listening struct{ said, warnings, details []string }

func (l *listening) Say(format string, a ...any) { l.said = append(l.said, fmt.Sprintf(format, a...)) }

func (l *listening) Warn(format string, a ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, a...))
}

func (l *listening) Progress(_ string, _, _ int, detail string) {
	l.details = append(l.details, detail)
}

// shades writes a folder of classes, each a shade of gray with a few pixels of
// another.
func shades(t *testing.T, classes, images int) string {
	t.Helper()
	root := t.TempDir()
	for c := range classes {
		dir := filepath.Join(root, fmt.Sprintf("class %d", c))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range images {
			img := image.NewGray(image.Rect(0, 0, 16, 16))
			for p := range img.Pix {
				img.Pix[p] = uint8(20 * c)
			}
			img.SetGray(i, 15-i, color.Gray{Y: 255})
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.png", i)))
			if err != nil {
				t.Fatal(err)
			}
			if err := png.Encode(f, img); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func smallConfig(t *testing.T, data string) run.Config {
	t.Helper()
	c := run.Default("folder:" + data)
	c.Data.Augment, c.Data.Validation = "none", 0
	c.Model.Input = c.Model.Input.WithSize(16)
	c.Model.Dim = 8
	c.Loss.Name = "proxy-anchor"
	c.Epochs, c.WarmupEpochs, c.ClassesPerBatch, c.ImagesPerClass = 3, 1, 3, 2
	return c
}

func newTestEngine(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

// all reads every tensor that a checkpoint has.
func all(t *testing.T, s *Session) map[string][]float32 {
	t.Helper()
	out := map[string][]float32{}
	for _, x := range s.keeper.tensors() {
		host := make([]float32, x.Value.Size())
		if err := s.model.Params.Engine().Read(host, x.Value); err != nil {
			t.Fatal(err)
		}
		out[x.Name] = host
	}
	return out
}

func begin(t *testing.T, c run.Config) *Session {
	t.Helper()
	s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func epoch(t *testing.T, s *Session) {
	t.Helper()
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
	if err := s.epoch(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// moved lists the parameters that differ between two states.
func moved(ps *layers.Params, before, after map[string][]float32) (names []string) {
	for _, p := range ps.All() {
		if !slices.Equal(before[p.Name], after[p.Name]) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Decay is large, so that a parameter that is frozen but decayed would show.
func TestTheWarmUpTrainsHeadAndProxiesAndThenAllThatIsNotFrozen(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Optimizer.Decay, c.Optimizer.DecayBias, c.Optimizer.DecayNorm = .5, true, true
	c.Freeze = model.Freeze{BNStats: true, BNAffine: true, Params: []string{"block2.conv.*"}}
	s := begin(t, c)
	start := all(t, s)
	epoch(t, s)
	warm := all(t, s)
	if got, want := moved(s.model.Params, start, warm), []string{"embedding.weight", "embedding.bias", losses.ClassRowsParam}; !slices.Equal(got, want) {
		t.Errorf("the warm-up moved %q, want %q", got, want)
	}
	epoch(t, s)
	got := moved(s.model.Params, warm, all(t, s))
	want := []string{"block1.conv.weight", "block3.conv.weight", "block4.conv.weight", "embedding.weight", "embedding.bias", losses.ClassRowsParam}
	if !slices.Equal(got, want) {
		t.Errorf("after it moved %q, want %q", got, want)
	}
}

// A run is stopped at the end of the warm-up, and after it, and resumed.
func TestARunResumesAcrossTheEndOfTheWarmUp(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	s := begin(t, c)
	for range c.Epochs {
		epoch(t, s)
	}
	want := all(t, s)
	for stop := 1; stop < c.Epochs; stop++ {
		s := begin(t, c)
		for range stop {
			epoch(t, s)
		}
		s.keeper.unlock()
		r, err := Resume(context.Background(), s.folder, newTestEngine(t), s.opt)
		if err != nil {
			t.Fatalf("after epoch %d: %v", stop, err)
		}
		defer r.Close()
		if err := r.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		got := all(t, r)
		if len(got) != len(want) {
			t.Errorf("after epoch %d: %d tensors, want %d", stop, len(got), len(want))
		}
		for name, v := range want {
			if !slices.Equal(got[name], v) {
				t.Errorf("after epoch %d: %s differs", stop, name)
			}
		}
	}
}

func TestARunThatStartsFromWeightsSaysWhichAndMeasuresThemAsUntrained(t *testing.T) {
	data := shades(t, 8, 4)
	c := smallConfig(t, data)
	first := begin(t, c)
	epoch(t, first)
	c.Weights.Path = first.folder.Path(run.LastFile)
	c.Seed = 9 // other weights, if they were drawn
	s := begin(t, c)
	if got, want := all(t, s)["block1.conv.weight"], all(t, first)["block1.conv.weight"]; !slices.Equal(got, want) {
		t.Error("the weights are not those of the file")
	}
	stored, err := s.folder.LoadConfig()
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Weights.SHA256) != 64 || stored.Weights.Path != c.Weights.Path {
		t.Errorf("the configuration says %+v", stored.Weights)
	}
	eng := newTestEngine(t)
	m, l, err := stored.InitialModel(eng)
	if err != nil || l == nil {
		t.Fatalf("%v, %v", l, err)
	}
	w := make([]float32, m.Params.Get("embedding.weight").Value.Size())
	if err := eng.Read(w, m.Params.Get("embedding.weight").Value); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w, all(t, s)["embedding.weight"]) {
		t.Error("the network before training is another one")
	}
	epoch(t, first) // replaces the file
	if _, _, err := stored.InitialModel(eng); err == nil || !strings.Contains(err.Error(), "no longer the file") {
		t.Errorf("another file under the same name: %v", err)
	}
}

func TestARunFromWeightsThatDoNotFitLeavesAnEarlierRunAlone(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	s := begin(t, c)
	before, err := os.ReadFile(s.folder.Path(run.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	c.Weights.Path = s.folder.Path(run.LastFile)
	c.Model.Dim = 9
	if _, err := Start(context.Background(), c, s.folder, newTestEngine(t), s.opt); err == nil || !strings.Contains(err.Error(), "embedding.weight") {
		t.Fatalf("a head of another size: %v", err)
	}
	after, err := os.ReadFile(s.folder.Path(run.CheckpointFile))
	if err != nil || !slices.Equal(before, after) {
		t.Errorf("the earlier run's checkpoint changed: %v", err)
	}
}

func TestNothingToTrainIsAnError(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Loss.Name, c.WarmupEpochs = "npairs", 0
	c.Freeze = model.Freeze{BNStats: true, Params: []string{"*"}}
	_, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: silent{}})
	if err == nil || !strings.Contains(err.Error(), "nothing to train") {
		t.Errorf("everything is frozen: %v", err)
	}
	c.Freeze, c.WarmupEpochs = model.Freeze{}, c.Epochs
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "warm-up") {
		t.Errorf("nothing but warm-up: %v", err)
	}
}

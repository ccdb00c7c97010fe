package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

func resume(t *testing.T, s *Session) (*Session, error) {
	t.Helper()
	return Resume(context.Background(), s.folder, newTestEngine(t), s.opt)
}

func TestTwoProcessesDoNotWorkInOneFolder(t *testing.T) {
	s := begin(t, smallConfig(t, shades(t, 8, 4)))
	if _, err := resume(t, s); !errors.Is(err, run.ErrBusy) {
		t.Errorf("got %v, want %v", err, run.ErrBusy)
	}
	// Nor does a new run take a folder from one that is at work in it.
	if _, err := Start(context.Background(), s.cfg, s.folder, newTestEngine(t), s.opt); !errors.Is(err, run.ErrBusy) {
		t.Errorf("a new run: got %v, want %v", err, run.ErrBusy)
	}
	for _, name := range []string{run.ConfigFile, run.CheckpointFile, run.LastFile, ".lock"} {
		if _, err := os.Stat(s.folder.Path(name)); err != nil {
			t.Errorf("the run at work lost a file: %v", err)
		}
	}
	s.keeper.unlock() // as if the process had ended
	r, err := resume(t, s)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}

func TestARunDoesNotGoOnWithOtherImages(t *testing.T) {
	images := shades(t, 8, 4)
	s := begin(t, smallConfig(t, images))
	s.keeper.unlock()
	files, err := filepath.Glob(filepath.Join(images, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(t, s); err == nil || !strings.Contains(err.Error(), "not those that the run began with") {
		t.Errorf("an image went: got %v", err)
	}
}

// What a loss and its terms own, and the memory of earlier batches, continues too.
func TestWhatALossOwnsGoesOnWithARun(t *testing.T) {
	for name, change := range map[string]func(*run.LossConfig){
		"margin":           func(l *run.LossConfig) { l.Params = map[string]string{"learn": "class"} },
		"multi-similarity": func(l *run.LossConfig) { l.Memory, l.MemoryStart = 12, 1 },
		"soft-triple": func(l *run.LossConfig) {
			l.Terms = []run.TermConfig{{Name: "sec", Params: map[string]string{"momentum": "0.5"}}}
		},
		"triplet":                func(l *run.LossConfig) { l.Params = map[string]string{"mining": "uniform"} },
		"pairwise-cross-entropy": func(l *run.LossConfig) {},
		"contrastive":            func(l *run.LossConfig) { l.Terms = []run.TermConfig{{Name: "mdr"}, {Name: "nasa"}} }, // see below
		"cosface":                func(l *run.LossConfig) { l.Terms = []run.TermConfig{{Name: "jrd"}} },
	} {
		c := smallConfig(t, shades(t, 8, 4))
		c.WarmupEpochs, c.Loss = 0, run.LossConfig{Name: name}
		change(&c.Loss)
		if name == "contrastive" {
			c.Model.Metric, c.Model.Normalization = metric.Metric{Kind: metric.Euclidean}, model.NormDistance
		}
		straight, r := resumedInTheMiddle(t, name, c)
		if a, b := straight.state.History, r.state.History; len(a) != len(b) || a[2].Loss != b[2].Loss {
			t.Errorf("%s: history %+v, want %+v", name, b, a)
		}
	}
}

// resumedInTheMiddle trains as c says, once without a stop and once stopped in the middle
// of the second epoch and resumed, and compares what they end with to the bit.
func resumedInTheMiddle(t *testing.T, name string, c run.Config) (straight, resumed *Session) {
	t.Helper()
	straight, stopped := begin(t, c), begin(t, c)
	if err := straight.Train(context.Background()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	epoch(t, stopped)
	ctx, stop := context.WithCancel(context.Background())
	stopped.ev = halting{stop: stop}
	if err := stopped.Train(ctx); !errors.Is(err, context.Canceled) || stopped.state.Position.Epoch != 1 {
		t.Fatalf("%s: %v at %+v", name, err, stopped.state.Position)
	}
	stopped.Close()
	resumed, err := resume(t, stopped)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { resumed.Close() })
	if err := resumed.Train(context.Background()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want, got := all(t, straight), all(t, resumed)
	for tensor := range want {
		if !slices.Equal(want[tensor], got[tensor]) {
			t.Errorf("%s: %s differs", name, tensor)
		}
	}
	return straight, resumed
}

// halting ends a run at its first sign of progress.
type halting struct {
	silent
	stop func()
}

func (s halting) Progress(string, int, int, string) { s.stop() }

func TestADamagedCheckpointIsNoticed(t *testing.T) {
	s := begin(t, smallConfig(t, shades(t, 8, 4)))
	s.keeper.unlock()
	path := s.folder.Path(run.CheckpointFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-5] ^= 0x10
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := resume(t, s); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
}

func TestAFewClassesGiveASmallerBatchAndNoValidation(t *testing.T) {
	c := smallConfig(t, shades(t, 6, 4)) // three for training
	c.Data.Validation, c.ClassesPerBatch = .3, 24
	s := begin(t, c)
	if s.sets.Validation != nil || s.cfg.ClassesPerBatch != 3 {
		t.Errorf("validation %v, %d classes a batch, want none and 3", s.sets.Validation, s.cfg.ClassesPerBatch)
	}
	stored, err := s.folder.LoadConfig()
	if err != nil || stored.ClassesPerBatch != 3 {
		t.Errorf("the stored configuration has %d classes a batch, %v", stored.ClassesPerBatch, err)
	}
}

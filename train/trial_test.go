package train

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/run"
)

// flowSettings are those of a small run with geometry flow.
func flowSettings(t *testing.T, images string, more ...run.Setting) *run.Settings {
	t.Helper()
	s := &run.Settings{}
	base := []run.Setting{
		{Path: "data.spec", Value: "folder:" + images}, {Path: "data.augment", Value: "none"}, {Path: "data.validation", Value: 0},
		{Path: "model.input.size", Value: 16}, {Path: "model.dim", Value: 8}, {Path: "model.flow", Value: "delta=1.5"},
		{Path: "loss.name", Value: "triplet"}, {Path: "epochs", Value: 2}, {Path: "classes_per_batch", Value: 3}, {Path: "images_per_class", Value: 2},
		{Path: "run.eval_every", Value: 1},
	}
	if err := s.Add(base...); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(more...); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTrialIsMadeOnceAndKept(t *testing.T) {
	images := shades(t, 8, 5)
	folder := run.Folder(t.TempDir() + "/run")
	eng := newTestEngine(t)
	opt := Options{Workers: 1, Events: silent{}}
	made, err := RunTrial(context.Background(), folder, flowSettings(t, images), eng, 2, opt)
	if err != nil {
		t.Fatal(err)
	}
	if made.Epoch != 2 || made.StepSeconds <= 0 || made.Alone.Queries != 20 || made.Alone.Clustering.Restarts != 2 {
		t.Errorf("%+v", made)
	}
	m := made.Mixed
	if m == nil || m.Batch != 6 || m.Flow != made.Config.Model.Flow || !strings.Contains(m.Flow, "delta=1.5,distance=mean") {
		t.Fatalf("mixed: %+v", m)
	}
	if m.Shuffled.Split != "test classes, in shuffled batches of 6 through geometry flow" || m.ClassSorted.Split != "test classes, in class-sorted batches of 6 through geometry flow" || made.Alone.Split != "test classes" {
		t.Errorf("splits %q, %q, %q", m.Shuffled.Split, m.ClassSorted.Split, made.Alone.Split)
	}
	if reflect.DeepEqual(m.Shuffled.Geometry, made.Alone.Geometry) || reflect.DeepEqual(m.Shuffled.Geometry, m.ClassSorted.Geometry) {
		t.Error("mixing changes nothing")
	}
	if len(made.Curve) != 2 || made.Curve[1].Steps != 6 || made.Curve[1].Shuffled == nil {
		t.Errorf("curve %+v", made.Curve)
	}
	if last := made.Curve[1].Alone.Recall1; last != percentAt1(t, made.Alone) {
		t.Errorf("the last point of the curve is %v, the result %v", last, percentAt1(t, made.Alone))
	}
	before, err := os.Stat(folder.Path(run.LastFile))
	if err != nil {
		t.Fatal(err)
	}
	again, err := RunTrial(context.Background(), folder, flowSettings(t, images), eng, 2, opt)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(folder.Path(run.LastFile)); err != nil || after.ModTime() != before.ModTime() || !reflect.DeepEqual(again.Mixed, made.Mixed) {
		t.Errorf("a run that was done is made again, %v", err)
	}
	_, err = RunTrial(context.Background(), folder, flowSettings(t, images, run.Setting{Path: "model.flow", Value: "lambda=0.3"}), eng, 2, opt)
	if err == nil || !strings.Contains(err.Error(), "holds a run with other settings") || !strings.Contains(err.Error(), "model.flow") {
		t.Errorf("other settings: %v", err)
	}
}

func percentAt1(t *testing.T, f *eval.Figures) float64 {
	t.Helper()
	v, ok := f.RecallAt(1)
	if !ok {
		t.Fatal("no Recall@1")
	}
	return v
}

// stopper ends a run during its second epoch.
type stopper struct {
	silent
	stop context.CancelFunc
}

func (s stopper) Progress(task string, done, _ int, _ string) {
	if strings.HasPrefix(task, "epoch 2/") && done == 2 {
		s.stop()
	}
}

func TestInterruptedTrialGoesOnAsIfNothingHadHappened(t *testing.T) {
	images := shades(t, 8, 5)
	eng := newTestEngine(t)
	whole, err := RunTrial(context.Background(), run.Folder(t.TempDir()+"/run"), flowSettings(t, images), eng, 2, Options{Workers: 1, Events: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	folder := run.Folder(t.TempDir() + "/run")
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := RunTrial(ctx, folder, flowSettings(t, images), eng, 2, Options{Workers: 1, Events: stopper{stop: cancel}}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	rest, err := RunTrial(context.Background(), folder, flowSettings(t, images), eng, 2, Options{Workers: 1, Events: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(rest.Alone, whole.Alone) || !reflect.DeepEqual(rest.Mixed, whole.Mixed) || !slices.EqualFunc(rest.Curve, whole.Curve, func(a, b CurvePoint) bool { return reflect.DeepEqual(a, b) }) {
		t.Error("an interrupted trial comes to other figures")
	}
}

func TestFlowNeedsTheWholeBatch(t *testing.T) {
	s := flowSettings(t, "x", run.Setting{Path: "micro_batch", Value: 3})
	if _, err := s.Config(); err == nil || !strings.Contains(err.Error(), "mixes those of a whole batch, 6") {
		t.Errorf("got %v", err)
	}
}

func TestAnotherScheduleOrLengthReplacesThatOfAPreset(t *testing.T) {
	s := &run.Settings{}
	if err := s.Add(run.Setting{Path: "preset", Value: "drml-triplet-drml-cub"}, run.Setting{Path: "weights.path", Value: run.NoWeights}, run.Setting{Path: "schedule.name", Value: "cosine"}, run.Setting{Path: "epochs", Value: 7}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Config()
	if err != nil {
		t.Fatal(err)
	}
	if c.Steps != 0 || c.Epochs != 7 || len(c.Schedule.Milestones) != 0 || c.Batch() != 60 {
		t.Errorf("%+v", c)
	}
}

func TestFrozenOutputsAreNotKeptBesideFlow(t *testing.T) {
	s := flowSettings(t, "x", run.Setting{Path: "data.cache_frozen", Value: "fp16"}, run.Setting{Path: "freeze.to", Value: "block1"})
	if _, err := s.Config(); err == nil || !strings.Contains(err.Error(), "beside geometry flow") {
		t.Errorf("got %v", err)
	}
}

package train

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
)

// viewsConfig trains on the images of a folder without their labels.
func viewsConfig(t *testing.T, data string) run.Config {
	t.Helper()
	c := smallConfig(t, data)
	c.Data.Labels, c.Data.Views, c.Data.Augment = run.NoLabels, 2, "byol"
	c.Loss.Name = "ntxent"
	c.WarmupEpochs, c.ClassesPerBatch, c.ImagesPerClass = 0, 8, 2
	return c
}

// flat moves the images of a folder of classes into one without any.
func flat(t *testing.T, root string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*", "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, p := range paths {
		if err := os.Rename(p, filepath.Join(dir, fmt.Sprintf("%02d.png", i))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Training without labels sees no label: the same images with others give the same bytes.
// Labels are for measuring, on classes as with labels.
func TestTrainingWithoutLabelsSeesNone(t *testing.T) {
	c := viewsConfig(t, shades(t, 8, 5))
	s := begin(t, c)
	if n := len(s.sets.Train.Items); n != 20 || len(s.sets.Train.Classes) != n {
		t.Fatalf("%d images of %d classes, want 20 of their own", n, len(s.sets.Train.Classes))
	}
	if len(s.sets.Test.Classes) != 4 {
		t.Errorf("%d test classes, want the set's 4", len(s.sets.Test.Classes))
	}
	if s.sampler.Batches() != 3 {
		t.Errorf("%d batches an epoch, want 3 of 8 images of 20", s.sampler.Batches())
	}
	trainAll(t, s)
	want := all(t, s)
	r, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Model.Classes != 4 || r.Model.Queries != 20 {
		t.Errorf("measured on %d images of %d classes", r.Model.Queries, r.Model.Classes)
	}
	relabeled := begin(t, c)
	for i := range relabeled.sets.Train.Items {
		if relabeled.sets.Train.Items[i].Label != i {
			t.Fatalf("item %d has label %d", i, relabeled.sets.Train.Items[i].Label)
		}
	}
	trainAll(t, relabeled)
	for name, x := range all(t, relabeled) {
		if !slices.Equal(x, want[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// Of images without classes some are held out, whose views are to find each other.
func TestImagesWithoutClassesAreMeasuredByTheirViews(t *testing.T) {
	c := viewsConfig(t, flat(t, shades(t, 8, 5)))
	c.Data.Validation, c.Run.EvalEvery = .1, 1
	l := &listening{}
	s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: l})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.sets.Validation != nil || len(s.sets.Train.Items) != 36 || len(s.sets.Test.Items) != 8 || len(s.sets.Test.Classes) != 4 {
		t.Errorf("%d images for training, %d views of %d to test on", len(s.sets.Train.Items), len(s.sets.Test.Items), len(s.sets.Test.Classes))
	}
	if len(l.warnings) > 0 || !strings.Contains(strings.Join(l.said, "\n"), "has no classes: 4 images are held out") {
		t.Errorf("said %q, warned %q", l.said, l.warnings)
	}
	trainAll(t, s)
	if h := s.state.History; h[2].Test == nil || s.state.BestEpoch != 3 {
		t.Errorf("history %+v, best %d", h, s.state.BestEpoch)
	}
	r, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Model.Classes != 4 || r.Model.Queries != 8 || r.Model.Split != "views of images that were held out" {
		t.Errorf("measured on %d views of %d images, %s", r.Model.Queries, r.Model.Classes, r.Model.Split)
	}
	c.Data.Labels, c.Data.Views, c.Data.Augment = "", 0, "none"
	_, err = Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: silent{}})
	if err == nil || !strings.Contains(err.Error(), "its 40 images are in no folders of classes: data.labels none trains without labels") {
		t.Errorf("with labels: %v", err)
	}
}

// A run on views that is stopped in the middle of an epoch goes on to the same bytes.
func TestARunWithoutLabelsGoesOnAsIfItHadNeverStopped(t *testing.T) {
	c := viewsConfig(t, shades(t, 8, 5))
	resumedInTheMiddle(t, "views", c)
}

// Ranks draw the views that one process draws.
func TestRanksTrainOnTheSameViews(t *testing.T) {
	c := ranksConfig(t)
	c.Data.Labels, c.Data.Views, c.Data.Augment = run.NoLabels, 2, "byol"
	c.Loss.Name, c.ClassesPerBatch, c.ImagesPerClass, c.WarmupEpochs, c.Steps = "ntxent", 8, 2, 0, 8
	alone := begin(t, c)
	trainAll(t, alone)
	ranksTrainTheSame(t, c, bytesOf(t, alone.folder), 2, 4)
}

// Views of rows differ by dropout, and a run on them goes on as one that never stopped.
func TestRowsWithoutLabelsDifferByDropout(t *testing.T) {
	c := featureConfig(t)
	c.Data.Labels, c.Data.Views, c.Data.Validation = run.NoLabels, 2, 0
	c.Loss.Name, c.ClassesPerBatch = "ntxent", 8
	s := begin(t, c)
	if n := len(s.sets.Train.Classes); n != len(s.sets.Train.Items) {
		t.Errorf("%d classes of %d rows", n, len(s.sets.Train.Items))
	}
	b := firstBatch(t, s)
	if err := s.stepper.net.loss.SetLabels(b.Labels); err != nil {
		t.Fatal(err)
	}
	if _, err := s.stepper.net.run(b); err != nil {
		t.Fatal(err)
	}
	x, err := s.stepper.latest()
	if err != nil {
		t.Fatal(err)
	}
	width, h := len(b.Images)/len(b.Items), s.model.Spec.Dim
	for i := 0; i < len(b.Items); i += 2 {
		if !slices.Equal(b.Images[i*width:(i+1)*width], b.Images[(i+1)*width:(i+2)*width]) {
			t.Errorf("the views of row %d are not the row", b.Items[i])
		}
		if slices.Equal(x[i*h:(i+1)*h], x[(i+1)*h:(i+2)*h]) {
			t.Errorf("the views of row %d have one embedding", b.Items[i])
		}
	}
	resumedInTheMiddle(t, "rows", c)
	c.Model.Dropout = 0
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "dropout makes them differ") {
		t.Errorf("got %v", err)
	}
}

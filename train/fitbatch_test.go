package train

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/run"
)

// refused is the error of a run that does not begin, and leaves nothing behind.
func refused(t *testing.T, c run.Config) error {
	t.Helper()
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	s, err := Start(context.Background(), c, folder, newTestEngine(t), Options{Workers: 1, Events: silent{}})
	if err == nil {
		s.Close()
		t.Fatal("the run began")
	}
	if _, err := os.Stat(string(folder)); err == nil {
		t.Error("a folder was made")
	}
	return err
}

func TestATestSetThatCanShowNothingIsRefusedBeforeTraining(t *testing.T) {
	c := smallConfig(t, shades(t, 6, 4))
	c.Data.TrainClasses = "5"
	err := refused(t, c)
	for _, want := range []string{"training on 5: 1 class (\"", "data.train_classes"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("one class: %q does not say %q", err, want)
		}
	}
	single := shades(t, 6, 4)
	files, err := filepath.Glob(filepath.Join(single, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, file := range files { // the classes by name, and the first three are for training
		class := filepath.Dir(file)
		if seen[class]++; seen[class] > 1 && len(seen) > 3 {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = refused(t, smallConfig(t, single))
	for _, want := range []string{"each of the 3 test classes has one image", "data.train_classes"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("single images: %q does not say %q", err, want)
		}
	}
}

func TestABatchTakesNoMoreImagesOfAClassThanThereAre(t *testing.T) {
	for asked, want := range map[int]int{1000: 4, 5: 4, 4: 4, 3: 3} {
		c := smallConfig(t, shades(t, 8, 4))
		c.ImagesPerClass = asked
		s := begin(t, c)
		stored, err := s.folder.LoadConfig()
		if err != nil || s.cfg.ImagesPerClass != want || stored.ImagesPerClass != want {
			t.Errorf("asked for %d: %d, stored %d, %v, want %d", asked, s.cfg.ImagesPerClass, stored.ImagesPerClass, err, want)
		}
	}
	// A single image comes twice, varied in two ways.
	c := smallConfig(t, shades(t, 8, 4))
	c.ImagesPerClass = 2
	s := begin(t, c)
	s.sets.Train = s.sets.Train.Select("single", []int{0, 4, 8})
	if err := s.fitBatch(); err != nil || s.cfg.ImagesPerClass != 2 {
		t.Errorf("single images: %d of a class, %v", s.cfg.ImagesPerClass, err)
	}
}

func TestAWarmupThatIsNeverOverIsSaid(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.WarmupEpochs, c.Epochs, c.Steps = 0, 1, 9
	for steps, said := range map[int]bool{99: true, 9: true, 8: false, 0: false} {
		c.Schedule.Warmup = steps
		_, l := heard(t, c)
		if says(l.warnings, "(schedule.warmup)") != said {
			t.Errorf("warm-up of %d steps of 9: said %q", steps, l.warnings)
		}
		if steps == 99 && !says(l.warnings, "rises over 99 steps (schedule.warmup), and the run has 9: it ends at 0.09 times") {
			t.Errorf("said %q", l.warnings)
		}
	}
}

func TestFewValidationClassesAreWarnedOf(t *testing.T) {
	for classes, want := range map[int]string{2: "only 2 classes choose the best epoch", 9: "only 9 classes choose the best epoch", 10: ""} {
		l := &listening{}
		s := newSession(run.Config{}, "", Options{Events: l})
		s.sets.Validation = &data.Set{Classes: make([]string, classes)}
		s.checkValidation()
		if got := strings.Join(l.warnings, "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d classes: said %q, want %q", classes, got, want)
		}
	}
}

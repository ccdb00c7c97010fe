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

// markedConfig trains on pairs alone. The images are those of a folder of classes, and lie
// in one without: number i is of class i/images.
func markedConfig(t *testing.T, classes, images int) (c run.Config, dir string) {
	t.Helper()
	dir = flat(t, shades(t, classes, images))
	c = viewsConfig(t, dir)
	c.Data.Augment, c.Data.Views = "flip", 2
	c.Pairs = run.PairsConfig{File: filepath.Join(t.TempDir(), "pairs.csv"), PerBatch: 8, Triplet: 1}
	var text strings.Builder
	text.WriteString("a,b,same\r\n")
	for i := range images {
		for _, by := range []int{1, images} {
			other := (i + by) % (classes * images)
			fmt.Fprintf(&text, "%02d.png,\"%s\",%d\r\n", i, filepath.Join(dir, fmt.Sprintf("%02d.png", other)), map[bool]int{true: 1}[i/images == other/images])
		}
	}
	write(t, c.Pairs.File, text.String())
	return c, dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Pairs that are the same come nearer to each other than those that differ, of images that
// no pair is of as well.
func TestPairsAreTrainedOn(t *testing.T) {
	c, _ := markedConfig(t, 4, 20)
	c.Steps, c.Optimizer.Rate = 40, 3e-3
	l := &listening{}
	s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: l})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want := "40 pairs of 40 images, 19 the same and 21 different"; !says(l.said, want) {
		t.Errorf("said %q, want %q", l.said, want)
	}
	if n := s.cfg.Batch(); n != 16 || s.sampler.Batches() != 5 {
		t.Errorf("batches of %d images, %d an epoch; want 16 and 5", n, s.sampler.Batches())
	}
	// Images of pairs are never held out, others are.
	for _, it := range s.sets.Test.Items {
		if it.Path <= "40.png" {
			t.Errorf("%s is of a pair and held out", it.Path)
		}
	}
	if len(s.sets.Test.Classes) == 0 || len(s.sets.Train.Items)+len(s.sets.Test.Classes) != 80 {
		t.Errorf("%d images for training, %d held out, of 80", len(s.sets.Train.Items), len(s.sets.Test.Classes))
	}
	trainAll(t, s)
	first, last := s.state.History[0], s.state.History[len(s.state.History)-1]
	if !(last.Loss < first.Loss/2) {
		t.Errorf("the loss went from %v to %v", first.Loss, last.Loss)
	}
	held := len(s.sets.Test.Classes)
	r, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Model.Classes != held {
		t.Errorf("measured on %d images, %d are held out", r.Model.Classes, held)
	}
	if s.cfg.Pairs.SHA256 == "" {
		t.Error("the run does not say which file it began with")
	}
}

// Any number of workers and ranks, and a run that was stopped, give the same bytes.
func TestPairsGiveTheSameBits(t *testing.T) {
	c, _ := markedConfig(t, 4, 5)
	c.Steps = 7
	c.MicroBatch = 4
	s := begin(t, c)
	trainAll(t, s)
	want := bytesOf(t, s.folder)
	ranksTrainTheSame(t, c, want, 2, 4)
	many, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 3, Events: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	trainAll(t, many)
	if got := bytesOf(t, many.folder); !slices.Equal(got, want) {
		t.Errorf("3 workers: %v, want %v", got, want)
	}
	c.MicroBatch, c.Steps, c.Epochs = 0, 0, 3
	resumedInTheMiddle(t, "pairs", c)
}

// Beside a loss on views a batch has both, and images that are the same are of one class for
// that loss.
func TestPairsBesideViews(t *testing.T) {
	c, _ := markedConfig(t, 4, 5)
	c.Pairs.Beside, c.Pairs.Weight, c.Pairs.PerBatch = true, .5, 3
	c.ClassesPerBatch = 6
	s := begin(t, c)
	if n := s.cfg.Batch(); n != 6*2+3*2 {
		t.Errorf("batches of %d images, want 18", n)
	}
	set := s.groupedByPairs()
	byPath := map[string]int{}
	for _, it := range set.Items {
		byPath[it.Path] = it.Label
	}
	if byPath["00.png"] != byPath["03.png"] || byPath["00.png"] == byPath["05.png"] {
		t.Errorf("labels %v: want 00 to 04 of one class, 05 of another", byPath)
	}
	trainAll(t, s)
	if _, resumed := resumedInTheMiddle(t, "pairs beside", c); resumed == nil {
		t.Error("the run was not resumed")
	}
}

func TestPairsBesideLabels(t *testing.T) {
	root := shades(t, 8, 4)
	c := smallConfig(t, root)
	c.Pairs = run.PairsConfig{File: filepath.Join(t.TempDir(), "pairs.csv"), Beside: true, Weight: 1, PerBatch: 2, Triplet: 1}
	write(t, c.Pairs.File, "a,b,same\nclass 0/0.png,class 0/1.png,1\nclass 0/0.png,class 1/1.png,0\nclass 7/1.png,class 7/0.png,1\n")
	_, l := heard(t, c)
	if want := "1 pair of images that are not for training left out"; !says(l.warnings, want) {
		t.Errorf("warned %q, want %q", l.warnings, want)
	}
	// A pair that contradicts the labels.
	write(t, c.Pairs.File, "a,b,same\nclass 0/0.png,class 0/1.png,0\nclass 0/0.png,class 1/1.png,0\n")
	if err := notBegun(t, c); !strings.Contains(err.Error(), `line 2: the images are called different, and both are of class "class 0"`) {
		t.Errorf("%v", err)
	}
	c.Pairs.Beside, c.Pairs.Weight = false, 0
	if _, l = heard(t, c); !says(l.warnings, "both are of class \"class 0\"; the labels are for measuring only") {
		t.Errorf("warned %q", l.warnings)
	}
}

func notBegun(t *testing.T, c run.Config) error {
	t.Helper()
	s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: silent{}})
	if err == nil {
		s.Close()
		t.Fatal("the run began")
	}
	return err
}

func TestPairsThatCannotBeTrainedOn(t *testing.T) {
	c, dir := markedConfig(t, 4, 3)
	for text, want := range map[string]string{
		"a,b,same\n00.png,99.png,1\n":                                   "line 2: there is no image 99.png in folder:" + dir,
		"a,b,same\n00.png," + dir + "/00.png,1\n":                       "line 2: ",
		"a,b,same\n00.png,01.png,1\n01.png,02.png,1\n02.png,00.png,0\n": "line 4: the images are called different here, and the same by lines 2, 3",
		"a,b,same\n00.png,01.png,2\n":                                   `line 2: same is "2", want 1 or 0`,
	} {
		write(t, c.Pairs.File, text)
		if err := notBegun(t, c); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), c.Pairs.File) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	write(t, c.Pairs.File, "a,b,same\n00.png,01.png,1\n01.png,03.png,0\n")
	s := begin(t, c)
	trainAll(t, s)
	s.Close()
	write(t, c.Pairs.File, "a,b,same\n00.png,01.png,1\n")
	if _, err := resume(t, s); err == nil || !strings.Contains(err.Error(), "has changed since the run began") {
		t.Errorf("%v", err)
	}
	c.Pairs.File = filepath.Join(dir, "none.csv")
	if err := notBegun(t, c); !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("%v", err)
	}
}

package tune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
	"github.com/vernier-ml/vernier/train/sweep"
)

// shades writes a folder of classes, each a shade of gray with noise; the second half, on
// which nothing trains, is drawn with the seed.
func shades(t *testing.T, classes, images int, seed uint64) string {
	t.Helper()
	root := t.TempDir()
	for c := range classes {
		r := rand.New(rand.NewPCG(uint64(c), 0))
		if 2*c >= classes {
			r = rand.New(rand.NewPCG(uint64(c), seed))
		}
		dir := filepath.Join(root, fmt.Sprintf("class %02d", c))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range images {
			img := image.NewGray(image.Rect(0, 0, 16, 16))
			for p := range img.Pix {
				img.Pix[p] = uint8(12*c + r.IntN(90))
			}
			img.SetGray(i, 15-i, color.Gray{Y: 255})
			var b bytes.Buffer
			if err := png.Encode(&b, img); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// parse reads a small file on the given images.
func parse(t *testing.T, images, more string) *File {
	t.Helper()
	f, err := Parse("tune.yaml", []byte(`
base:
  data: {spec: "folder:`+images+`", augment: none}
  model: {dim: 8, input: {size: 16}}
  epochs: 3
  classes_per_batch: 3
  images_per_class: 2
space:
  optimizer.rate: {log: [1e-4, 1e-1]}
  model.scale: {uniform: [0.5, 2], when: {model.metric: brm}}
compare: {model.metric: [cosine, brm]}
trials: 5
startup: 2
folds: 2
stopping: asha
`+more))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func runner(dir string) *Runner {
	return &Runner{Dir: dir, Threads: 1, Engine: func(threads int) (sweep.Engine, error) { return cpu.New(cpu.Options{Threads: threads}) },
		Options: train.Options{Cache: run.CacheOptions{}}}
}

// outcome is what is left of the trials of a study, without times.
func outcome(studies []*Study) (list []Trial) {
	for _, s := range studies {
		for _, trial := range s.Trials() {
			c := *trial
			c.Seconds = 0
			list = append(list, c)
		}
	}
	return list
}

// A study that is stopped at any moment and continued, or that two processes work on,
// has the trials of one that was left alone; so has one of other test images.
func TestTheSameStudy(t *testing.T) {
	images := shades(t, 12, 4, 1)
	want, err := runner(t.TempDir()).Run(context.Background(), parse(t, images, ""))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(outcome(want)); n != 10 {
		t.Fatalf("%d trials, want 10", n)
	}
	same := func(what string, got []*Study) {
		t.Helper()
		if a, b := outcome(want), outcome(got); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: trials\n%+v\nwant\n%+v", what, b, a)
		}
	}
	t.Run("stopped ten times", func(t *testing.T) {
		dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 1))
		for range 10 {
			ctx, stop := context.WithTimeout(context.Background(), time.Duration(r.IntN(150))*time.Millisecond)
			_, err := runner(dir).Run(ctx, parse(t, images, ""))
			stop()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		got, err := runner(dir).Run(context.Background(), parse(t, images, ""))
		if err != nil {
			t.Fatal(err)
		}
		same("stopped", got)
	})
	t.Run("stopped after the last epoch of a trial", func(t *testing.T) {
		dir := t.TempDir()
		studies, err := runner(dir).Run(context.Background(), parse(t, images, ""))
		if err != nil {
			t.Fatal(err)
		}
		last := *studies[0].done[0] // all its values are there
		last.State, last.Value = Running, 0
		if err := last.save(studies[0].folder(0)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := runner(dir).Run(context.Background(), parse(t, images, ""))
			if err != nil {
				t.Fatal(err)
			}
			same("stopped after the last epoch", got)
		}
	})
	t.Run("two at a time", func(t *testing.T) {
		dir := t.TempDir()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := runner(dir).Run(context.Background(), parse(t, images, "")); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		got, err := runner(dir).Run(context.Background(), parse(t, images, ""))
		if err != nil {
			t.Fatal(err)
		}
		same("two at a time", got)
	})
	t.Run("other test classes", func(t *testing.T) {
		got, err := runner(t.TempDir()).Run(context.Background(), parse(t, shades(t, 12, 4, 2), ""))
		if err != nil {
			t.Fatal(err)
		}
		same("other test classes", got)
	})
	for _, s := range want {
		if found, err := filepath.Glob(filepath.Join(s.Dir, "*", "*", run.ResultsFile)); err != nil || len(found) > 0 {
			t.Errorf("a trial was measured on test classes: %v, %v", found, err)
		}
		if found, err := filepath.Glob(filepath.Join(s.Dir, "*", "*", "*.safetensors")); err != nil || len(found) > 0 {
			t.Errorf("networks of trials are left: %v, %v", found, err)
		}
	}
}

// A study that has begun takes more trials, and no other space.
func TestAStudyGrows(t *testing.T) {
	images, dir := shades(t, 12, 4, 1), t.TempDir()
	f := parse(t, images, "")
	f.Trials = 2
	first, err := runner(dir).Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	f = parse(t, images, "")
	f.Trials = 3
	more, err := runner(dir).Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := outcome(first), outcome(more); len(b) != 6 || !reflect.DeepEqual(a[:2], b[:2]) {
		t.Errorf("%+v became %+v", a, b)
	}
	f = parse(t, images, "")
	f.Seed = 7
	if _, err := runner(dir).Run(context.Background(), f); err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("another seed: %v", err)
	}
}

// A trial whose settings do not go together, or that diverges, fails alone.
func TestATrialThatFails(t *testing.T) {
	f := parse(t, shades(t, 12, 4, 1), "")
	var err error
	f.space, err = parseSpaceText(`{loss.params.temperature: {choice: ["16", "-1"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	f.Trials = 6
	studies, err := runner(t.TempDir()).Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	states := map[State]int{}
	for _, trial := range studies[0].Trials() {
		states[trial.State]++
		if (trial.State == Failed) != (trial.Settings["loss.params.temperature"] == "-1") {
			t.Errorf("%+v", trial)
		}
	}
	if states[Failed] == 0 || states[Failed] == 6 {
		t.Errorf("states %v", states)
	}
}

// The best of each variant is trained on all training classes and tested.
func TestTheTableOfAComparison(t *testing.T) {
	dir := t.TempDir()
	f := parse(t, shades(t, 12, 4, 1), "seeds: 3\nrestarts: 1\nbaseline: {model.metric: cosine}\n")
	f.Trials = 2
	r := runner(dir)
	studies, err := r.Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := f.FinalJobs(studies)
	if err != nil || len(jobs) != 6 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for _, j := range jobs {
		if j.Config.Data.Folds != 0 || j.Config.Data.Validation != 0 {
			t.Errorf("%s is trained on a part: %+v", j.Name, j.Config.Data)
		}
	}
	final := &sweep.Runner{Dir: filepath.Join(dir, FinalFolder), Threads: 1, Engine: r.Engine, Options: train.Options{Restarts: 1}}
	if err := final.Run(context.Background(), jobs); err != nil {
		t.Fatal(err)
	}
	table, err := f.Compare(dir, studies)
	if err != nil {
		t.Fatal(err)
	}
	if x := table.Rows[1].Figures["recall@1"]; len(x.Runs) != 3 || x.Test == nil || x.Test.Holm != x.Test.P || table.Rows[0].Figures["recall@1"].Test != nil {
		t.Errorf("figures %+v", x)
	}
	if err := f.Write(dir, studies, table); err != nil {
		t.Fatal(err)
	}
	if err := f.Report(dir, studies, table); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil || bytes.Count(page, []byte("<svg")) < 6 {
		t.Errorf("%d charts, %v", bytes.Count(page, []byte("<svg")), err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "best-brm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := &run.Settings{}
	if err := s.AddYAML("best", text); err != nil {
		t.Fatal(err)
	}
	cfg, err := s.Config()
	if err != nil || fmt.Sprint(cfg.Model.Scale) != studies[1].Best().Settings["model.scale"] {
		t.Errorf("the file says scale %v, the best trial %v (%v)", cfg.Model.Scale, studies[1].Best().Settings, err)
	}
}

func TestHolm(t *testing.T) {
	// The example of R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
	for i, got := range Holm([]float64{.01, .04, .03, .005}) {
		if want := []float64{.03, .06, .06, .02}[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("p %d becomes %v, want %v", i, got, want)
		}
	}
}

func TestRungs(t *testing.T) {
	with := func(values ...float64) *Trial { return &Trial{Values: values, Steps: 9} }
	earlier := []*Trial{with(5, 5, 5), with(6, 6, 6), with(7), with(1), with(8, 8, 8)}
	for _, c := range []struct {
		how    Stopping
		values []float64
		want   bool
	}{
		{StopASHA, []float64{7.5}, false},       // second of 6, of which 2 pass
		{StopASHA, []float64{6.5}, true},        // third
		{StopASHA, []float64{0, 9}, false},      // no rung
		{StopASHA, []float64{0, 0, 8.5}, false}, // first of 4 at the rung of a third
		{StopASHA, []float64{0, 0, 7.5}, true},
		{StopNever, []float64{0}, false},
	} {
		if got := c.how.stops(c.values, 9, earlier); got != c.want {
			t.Errorf("%s, %v: %v, want %v", c.how, c.values, got, c.want)
		}
	}
	for i := range earlier { // the median of 5, 6, 7, 1 and 8 after a quarter of 8 steps
		v := earlier[i].Values[0]
		earlier[i] = &Trial{Values: []float64{v, v}, Steps: 8}
	}
	if StopMedian.stops([]float64{0, 6.1}, 8, earlier) || !StopMedian.stops([]float64{0, 5.9}, 8, earlier) || StopMedian.stops([]float64{0, 5.9}, 8, earlier[:4]) {
		t.Error("the median rule")
	}
	if StopASHA.stops([]float64{0}, 9, earlier[:1]) {
		t.Error("the second trial is stopped")
	}
}

func TestConditionsAndChoices(t *testing.T) {
	f, err := Parse("x.yaml", []byte(`
base: {data: {spec: glyphs}}
space:
  optimizer.name: [adamw, sgd]
  optimizer.momentum: {uniform: [0, 0.9], when: {optimizer.name: sgd}}
  model.scale: {log: [0.1, 1], when: {model.metric: brm}}
  loss: {choice: [{loss.name: npairs}, {loss.name: triplet, loss.params.margin: "0.1"}]}
compare:
  - {model.metric: cosine}
  - {name: ours, model.metric: brm, model.dim: 64}
`))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := len(f.spaceOf(f.Variants[0])), len(f.spaceOf(f.Variants[1])); a != 3 || b != 4 || f.Variants[1].Name != "ours" || f.Variants[1].Baseline != 0 {
		t.Errorf("%d and %d dimensions, variants %+v", a, b, f.Variants)
	}
	s := f.Studies("")[1]
	for n := range 30 {
		p := s.propose(n, 0)
		_, momentum := p.Settings["optimizer.momentum"]
		_, margin := p.Settings["loss.params.margin"]
		if momentum != (p.Settings["optimizer.name"] == "sgd") || margin != (p.Settings["loss.name"] == "triplet") || p.Settings["model.scale"] == "" {
			t.Fatalf("trial %d: %v", n, p.Settings)
		}
	}
}

func parseSpaceText(text string) ([]dimension, error) {
	n, err := run.ParseYAML("space", []byte(text))
	if err != nil {
		return nil, err
	}
	return parseSpace("space", n)
}

func TestMistakesInAFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                                           "is empty",
		"trials: 3":                                  "space is missing",
		"space: {}":                                  "nothing varies",
		"spce: {}":                                   "spce",
		"space: {x: {log: [0, 1]}}":                  "logarithm",
		"space: {x: {uniform: [1, 1]}}":              "range",
		"space: {x: {unifrom: [0, 1]}}":              "did you mean",
		"space: {x: {when: {a: b}}}":                 "want one of",
		"space: {epochs: {uniform: [1, 3]}}":         "whole numbers",
		"space: {x: 3}":                              "want a list",
		"space: {x: [1]}\ntrials: 0":                 "trials: 0",
		"space: {x: [1]}\nfolds: 1":                  "folds: 1",
		"space: {x: [1]}\nsampler: grid":             "sampler",
		"space: {x: [1]}\nstopping: ahsa":            "did you mean",
		"space: {x: [1]}\ncompare: []":               "compare is empty",
		"space: {x: [1]}\ncompare: [{a: 1}, {a: 1}]": "name of its own",
		"space: {x: [1]}\ncompare: {a: [1, 2]}\nbaseline: {a: 3}": "no variant",
		"space: {x: [1]}\nhours: -1":                              "hours",
	} {
		if _, err := Parse("x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The studies in the documents can begin, once their data is there.
func TestTheStudiesOfTheDocuments(t *testing.T) {
	names, err := filepath.Glob("../../docs/experiments/tune-*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(name, text)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, s := range f.Studies("") {
			for n := range 4 {
				if _, err := f.foldConfig(s.Variant, s.Point(s.propose(n, 0)), 1); err != nil {
					t.Errorf("%s, variant %s, trial %d: %v", name, s.Variant.Name, n+1, err)
				}
			}
		}
	}
}

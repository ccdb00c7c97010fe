package sweep

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/train"
)

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

// events counts its calls.
type events struct {
	mu       sync.Mutex
	said     []string
	warned   []string
	progress func()
}

func (e *events) Say(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said = append(e.said, fmt.Sprintf(format, args...))
}

func (e *events) Warn(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.warned = append(e.warned, fmt.Sprintf(format, args...))
}

func (e *events) Progress(string, int, int, string) {
	if e.progress != nil {
		e.progress()
	}
}

// smallSweep is four configurations of two runs each.
func smallSweep(t *testing.T, more string) (*File, []Job) {
	t.Helper()
	text := `
base:
  data: {spec: "folder:` + shades(t, 10, 4) + `", augment: none, validation: 0}
  model: {dim: 8, input: {size: 16}}
  epochs: 2
  classes_per_batch: 4
  images_per_class: 2
grid:
  loss:
    - {loss.name: triplet}
    - {loss.name: proxy-anchor, optimizer.proxy_rate: 100}
  model.metric: [euclidean, brm]
seeds: 2
baseline: {model.metric: euclidean}
` + more
	f, err := Parse("small.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := f.Plan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f, jobs
}

func runner(t *testing.T, dir string, jobs int, ev run.Events) *Runner {
	return &Runner{Dir: dir, Jobs: jobs, Threads: 1, Engine: func(threads int) (Engine, error) { return cpu.New(cpu.Options{Threads: threads}) },
		Options: train.Options{Events: ev, Restarts: 1, Cache: run.CacheOptions{Dir: t.TempDir()}}}
}

func TestASweepPlansEveryCombination(t *testing.T) {
	f, jobs := smallSweep(t, "folds: 2\n")
	if len(jobs) != 16 {
		t.Fatalf("%d runs, want 2 losses x 2 metrics x 2 folds x 2 seeds", len(jobs))
	}
	names := map[string]bool{}
	for _, j := range jobs {
		names[j.Name] = true
		if c := j.Config; (c.Loss.Name == "proxy-anchor") != (c.Optimizer.ProxyRate == 100) || c.Data.Folds != 2 || c.Data.Fold < 1 || c.Model.Dim != 8 {
			t.Errorf("%s has %+v", j.Name, c)
		}
	}
	if len(names) != 16 {
		t.Errorf("the folders are %d", len(names))
	}
	if got := strings.Join(f.Order(jobs), " "); got != "loss.name optimizer.proxy_rate model.metric" {
		t.Errorf("order %q", got)
	}
	// Other settings have other folders.
	over, err := f.Plan(t.Context(), []run.Setting{{Path: "epochs", Value: "3"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range over {
		if names[j.Name] || j.Config.Epochs != 3 {
			t.Errorf("%s with %d epochs", j.Name, j.Config.Epochs)
		}
	}
}

func TestRandomDrawsAreTheSameEveryTimeAndWithinTheirRanges(t *testing.T) {
	const text = `
base: {data: {spec: glyphs}}
random:
  trials: 30
  seed: 4
  values:
    optimizer.rate: {log: [1e-5, 1e-2]}
    model.scale: {uniform: [0.5, 2]}
    epochs: {int: [2, 4]}
    model.dim: [16, 32]
`
	plan := func() []Job {
		f, err := Parse("random.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !f.Drawn() || f.Figure != validationMAP {
			t.Errorf("random draws are chosen by %s", f.Figure)
		}
		jobs, err := f.Plan(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return jobs
	}
	jobs, again := plan(), plan()
	below := 0
	for i, j := range jobs {
		c := j.Config
		if j.Name != again[i].Name {
			t.Errorf("run %d is %s, then %s", i, j.Name, again[i].Name)
		}
		if c.Optimizer.Rate < 1e-5 || c.Optimizer.Rate > 1e-2 || c.Model.Scale < .5 || c.Model.Scale > 2 || c.Epochs < 2 || c.Epochs > 4 || c.Model.Dim != 16 && c.Model.Dim != 32 {
			t.Errorf("%+v", c)
		}
		if c.Optimizer.Rate < math.Sqrt(1e-5*1e-2) {
			below++
		}
	}
	if len(jobs) != 30 || below < 7 || below > 23 {
		t.Errorf("%d of %d rates lie in the lower half of the logarithms", below, len(jobs))
	}
}

func TestMistakesInASweepFileAreNamed(t *testing.T) {
	if _, err := Parse("x.yaml", []byte("\n")); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty file: %v", err)
	}
	for text, says := range map[string]string{
		"grids: {a: [1]}":                "grids",
		"grid: {model.metric: cosine}":   "x.yaml:1: model.metric: want a list",
		"grid: {model.metrik: [cosine]}": `unknown key "model.metrik"; did you mean model.metric?`,
		"grid: {epochs: [two]}":          "x.yaml:1: epochs",
		"base: {epocks: 3}":              "did you mean epochs?",
		"grid: {epochs: [1, 1]}":         "have the same settings",
		"seeds: [1, 1]":                  "1 is there twice",
		"seeds: 0":                       "seeds",
		"folds: 1":                       "at least 2 folds",
		"random: {trials: 3}":            "trials and values",
		"random: {trials: 3, values: {epochs: {uni: [1, 2]}}}":         `epochs: unknown range "uni"; did you mean uniform? (want a list of values, or {uniform`,
		"random: {trials: 3, values: {epochs: {int: [2, 1]}}}":         "epochs: int: [2, 1]: LOW must be below HIGH",
		"random: {trials: 3, values: {epochs: 4}}":                     "epochs: want a list of values, or {uniform",
		"random: {trials: 3, values: {epochs: {int: 4}}}":              "epochs: int: want two numbers",
		"random: {trials: 3, values: {epochs: {int: [1.5, 4]}}}":       "want whole numbers",
		"random: {trials: 3, values: {optimizer.rate: {log: [0, 1]}}}": "optimizer.rate: log: [0, 1]: LOW must be above 0",
		"random: {trials: 3, values: {model.dim: {log: [8, 64]}}}":     "model.dim: log draws no whole numbers; want {int: [LOW, HIGH]}",
		"restarts: -1":                         "restarts: -1",
		"seeds: 2\n---\nseeds: 3":              "second YAML document",
		"grd: {epochs: [1]}":                   `unknown part "grd"; did you mean grid?`,
		"baseline: {model.metrik: brm}":        "there is one group only",
		"base: {data: {spec: ''}}":             "data.spec is missing",
		"grid: {model.metric: [brm, hamming]}": "hamming",
	} {
		if !strings.Contains(text, "base:") {
			text = "base: {data: {spec: glyphs}}\n" + text
			says = strings.Replace(says, "x.yaml:1", "x.yaml:2", 1)
		}
		f, err := Parse("x.yaml", []byte(text))
		if err == nil {
			var jobs []Job
			if jobs, err = f.Plan(t.Context(), nil); err == nil {
				err = Check(jobs, Options{Baseline: f.Baseline}, "")
			}
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\n  want %q, got %v", text, says, err)
		}
	}
}

func TestAnInterruptedSweepGoesOnAndFinishedRunsAreSkipped(t *testing.T) {
	_, jobs := smallSweep(t, "")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ev := &events{}
	after := 0
	ev.progress = func() {
		ev.mu.Lock()
		defer ev.mu.Unlock()
		if len(ev.said) == 2 {
			if after++; after == 6 { // in the training of the third run
				cancel()
			}
		}
	}
	if err := runner(t, dir, 1, ev).Run(ctx, jobs); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if state, err := State(filepath.Join(dir, jobs[2].Name)); err != nil || !slices.Contains([]string{"epoch 1 of 2", "epoch 2 of 2", "trained, not measured"}, state) {
		t.Errorf("the interrupted run is %q (%v)", state, err)
	}
	early, unfinished, err := Load([]string{dir})
	if err != nil || len(early) == 0 || len(early) == len(jobs) {
		t.Fatalf("%d runs were finished (%v)", len(early), err)
	}
	if len(unfinished) != 1 {
		t.Errorf("%d runs were begun and not finished", len(unfinished))
	}
	ev = &events{}
	if err := runner(t, dir, 2, ev).Run(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	if len(ev.said) != len(jobs)-len(early) {
		t.Errorf("%d runs were made, %d of %d were finished before", len(ev.said), len(early), len(jobs))
	}
	ev = &events{}
	if err := runner(t, dir, 2, ev).Run(t.Context(), jobs); err != nil || len(ev.said) != 0 {
		t.Errorf("a finished sweep: %v, %v", ev.said, err)
	}
	runs, unfinished, err := Load([]string{dir})
	if err != nil || len(runs) != len(jobs) || len(unfinished) != 0 {
		t.Fatalf("%d finished, %q not (%v)", len(runs), unfinished, err)
	}
	if s, known, err := Cost(runs); err != nil || known != len(runs) || s <= 0 {
		t.Errorf("%v seconds for %d runs (%v)", s, known, err)
	}
	// Interruption and parallel work change no figure.
	straight := t.TempDir()
	if err := runner(t, straight, 1, &events{}).Run(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		for _, name := range []string{run.LastFile, run.HistoryFile} {
			a, err := os.ReadFile(filepath.Join(dir, j.Name, name))
			b, err2 := os.ReadFile(filepath.Join(straight, j.Name, name))
			if err != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("%s/%s differs from that of a straight run (%v, %v)", j.Name, name, err, err2)
			}
		}
	}
}

func TestARunThatFailsDoesNotStopTheOthers(t *testing.T) {
	_, jobs := smallSweep(t, "")
	jobs = jobs[:3]
	jobs[1].Config.Optimizer.Rate = 1e30 // diverges
	ev, dir := &events{}, t.TempDir()
	err := runner(t, dir, 1, ev).Run(t.Context(), jobs)
	if err == nil || !strings.Contains(err.Error(), jobs[1].Name) || strings.Contains(err.Error(), jobs[0].Name) {
		t.Errorf("got %v", err)
	}
	if len(ev.said) != 2 || len(ev.warned) == 0 {
		t.Errorf("said %q, warned %q", ev.said, ev.warned)
	}
	for i, want := range []string{"finished", "epoch 1 of 2, failed: step", "finished"} {
		if state, err := State(filepath.Join(dir, jobs[i].Name)); err != nil || !strings.HasPrefix(state, want) {
			t.Errorf("run %d is %q (%v), want %q", i, state, err, want)
		}
	}
	if state, err := State(filepath.Join(dir, "other")); err != nil || state != "to be made" {
		t.Errorf("a run that is not there is %q (%v)", state, err)
	}
	_, unfinished, err := Load([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	missing, err := Unfinished(unfinished)
	if err != nil || len(missing) != 1 {
		t.Fatalf("%v are missing (%v)", missing, err)
	}
	var md bytes.Buffer
	table := &Table{Figures: []string{"recall@1"}, Missing: missing}
	if err := table.WriteMarkdown(&md, "recall@1"); err != nil || !strings.Contains(md.String(), "Not in the table: "+jobs[1].Name+", epoch 1 of 2, failed: step") {
		t.Errorf("%v\n%s", err, md.String())
	}
}

func TestASweepOfWhatIsNotThereEndsAtOnce(t *testing.T) {
	_, jobs := smallSweep(t, "")
	for i := range jobs {
		jobs[i].Config.Data.Spec = "folder:/nowhere"
	}
	ev := &events{}
	err := runner(t, t.TempDir(), 1, ev).Run(t.Context(), jobs)
	if err == nil || !strings.Contains(err.Error(), "/nowhere") || len(ev.warned) > 2 {
		t.Errorf("got %v after %d failures", err, len(ev.warned))
	}
}

// finished makes runs by hand: figures of seeds 1, 2, ... under a loss and a metric.
func finished(loss, metric string, recall ...float64) (runs []Run) {
	for i, r := range recall {
		runs = append(runs, Run{Folder: fmt.Sprintf("%s-%s-%d", loss, metric, i), Seed: uint64(i + 1), Figures: map[string]float64{"recall@1": r, "nmi": r / 100},
			Values: map[string]string{"loss.name": loss, "model.metric": metric, "epochs": "4", "optimizer.proxy_rate": map[string]string{"triplet": "10", "proxy-anchor": "100"}[loss]}})
	}
	return runs
}

func TestGroupsAreTestedAgainstTheirBaselines(t *testing.T) {
	runs := slices.Concat(
		finished("triplet", "brm", 72, 74, 73), finished("triplet", "euclidean", 70, 71, 72),
		finished("proxy-anchor", "brm", 60, 61, 62), finished("proxy-anchor", "euclidean", 63, 64.1, 65), finished("proxy-anchor", "cosine", 60))
	table, err := Compare(runs, Options{Baseline: map[string]string{"model.metric": "euclidean"}, Order: []string{"loss.name"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.Columns, []string{"loss.name", "model.metric"}) { // the rate follows from the loss
		t.Fatalf("columns %q", table.Columns)
	}
	if !slices.ContainsFunc(table.Following, func(f Following) bool {
		return f.Place == "optimizer.proxy_rate" && slices.Equal(f.From, []string{"loss.name"})
	}) {
		t.Errorf("following %+v, want the rate from the loss alone", table.Following)
	}
	for i, want := range []struct {
		labels, verdict string
		mean, std, diff float64
	}{
		{"triplet brm", "same", 73, 1, 2}, {"triplet euclidean", "", 71, 1, 0},
		{"proxy-anchor brm", "worse", 61, 1, -3.0333}, {"proxy-anchor euclidean", "", 64.0333, 1.0017, 0}, {"proxy-anchor cosine", "", 60, 0, 0},
	} {
		g := table.Groups[i]
		s := g.Figures["recall@1"]
		if strings.Join(g.Labels, " ") != want.labels || math.Abs(s.Mean-want.mean) > 1e-3 || math.Abs(s.Std-want.std) > 1e-3 {
			t.Errorf("group %d is %q %+v, want %+v", i, g.Labels, s, want)
		}
		if (s.Test == nil) != (want.verdict == "") || s.Test != nil && (s.Test.Verdict != want.verdict || math.Abs(s.Test.Difference-want.diff) > 1e-3) {
			t.Errorf("%s: test %+v, want %q", want.labels, s.Test, want.verdict)
		}
	}
	// R: t.test(c(72,74,73), c(70,71,72), paired=TRUE)$p.value is 0.07418.
	if p := table.Groups[0].Figures["recall@1"].Test.P; math.Abs(p-.07418) > 1e-4 {
		t.Errorf("p = %v", p)
	}
	var md bytes.Buffer
	if err := table.WriteMarkdown(&md, "recall@1"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| loss | metric | runs | R@1 | NMI | R@1 against baseline |",
		"| triplet | brm | 3 | **73.00 ± 1.00** | **0.730 ± 0.010** | +2.00 (p = 0.074) |",
		"| proxy-anchor | brm | 3 | 61.00 ± 1.00 | 0.610 ± 0.010 | -3.03 (p < 0.001), **worse** |",
		"| proxy-anchor | cosine | 1 | 60.00 | 0.600 | - |",
	} {
		if !strings.Contains(md.String(), line+"\n") {
			t.Errorf("want %q in\n%s", line, md.String())
		}
	}
	var text bytes.Buffer
	if err := table.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(rows) != 6 || len(rows[0]) != 2+1+2*5 || rows[3][7] != "worse" {
		t.Errorf("rows %q, %v", rows, err)
	}
	text.Reset()
	if err := table.WriteJSON(&text); err != nil || !json.Valid(text.Bytes()) {
		t.Errorf("JSON: %v", err)
	}
	path := filepath.Join(t.TempDir(), "figure.png")
	if err := table.Plot(path, "recall@1"); err != nil {
		t.Error(err)
	}
	if f, err := os.Open(path); err != nil {
		t.Error(err)
	} else if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
	if err := table.Plot(path, "recall@9"); err == nil || !strings.Contains(err.Error(), "there is: recall@1, nmi") {
		t.Errorf("got %v", err)
	}
}

// A setting that is switched off is not in a stored configuration, and is a baseline all the same.
func TestABaselineMayBeASettingThatIsSwitchedOff(t *testing.T) {
	off, on := finished("triplet", "brm", 72, 74, 73), finished("triplet", "brm", 75, 76, 75)
	for i := range on {
		on[i].Values = maps.Clone(on[i].Values)
		on[i].Values["momentum_encoder"], on[i].Folder = "0.99", "momentum"
	}
	for _, value := range []string{"0", ""} {
		table, err := Compare(slices.Concat(on, off), Options{Baseline: map[string]string{"momentum_encoder": value}})
		if err != nil {
			t.Fatal(err)
		}
		if s := table.Groups[0].Figures["recall@1"]; s.Test == nil || math.Abs(s.Test.Difference-7./3) > 1e-9 {
			t.Errorf("%q: with a momentum encoder %+v, want 75.33 - 73", value, s.Test)
		}
	}
	if _, err := Compare(slices.Concat(on, off), Options{Baseline: map[string]string{"momentum_encoder": "0.9"}}); err == nil {
		t.Error("a value that no group has is a baseline")
	}
}

func TestBaselinesThatAreNotThere(t *testing.T) {
	runs := slices.Concat(finished("triplet", "brm", 72, 74, 73), finished("triplet", "euclidean", 70, 71, 72))
	if _, err := Compare(runs, Options{Baseline: map[string]string{"model.metric": "cosine"}}); err == nil || !strings.Contains(err.Error(), "differ in model.metric") {
		t.Errorf("got %v", err)
	}
	table, err := Compare(runs, Options{})
	if err != nil || table.Groups[1].Figures["recall@1"].Test == nil {
		t.Errorf("without a baseline the first group is one (%v)", err)
	}
	table, err = Compare(runs, Options{Baseline: map[string]string{}})
	if err != nil || table.Groups[1].Figures["recall@1"].Test != nil {
		t.Errorf("a test that nobody asked for (%v)", err)
	}
	table, err = Compare(slices.Concat(finished("triplet", "brm", 72, 74), finished("triplet", "euclidean", 70, 72)), Options{})
	if err != nil || table.Groups[1].Figures["recall@1"].Test != nil {
		t.Errorf("two pairs were tested (%v)", err)
	}
	if _, err := Compare(nil, Options{}); err == nil {
		t.Error("nothing was compared")
	}
	if _, err := Compare(append(runs, runs[0]), Options{}); err == nil || !strings.Contains(err.Error(), "same settings and seed") {
		t.Errorf("got %v", err)
	}
}

func TestRunsOfOneSeedAndSeveralFoldsArePairedByFold(t *testing.T) {
	fold := func(metric string, recall ...float64) []Run {
		runs := finished("triplet", metric, recall...)
		for i := range runs {
			runs[i].Seed, runs[i].Fold = 1, i+1
		}
		return runs
	}
	table, err := Compare(append(fold("euclidean", 70, 50, 60), fold("brm", 71, 51.1, 61)...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	test := table.Groups[1].Figures["recall@1"].Test
	if test == nil || test.Pairs != 3 || test.Verdict != "better" {
		t.Errorf("test %+v", test)
	}
}

func TestRunsOnDifferentTestImagesAreNeitherRankedNorTested(t *testing.T) {
	few, many := finished("triplet", "brm", 72, 74, 73), finished("triplet", "euclidean", 20, 21, 22)
	compared := func() (*Table, string) {
		table, err := Compare(slices.Concat(few, many), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := table.WriteMarkdown(&b, "recall@1"); err != nil {
			t.Fatal(err)
		}
		return table, b.String()
	}
	if table, text := compared(); table.Groups[1].Figures["recall@1"].Test == nil || !strings.Contains(text, "**73.00") {
		t.Errorf("the same images:\n%s", text)
	}
	for i := range few {
		few[i].Test, many[i].Test = TestSet{40, 4}, TestSet{120, 12}
	}
	table, text := compared()
	if table.Groups[1].Figures["recall@1"].Test != nil || strings.Contains(text, "**") || !strings.Contains(text, "different test images") || !strings.Contains(text, "40 images of 4 classes; 120 images of 12 classes") {
		t.Errorf("other images:\n%s", text)
	}
}

func TestWhatARunWritesBesideItsModelMakesNoGroup(t *testing.T) {
	_, jobs := smallSweep(t, "")
	c := jobs[0].Config
	before := settingsOf(c)
	c.Run = run.Output{SaveEvery: 1, Keep: 7, EvalEvery: 3, TensorBoard: true}
	if after := settingsOf(c); !maps.Equal(before, after) {
		t.Errorf("%v, then %v", before, after)
	}
	c.Epochs++
	if maps.Equal(before, settingsOf(c)) {
		t.Error("another number of epochs is the same group")
	}
}

func TestPartsOfRandomAreSaidToBelongThere(t *testing.T) {
	for text, says := range map[string]string{"seed: 7\n": `"seed" belongs under random; did you mean seeds?`, "trials: 3\n": `"trials" belongs under random`} {
		if _, err := Parse("s.yaml", []byte(text)); err == nil || !strings.HasSuffix(err.Error(), says) {
			t.Errorf("%q: got %v, want %s", text, err, says)
		}
	}
}

func TestUnknownPartsAreNamed(t *testing.T) {
	_, err := Parse("s.yaml", []byte("gird:\n  model.metric: [brm]\n"))
	if err == nil || !strings.Contains(err.Error(), `unknown part "gird"`) || strings.Contains(err.Error(), "fileText") {
		t.Errorf("got %v", err)
	}
}

package train

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// averageConfig has a warm-up, validation classes, and batch normalizations, whose running
// statistics are averaged too.
func averageConfig(t *testing.T) run.Config {
	c := smallConfig(t, shades(t, 16, 4))
	c.Data.Validation, c.EMA = .4, .9
	return c
}

func TestAnAverageGoesOnAsIfItHadNeverStopped(t *testing.T) {
	for name, change := range map[string]func(*run.Config){
		"a whole batch": func(*run.Config) {},
		"in parts":      func(c *run.Config) { c.MicroBatch, c.Freeze.BNStats = 3, true },
		"no validation": func(c *run.Config) { c.Data.Validation = 0 },
	} {
		c := averageConfig(t)
		change(&c)
		straight, resumed := resumedInTheMiddle(t, name, c)
		if names := straight.stepper.average.State(); len(names) != len(resumed.stepper.average.State()) || len(names) < 20 {
			t.Errorf("%s: %d averages", name, len(names))
		}
		for _, file := range []string{run.LastFile, run.LastEMAFile, run.BestFile, run.HistoryFile} {
			a, errA := os.ReadFile(straight.folder.Path(file))
			b, errB := os.ReadFile(resumed.folder.Path(file))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: %s differs after resuming: %v, %v", name, file, errA, errB)
			}
		}
	}
}

// The average is of the network's parameters behind each step, and changes nothing of what is
// trained.
func TestAnAverageFollowsTheTrainedWeights(t *testing.T) {
	c := averageConfig(t)
	c.WarmupEpochs, c.Epochs, c.Data.Validation = 0, 5, 0
	c.ClassesPerBatch, c.ImagesPerClass = 8, 4 // one step an epoch
	s := begin(t, c)
	want := map[string][]float64{}
	for _, p := range s.model.Params.All() {
		for _, v := range all(t, s)[p.Name] {
			want[p.Name] = append(want[p.Name], float64(v))
		}
	}
	for n := 1; n <= 5; n++ {
		epoch(t, s)
		if s.stepper.opti.Steps() != n {
			t.Fatalf("%d steps in %d epochs", s.stepper.opti.Steps(), n)
		}
		d, now := min(.9, float64(1+n)/float64(10+n)), all(t, s)
		for name := range want {
			for i, w := range now[name] {
				want[name][i] = d*want[name][i] + (1-d)*float64(w)
			}
		}
	}
	now := all(t, s)
	for _, p := range s.model.Params.All() {
		got, has := now["average/"+p.Name]
		if has != model.Owns(p) {
			t.Errorf("%s has an average: %v", p.Name, has)
		}
		for i, v := range got {
			if w := want[p.Name][i]; math.Abs(float64(v)-w) > 1e-5*(1+math.Abs(w)) {
				t.Fatalf("%s, number %d: %v, want %v (now %v)", p.Name, i, v, w, now[p.Name][i])
			}
		}
	}
	c.EMA = 0
	plain := begin(t, c)
	trainAll(t, plain)
	for name, w := range all(t, plain) {
		if !slices.Equal(w, now[name]) {
			t.Errorf("with an average %s is trained to other numbers", name)
		}
	}
}

// Both models are measured after each epoch and at the end, and the file of the best is that
// of the better one.
func TestBothModelsAreMeasured(t *testing.T) {
	c := averageConfig(t)
	c.Run.EvalEvery = 1
	s := begin(t, c)
	trainAll(t, s)
	best, history := -1., s.state.History
	for _, r := range history {
		if r.EMA == nil || r.EMA.Recall1 < 0 || r.EMA.MAPAtR < 0 || r.Test == nil || r.EMA.Test == nil {
			t.Fatalf("epoch %d: %+v with %+v", r.Epoch, r, r.EMA)
		}
		higher := max(r.MAPAtR, r.EMA.MAPAtR) > best
		if best = max(best, r.MAPAtR, r.EMA.MAPAtR); r.Best != higher {
			t.Errorf("epoch %d is the best so far: %v, want %v", r.Epoch, r.Best, higher)
		}
		if higher && s.state.BestEpoch == r.Epoch && s.state.BestEMA != (r.EMA.MAPAtR >= r.MAPAtR) {
			t.Errorf("the best has averaged weights: %v, with %v and %v", s.state.BestEMA, r.MAPAtR, r.EMA.MAPAtR)
		}
	}
	if averaged, err := s.folder.IsAveraged(run.Best); err != nil || averaged != s.state.BestEMA {
		t.Errorf("the file of the best says %v, %v", averaged, err)
	}
	text, err := os.ReadFile(s.folder.Path(run.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if last := rows[0][len(rows[0])-4:]; !slices.Equal(last, []string{"validation_ema_recall@1", "validation_ema_map@r", "test_ema_recall@1", "test_ema_map@r"}) || len(rows[1]) != len(rows[0]) {
		t.Errorf("the history has %v", rows[0])
	}
	r, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Averaged != s.state.BestEMA || r.LastEpoch != 3 && (r.Last != nil || r.LastEMA != nil) || r.Last == nil && r.LastEMA == nil {
		t.Errorf("results of %+v", r)
	}
	final := history[len(history)-1]
	for what, x := range map[string]struct {
		got  float64
		want *run.TestRecord
	}{"trained": {recallOf(r, false), final.Test}, "averaged": {recallOf(r, true), final.EMA.Test}} {
		if x.got >= 0 && math.Abs(x.got-x.want.Recall1) > 1e-9 {
			t.Errorf("%s: Recall@1 %v at the end, %v in the last epoch", what, x.got, x.want.Recall1)
		}
	}
}

// recallOf is the Recall@1 of the last epoch's model, -1 where that is the best.
func recallOf(r *run.Results, averaged bool) float64 {
	f := r.Last
	if averaged {
		f = r.LastEMA
	}
	if f == nil {
		return -1
	}
	return f.Recall[0].Percent
}

func TestARunWithoutAnAverageHasNoSuchModel(t *testing.T) {
	c := averageConfig(t)
	c.EMA = 0
	s := begin(t, c)
	if _, _, err := s.folder.LoadModel(newTestEngine(t), run.LastEMA); err == nil || !strings.Contains(err.Error(), "the run was trained without an average of its weights") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(s.folder.Path(run.LastEMAFile)); err == nil {
		t.Errorf("there is a %s", run.LastEMAFile)
	}
}

func TestADryRunCountsTheAverage(t *testing.T) {
	c := averageConfig(t)
	c.Loss.Name = "npairs"
	bytes := func(ema float64) (int64, int) {
		c.EMA = ema
		e, err := DryRun(t.Context(), c, newTestEngine(t), Options{Workers: 1, Events: silent{}, Restarts: 1})
		if err != nil {
			t.Fatal(err)
		}
		return e.Memory.Optimizer, e.Embedded
	}
	plain, embedded := bytes(0)
	with, both := bytes(.9)
	s := begin(t, c)
	epoch(t, s) // of the warm-up
	if err := s.release(); err != nil {
		t.Fatal(err)
	}
	if got, want := with-plain, s.stepper.average.Bytes(); got != want {
		t.Errorf("%d bytes more, want %d", got, want)
	}
	if both != 2*embedded {
		t.Errorf("%d images embedded in validations, without an average %d", both, embedded)
	}
}

package train

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

func fixedTime() time.Time { return time.Unix(1, 500_000_000) }

// heard trains a configuration and returns the events.
func heard(t *testing.T, c run.Config) (*Session, *listening) {
	t.Helper()
	l := &listening{}
	s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s, l
}

func says(list []string, text string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, text) })
}

// Random batches of two images of many classes hold no pair of one class.
func TestNoActivePairIsSaid(t *testing.T) {
	c := smallConfig(t, shades(t, 12, 2))
	c.WarmupEpochs, c.Epochs, c.Loss = 0, 1, run.LossConfig{Name: "triplet"}
	c.Sampler, c.BatchSize = "random", 2
	s, l := heard(t, c)
	if r := s.state.History[0]; r.Idle < .5 || !says(l.warnings, "no pair was active in") {
		t.Errorf("idle %v, said %q", r.Idle, l.warnings)
	}
}

// Embeddings of a large scale are saturated in nearly all coordinates.
func TestSaturationOfTheRestrictionIsSaid(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.WarmupEpochs, c.Epochs, c.Loss, c.Model.Scale = 0, 1, run.LossConfig{Name: "npairs"}, 1e4
	s, l := heard(t, c)
	if r := s.state.History[0]; r.Saturated < .5 || !says(l.warnings, "beyond 95% of the restriction's bound") {
		t.Errorf("saturated %v, said %q", r.Saturated, l.warnings)
	}
	c.Model.Scale = 1
	if s, l := heard(t, c); s.state.History[0].Saturated > saturatedShare || says(l.warnings, "bound") {
		t.Errorf("at scale 1: saturated %v, said %q", s.state.History[0].Saturated, l.warnings)
	}
}

// R(t) = 0.95 B at t = ln 39 for the sigmoid, 19 for the soft sign, artanh 0.95 for
// tanh.
func TestWhereARestrictionIsSaturated(t *testing.T) {
	for r, want := range map[metric.Restriction]float64{metric.Sigmoid: math.Log(39), metric.SoftSign: 19, metric.TanH: math.Atanh(.95), metric.ArcTan: math.Tan(.95 * math.Pi / 2)} {
		if got := saturatedFrom(metric.Metric{Kind: metric.BRM, Restriction: r, P: 2}); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%v: %v, want %v", r, got, want)
		}
	}
	if got := saturatedFrom(metric.Metric{Kind: metric.Cosine}); !math.IsInf(got, 1) {
		t.Errorf("cosine: %v", got)
	}
}

// Nothing is learned at a rate of 0, and nothing is between equal embeddings.
func TestACollapseIsSaid(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.WarmupEpochs, c.Epochs = 0, 1
	s, l := heard(t, c)
	if says(l.warnings, "collapsed") {
		t.Errorf("said of a sound run: %q", l.warnings)
	}
	more := &listening{}
	s.ev = more
	s.teller.warn(run.EpochRecord{DistanceMean: .2, DistanceStd: 1e-5}, 3, health{})
	if !says(more.warnings, "collapsed") {
		t.Errorf("said %q", more.warnings)
	}
}

func TestGradientsThatExplodeOrVanishAreCounted(t *testing.T) {
	var h health
	for i := range 30 {
		h.step(i+1, 2, false)
	}
	h.step(31, 150, false) // 75 times the level
	if h.Loud != 0 {
		t.Errorf("75 times the usual norm counts as an explosion: %+v", h)
	}
	h.step(32, 5000, false)
	h.step(33, 9000, false)
	h.step(34, 1e-9, false)
	h.step(35, 0, true)
	if h.Loud != 2 || h.LoudAt != 32 || h.LoudNorm != 5000 || h.Faint != 1 || h.Idle != 1 {
		t.Errorf("%+v", h)
	}
	l := &listening{}
	s := newSession(run.Config{}, "", Options{Events: l})
	s.teller.warn(run.EpochRecord{Epoch: 3, DistanceMean: 1, DistanceStd: 1}, 36, h)
	if !says(l.warnings, "exploded in 2 steps, at step 32 to a norm of 5e+03") || says(l.warnings, "vanished") {
		t.Errorf("said %q", l.warnings)
	}
	h.Faint = 30
	s.teller.warn(run.EpochRecord{Epoch: 3, DistanceMean: 1, DistanceStd: 1}, 36, h)
	if !says(l.warnings, "vanished in 30 of 36 steps") || !says(l.warnings, "too large a value of optimizer.rate") {
		t.Errorf("said %q", l.warnings)
	}
	h.nextEpoch()
	if h.Loud+h.Faint+h.Idle != 0 || h.Steps == 0 {
		t.Errorf("after the epoch: %+v", h)
	}
}

func TestProgressHasLossRatesSpeedAndTheEnd(t *testing.T) {
	c := longer(t)
	c.Optimizer.HeadRate = 2
	_, l := heard(t, c)
	for _, want := range []string{"loss ", "rate 0.001, head 0.002, loss 0.01", " images/s", "training ends in "} {
		if !says(l.details, want) {
			t.Errorf("no %q in %q", want, l.details)
		}
	}
}

// The figures of the best and the last epoch are both reported, and the test
// classes in between where asked for, which changes nothing.
func TestBestLastAndTestClassesAreReported(t *testing.T) {
	c := longer(t)
	plain := begin(t, c)
	if err := plain.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	c.Run.EvalEvery = 4
	s := begin(t, c)
	if err := s.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	want, got := all(t, plain), all(t, s)
	for name := range want {
		if !slices.Equal(want[name], got[name]) {
			t.Errorf("%s differs where the test classes were looked at", name)
		}
	}
	for i, r := range s.state.History {
		if (r.Test != nil) != (i == 3 || i == 5) {
			t.Errorf("epoch %d: test classes %v", i+1, r.Test)
		}
	}
	r, err := s.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if s.state.BestEpoch == 6 {
		if r.Last != nil || r.Epoch != 6 {
			t.Errorf("the last epoch is the best, and reported twice: %+v", r)
		}
	} else if r.Epoch != s.state.BestEpoch || r.Last == nil || r.LastEpoch != 6 {
		t.Errorf("best %d, last %d %v", r.Epoch, r.LastEpoch, r.Last)
	}
	last := r.Model
	if r.Last != nil {
		last = r.Last
	}
	if test := s.state.History[5].Test; math.Abs(recall1(last)-test.Recall1) > 1e-9 {
		t.Errorf("Recall@1 of the last epoch is %v at the end, %v in the curve", recall1(last), test.Recall1)
	}
	if s.measurer.probes.embedder == nil || s.measurer.probes.test == nil {
		t.Error("the compiled network was not kept")
	}
}

// Without validation classes the curve of the test classes stands alone.
func TestTestClassesAreReportedWithoutValidation(t *testing.T) {
	c := longer(t)
	c.Data.Validation = 0
	c.Epochs, c.Run.EvalEvery = 2, 1
	s := begin(t, c)
	if err := s.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.folder.Path(run.FiguresFolder), run.RecallFigure)); err != nil {
		t.Error(err)
	}
	if r := s.state.History[0]; r.Test == nil || r.Recall1 >= 0 {
		t.Errorf("epoch 1: %+v", r)
	}
}

func recall1(f *eval.Figures) float64 { return f.Recall[0].WithoutLone }

// An embedding may not depend on the images beside it.
func TestAnImageIsEmbeddedAloneAsInABatch(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Model.HeadNorm = model.HeadNormBatch
	s := begin(t, c)
	epoch(t, s)
	epoch(t, s)
	images := pictures(5, 16)
	one, err := s.model.NewEmbedder(1)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	five, err := s.model.NewEmbedder(5)
	if err != nil {
		t.Fatal(err)
	}
	defer five.Close()
	want, err := five.Embed(nil, images)
	if err != nil {
		t.Fatal(err)
	}
	got, err := one.Embed(nil, images)
	if err != nil {
		t.Fatal(err)
	}
	if d := apart(got, want); d > 1e-5 {
		t.Errorf("off by %v", d)
	}
}

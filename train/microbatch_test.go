package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// stepOf runs one step of a network on given images, and returns the loss, the
// gradient of every parameter, and the running statistics after it.
func stepOf(t *testing.T, c run.Config, images []float32, labels []int, micro int) (loss float64, grads, stats map[string][]float32) {
	t.Helper()
	eng := newTestEngine(t)
	m, err := model.New(eng, c.Model, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Freeze(c.Freeze, false); err != nil {
		t.Fatal(err)
	}
	const classes = 4
	goal, err := objectiveOf(c, classes)
	if err != nil {
		t.Fatal(err)
	}
	n, err := buildNetwork(m, goal, len(labels), micro)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if (n.micro != nil) != (micro > 0 && micro < len(labels)) {
		t.Fatalf("micro-batches of %d for %d images: two passes is %v", micro, len(labels), n.micro != nil)
	}
	if err := n.loss.SetLabels(labels); err != nil {
		t.Fatal(err)
	}
	if loss, err = n.run(&data.Batch{Images: images}); err != nil {
		t.Fatal(err)
	}
	grads, stats = map[string][]float32{}, map[string][]float32{}
	read := func(v engine.Tensor) []float32 {
		host := make([]float32, v.Size())
		if err := eng.Read(host, v); err != nil {
			t.Fatal(err)
		}
		return host
	}
	for _, p := range m.Params.All() {
		if p.Role == layers.Buffer {
			stats[p.Name] = read(p.Value)
		} else if p.Trainable() {
			g := n.ParamGrad(p)
			if g == nil {
				t.Fatalf("%s has no gradient", p.Name)
			}
			grads[p.Name] = read(g)
		}
	}
	return loss, grads, stats
}

// apart is |a - b| / |b|.
func apart(a, b []float32) float64 {
	var d, n float64
	for i, v := range b {
		d += float64(a[i]-v) * float64(a[i]-v)
		n += float64(v) * float64(v)
	}
	return math.Sqrt(d / max(n, 1e-30))
}

func pictures(n, size int) []float32 {
	r := rand.New(rand.NewPCG(3, 4))
	x := make([]float32, n*3*size*size)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func microConfig(t *testing.T) run.Config {
	c := smallConfig(t, "x")
	c.Freeze = model.Freeze{BNStats: true}
	return c
}

// Micro-batches of 3 divide 12, those of 5 and 7 leave a rest.
func TestMicroBatchesGiveTheGradientOfTheWholeBatch(t *testing.T) {
	const n = 12
	labels := []int{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}
	images := pictures(n, 16)
	for name, change := range map[string]func(*run.Config){
		"proxy-anchor": func(c *run.Config) {},
		"npairs":       func(c *run.Config) { c.Loss.Name = "npairs" },
		"triplet, unnormalized, sec": func(c *run.Config) {
			c.Loss.Name, c.Loss.Terms = "triplet", []run.TermConfig{{Name: "sec"}, {Name: "orthogonality"}}
			c.Model.Normalization, c.Model.Metric = model.NormNone, metric.Metric{Kind: metric.SquaredEuclidean}
		},
		"cosface, jrd": func(c *run.Config) { c.Loss.Name, c.Loss.Terms = "cosface", []run.TermConfig{{Name: "jrd"}} },
		"triplet, distance, mdr, nasa": func(c *run.Config) {
			c.Loss.Name, c.Loss.Terms = "triplet", []run.TermConfig{{Name: "mdr"}, {Name: "nasa"}}
			c.Model.Normalization, c.Model.Metric = model.NormDistance, metric.Metric{Kind: metric.Euclidean}
		},
		"coordinates by the batch": func(c *run.Config) { c.Model.Normalization = model.NormCoordinates },
		"all but the proxies frozen": func(c *run.Config) {
			c.Freeze.Params = []string{"*"}
		},
	} {
		c := microConfig(t)
		change(&c)
		loss, grads, stats := stepOf(t, c, images, labels, 0)
		// The statistics of 12 rows and their distances magnify what rows differ by in their
		// last bits, and the bias before them has no gradient but rounding.
		far, bias := 1e-5, c.Model.Normalization != model.NormCoordinates && c.Model.Normalization != model.NormDistance
		if !bias {
			far = 5e-5
		}
		for _, micro := range []int{1, 3, 5, 7, 12, 99} {
			l, g, s := stepOf(t, c, images, labels, micro)
			if math.Abs(l-loss) > far*math.Abs(loss) {
				t.Errorf("%s, micro-batches of %d: loss %v, want %v", name, micro, l, loss)
			}
			for p, want := range grads {
				if d := apart(g[p], want); d > far && (bias || p != "embedding.bias") {
					t.Errorf("%s, micro-batches of %d: gradient of %s is %.2g off", name, micro, p, d)
				}
			}
			for p, want := range stats {
				if d := apart(s[p], want); d > 1e-5 {
					t.Errorf("%s, micro-batches of %d: %s is %.2g off", name, micro, p, d)
				}
			}
		}
	}
}

// With statistics of the batch two passes are no longer the same, but running
// statistics move once a part.
func TestMicroBatchesMoveRunningStatisticsOnceAPart(t *testing.T) {
	labels := []int{0, 0, 1, 1}
	half := pictures(2, 16)
	images := append(slices.Clone(half), half...)
	c := microConfig(t)
	c.Freeze.BNStats = false
	_, _, whole := stepOf(t, c, images, labels, 0)
	_, _, parts := stepOf(t, c, images, labels, 2)
	// Both parts hold the same images, so their means are that of the batch, and
	// after two steps of 0.1 from 0 the running one is 0.19 of it, after one 0.1.
	for i, v := range whole["block1.bn.running_mean"] {
		if got, want := float64(parts["block1.bn.running_mean"][i]), 1.9*float64(v); math.Abs(got-want) > 1e-5 {
			t.Fatalf("running mean %d: %v, want %v", i, got, want)
		}
	}
}

func TestMicroBatchesThatAreNotExactAreSaidToBe(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.MicroBatch = 3
	l := &listening{}
	s, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: l})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !says(l.warnings, "use the statistics of each micro-batch") {
		t.Errorf("no word of it in %q", l.warnings)
	}
	c.MicroBatch = 4
	if _, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: silent{}}); err == nil || !strings.Contains(err.Error(), "do not fill a batch of 6") {
		t.Errorf("parts that do not fill a batch: %v", err)
	}
	c.Freeze.BNStats = true
	exact, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Workers: 1, Events: l})
	if err != nil {
		t.Fatal(err)
	}
	defer exact.Close()
	if err := exact.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// A step of many parts may take minutes.
func TestHowFarAStepOfPartsHasComeIsSaid(t *testing.T) {
	c := smallConfig(t, shades(t, 6, 4))
	c.Data.Validation, c.WarmupEpochs, c.Epochs, c.MicroBatch = 0, 0, 2, 3
	_, l := heard(t, c)
	n := c.Batch()
	for _, want := range []string{fmt.Sprintf("first pass 3/%d images", n), fmt.Sprintf("first pass %d/%d images", n, n), fmt.Sprintf("second pass 3/%d images", n), fmt.Sprintf("second pass %d/%d images  loss ", n, n)} {
		if !says(l.details, want) {
			t.Errorf("%q is not among %q", want, l.details)
		}
	}
}

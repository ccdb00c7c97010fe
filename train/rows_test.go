package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// featureConfig trains a head on 12 classes of 6 rows of 10 numbers around their means.
func featureConfig(t *testing.T) run.Config {
	t.Helper()
	const classes, each, width = 12, 6, 10
	r := rand.New(rand.NewPCG(1, 2))
	var x, y []float32
	for c := range classes {
		mean := make([]float64, width)
		for j := range mean {
			mean[j] = 3 * r.NormFloat64()
		}
		for range each {
			y = append(y, float32(c))
			for _, m := range mean {
				x = append(x, float32(m+r.NormFloat64()))
			}
		}
	}
	dir := t.TempDir()
	at := func(name string, shape []int, v []float32) string {
		a, err := weights.FromFloat32("x", shape, v)
		path := filepath.Join(dir, name)
		if err == nil {
			err = weights.WriteNPY(path, a)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	spec := fmt.Sprintf("features:%s,labels=%s", at("x.npy", []int{len(y), width}, x), at("y.npy", []int{len(y)}, y))
	c := run.Default(spec)
	c.Model.Backbone = "features:norm=coordinates"
	c.Model.Head, c.Model.HeadNorm, c.Model.Dropout, c.Model.Dim = "mlp:16,8", "layer", 0.3, 4
	c.Data.Shorter, c.Data.Validation = 0, 0.34
	c.ClassesPerBatch, c.ImagesPerClass, c.Epochs = 3, 2, 3
	c.Run.SaveEvery = 0
	return c
}

func TestAHeadOnFeaturesGoesOnAsIfItHadNeverStopped(t *testing.T) {
	for name, change := range map[string]func(*run.Config){
		"whole batches": func(*run.Config) {},
		"micro-batches": func(c *run.Config) { c.MicroBatch = 4 },
		"residual":      func(c *run.Config) { c.Model.Head, c.Model.HeadNorm = "residual:8", "batch" },
		"proxies":       func(c *run.Config) { c.Loss.Name = "proxy-anchor" },
	} {
		c := featureConfig(t)
		change(&c)
		straight, _ := resumedInTheMiddle(t, name, c)
		if got := straight.model.Spec.Backbone; got != "features:dim=10,norm=coordinates" {
			t.Fatalf("%s: backbone %q", name, got)
		}
	}
}

func TestMicroBatchesDropWhatAWholeBatchDrops(t *testing.T) {
	c := featureConfig(t)
	whole := begin(t, c)
	c.MicroBatch = 4 // of 6
	parts := begin(t, c)
	trainAll(t, whole)
	trainAll(t, parts)
	want, got := all(t, whole), all(t, parts)
	for tensor := range want {
		for i, w := range want[tensor] {
			if math.Abs(float64(w-got[tensor][i])) > 2e-3*(1+math.Abs(float64(w))) {
				t.Fatalf("%s, number %d: %v in parts, %v as a whole", tensor, i, got[tensor][i], w)
			}
		}
	}
}

func TestFeaturesAreNormalizedByTheTrainingRows(t *testing.T) {
	s := begin(t, featureConfig(t))
	width := s.model.Width()
	var mean, variance float64
	set, n := s.sets.Train, float64(len(s.sets.Train.Items))
	var column []float64
	for b, err := range s.feeder.trainer.All(t.Context(), len(set.Items)) {
		if err != nil {
			t.Fatal(err)
		}
		for i := 3; i < len(b.Images); i += width {
			column = append(column, float64(b.Images[i]))
			mean += float64(b.Images[i]) / n
		}
	}
	for _, v := range column {
		variance += (v - mean) * (v - mean) / n
	}
	for name, want := range map[string]float64{"features.mean": mean, "features.var": variance} {
		v := make([]float32, width)
		if err := s.model.Params.Engine().Read(v, s.model.Params.Get(name).Value); err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(v[3])-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("%s of coordinate 3 is %v, want %v", name, v[3], want)
		}
	}
}

func TestRowsAndImagesAreNotTakenForEachOther(t *testing.T) {
	c := featureConfig(t)
	images := smallConfig(t, shades(t, 8, 4))
	images.Model, images.Data.Augment = c.Model, "none"
	other := smallConfig(t, shades(t, 8, 4))
	other.Data.Spec = c.Data.Spec
	wide := featureConfig(t)
	wide.Model.Backbone = "features:dim=4"
	for says, c := range map[string]run.Config{"takes rows of numbers": images, "and backbone convnet takes images": other, "takes rows of 4 numbers, these have 10": wide} {
		_, err := Start(context.Background(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{Events: silent{}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}

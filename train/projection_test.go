package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// projectionConfig trains behind a projection with batch normalization.
func projectionConfig(t *testing.T) run.Config {
	c := viewsConfig(t, shades(t, 8, 5))
	c.Model.Projection, c.Model.ProjectionNorm = "24,6", model.HeadNormBatch
	return c
}

// The gradient of each parameter of a projection, of rows below it and of the network agrees
// with differences of the loss, under three metrics, in one graph and in parts.
func TestGradientsThroughAProjectionAreDifferencesOfTheLoss(t *testing.T) {
	for _, name := range []string{"brm", "euclidean", "cosine"} {
		for _, micro := range []int{0, 4} {
			c := projectionConfig(t)
			c.Loss.Params = map[string]string{"temperature": "0.5"}
			if err := c.Model.Metric.UnmarshalText([]byte(name)); err != nil {
				t.Fatal(err)
			}
			c.MicroBatch, c.Freeze = micro, model.Freeze{BNStats: true}
			s := begin(t, c)
			batch := firstBatch(t, s)
			if err := s.stepper.net.loss.SetLabels(batch.Labels); err != nil {
				t.Fatal(err)
			}
			loss := func() float64 {
				v, err := s.stepper.net.run(batch)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			loss()
			eng := s.model.Params.Engine()
			checked := 0
			r := rand.New(rand.NewPCG(7, 7))
			for _, p := range s.model.Params.All() {
				if p.Group != layers.Training && p.Name != "embedding.weight" || !p.Trainable() {
					continue
				}
				grad, w := make([]float32, p.Value.Size()), make([]float32, p.Value.Size())
				loss()
				if err := eng.Read(grad, s.stepper.net.ParamGrad(p)); err != nil {
					t.Fatal(err)
				}
				if err := eng.Read(w, p.Value); err != nil {
					t.Fatal(err)
				}
				// Along a random direction and along the gradient itself.
				for _, along := range []string{"gradient", "random"} {
					d := make([]float64, len(w))
					norm := 0.
					for k := range d {
						d[k] = float64(grad[k])
						if along == "random" {
							d[k] = r.NormFloat64()
						}
						norm += d[k] * d[k]
					}
					if norm < 1e-12 { // a bias that a normalization takes away
						continue
					}
					const step = 2e-3
					want := 0.
					at := func(sign float64) float64 {
						moved := make([]float32, len(w))
						for k := range moved {
							moved[k] = w[k] + float32(sign*step*d[k]/math.Sqrt(norm))
						}
						if err := eng.Write(p.Value, moved); err != nil {
							t.Fatal(err)
						}
						return loss()
					}
					for k := range d {
						want += float64(grad[k]) * d[k] / math.Sqrt(norm)
					}
					got := (at(1) - at(-1)) / (2 * step)
					if err := eng.Write(p.Value, w); err != nil {
						t.Fatal(err)
					}
					if math.Abs(got-want) > 2e-2*max(math.Abs(want), .02) {
						t.Errorf("%s, parts of %d, %s along the %s: differences %.5g, gradient %.5g", name, micro, p.Name, along, got, want)
					}
					checked++
				}
			}
			if checked < 10 {
				t.Errorf("%s, parts of %d: %d directions were checked", name, micro, checked)
			}
		}
	}
}

// A projection goes on with a run that is stopped, and is in no model's file.
func TestAProjectionGoesOnWithARunAndIsInNoModel(t *testing.T) {
	c := projectionConfig(t)
	straight, _ := resumedInTheMiddle(t, "projection", c)
	m, _, err := straight.folder.LoadModel(newTestEngine(t), run.Last)
	if err != nil {
		t.Fatal(err)
	}
	if m.Spec.Projection != "24,6" || m.Spec.Dim != 8 {
		t.Errorf("the model's projection is %q, its embeddings have %d numbers", m.Spec.Projection, m.Spec.Dim)
	}
	for _, p := range m.Params.All() {
		if strings.HasPrefix(p.Name, "training.") {
			t.Errorf("the model has %s", p.Name)
		}
	}
	c.Model.Projection, c.Model.ProjectionNorm = "", ""
	plain := begin(t, c)
	trainAll(t, plain)
	if slices.Equal(all(t, plain)["embedding.weight"], all(t, straight)["embedding.weight"]) {
		t.Error("a projection changes nothing of training")
	}
}

// Rows of classes lie behind the projection.
func TestProxiesAreComparedBehindAProjection(t *testing.T) {
	c := smallConfig(t, shades(t, 8, 4))
	c.Model.Projection, c.Loss.Name = "6", "proxy-anchor"
	s := begin(t, c)
	if shape := s.model.Params.Get("loss.proxies").Value.Shape(); !slices.Equal(shape, []int{4, 6}) {
		t.Errorf("proxies of shape %v, want 4 classes of 6 numbers", shape)
	}
	trainAll(t, s)
	c.Loss.Start = "means"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "no means of embeddings") {
		t.Errorf("got %v", err)
	}
}

// Ranks and parts normalize behind a projection by the whole batch.
func TestRanksTrainBehindAProjection(t *testing.T) {
	c := ranksConfig(t)
	c.Model.Projection, c.Model.ProjectionNorm = "12,6", model.HeadNormBatch
	c.Loss.Name, c.Steps = "supcon", 8
	alone := begin(t, c)
	trainAll(t, alone)
	ranksTrainTheSame(t, c, bytesOf(t, alone.folder), 4)
}

// firstBatch is the first batch of a run, which is not given back.
func firstBatch(t *testing.T, s *Session) *data.Batch {
	t.Helper()
	for b, err := range s.feeder.trainer.Epoch(t.Context(), s.sampler, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Fatal("there is no batch")
	return nil
}

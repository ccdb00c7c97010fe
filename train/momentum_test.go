package train

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// momentumConfig is a run on views with momentum encoder, queue and projection.
func momentumConfig(t *testing.T) run.Config {
	c := projectionConfig(t)
	c.MomentumEncoder, c.Loss.Memory = .9, 40
	return c
}

// The encoder begins as the network and moves behind it by its momentum, buffers included.
func TestTheMomentumEncoderFollowsTheNetwork(t *testing.T) {
	c := momentumConfig(t)
	c.Steps = 4
	s := begin(t, c)
	names := func() (list []string) {
		for _, p := range s.model.Params.All() {
			if rest, is := strings.CutPrefix(p.Name, momentumPrefix); is {
				list = append(list, rest)
			}
		}
		return list
	}()
	if len(names) < 20 || !slices.Contains(names, "embedding.weight") || !slices.Contains(names, "training.projection.fc1.weight") {
		t.Fatalf("the encoder has %q", names)
	}
	now := all(t, s)
	want := map[string][]float64{}
	for _, name := range names {
		if !slices.Equal(now[name], now[momentumPrefix+name]) {
			t.Errorf("%s does not begin at the network's", name)
		}
		for _, v := range now[name] {
			want[name] = append(want[name], float64(v))
		}
	}
	for b, err := range s.feeder.trainer.Epoch(t.Context(), s.sampler, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.stepper.step(b, nil); err != nil {
			t.Fatal(err)
		}
		now = all(t, s)
		for _, name := range names {
			for k, v := range now[name] {
				w := &want[name][k]
				*w += (1 - .9) * (float64(v) - *w)
				if got := float64(now[momentumPrefix+name][k]); math.Abs(got-*w) > 1e-5*max(1, math.Abs(*w)) {
					t.Fatalf("step %d: %s, number %d of the encoder is %v, want %v", s.stepper.opti.Steps(), name, k, got, *w)
				}
			}
		}
	}
	queue := now["loss.memory.state"]
	if steps := s.stepper.opti.Steps(); steps < 3 || queue[0] != 40 || queue[2] != float32(steps) {
		t.Errorf("behind %d steps the queue says %v: 40 of 16 a step are kept", steps, queue)
	}
}

// A run that is killed goes on to the bytes of one that was not, queue and encoder included.
func TestAMomentumEncoderGoesOnAsIfItHadNeverStopped(t *testing.T) {
	straight, _ := resumedInTheMiddle(t, "momentum", momentumConfig(t))
	// The model of a run has nothing of it.
	text, err := os.ReadFile(straight.folder.Path(run.LastFile))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), momentumPrefix) {
		t.Error("the model's file has numbers of the momentum encoder")
	}
}

// Ranks and parts of the batch have the encoder of one process, to the bit.
func TestRanksShareAMomentumEncoder(t *testing.T) {
	c := ranksConfig(t)
	c.Data.Labels, c.Data.Views, c.Data.Augment = run.NoLabels, 2, "mocov2"
	c.ClassesPerBatch, c.ImagesPerClass, c.WarmupEpochs, c.Steps = 8, 2, 0, 8
	c.Model.Projection, c.Model.ProjectionNorm = "12,6", model.HeadNormBatch
	c.MomentumEncoder = .9
	for _, bn := range []bool{true, false} {
		c.Freeze.BNStats = bn
		for _, loss := range []run.LossConfig{{Name: "ntxent", Memory: 40}, {Name: "supcon"}} {
			c.Loss = loss
			alone := begin(t, c)
			trainAll(t, alone)
			t.Run(fmt.Sprintf("%s, frozen statistics %v", loss.Name, bn), func(t *testing.T) {
				ranksTrainTheSame(t, c, bytesOf(t, alone.folder), 2, 8)
			})
		}
	}
}

// Parts of the batch give the loss and the gradient of the whole, where no normalization has
// the statistics of a batch.
func TestPartsGiveTheGradientOfTheWholeBehindAMomentumEncoder(t *testing.T) {
	grads := map[int]map[string][]float32{}
	loss := map[int]float64{}
	for _, micro := range []int{0, 4} {
		c := momentumConfig(t)
		c.Freeze, c.MicroBatch = model.Freeze{BNStats: true}, micro
		s := begin(t, c)
		b := firstBatch(t, s)
		if err := s.stepper.net.loss.SetLabels(b.Labels); err != nil {
			t.Fatal(err)
		}
		if err := s.stepper.net.loss.SetItems(b.Items); err != nil {
			t.Fatal(err)
		}
		var err error
		if loss[micro], err = s.stepper.net.run(b); err != nil {
			t.Fatal(err)
		}
		grads[micro] = map[string][]float32{}
		for _, p := range s.model.Params.All() {
			if !p.Trainable() {
				continue
			}
			g := make([]float32, p.Value.Size())
			if err := s.model.Params.Engine().Read(g, s.stepper.net.ParamGrad(p)); err != nil {
				t.Fatal(err)
			}
			grads[micro][p.Name] = g
		}
	}
	if d := math.Abs(loss[0] - loss[4]); d > 1e-5 {
		t.Errorf("losses %v and %v", loss[0], loss[4])
	}
	for name, want := range grads[0] {
		largest := 0.
		for _, v := range want {
			largest = max(largest, math.Abs(float64(v)))
		}
		for k, v := range grads[4][name] {
			if math.Abs(float64(v-want[k])) > 1e-3*max(largest, 1e-3) {
				t.Errorf("%s: gradient %v, want %v", name, v, want[k])
				break
			}
		}
	}
}

func TestADryRunHasAMomentumEncoder(t *testing.T) {
	c := momentumConfig(t)
	e, err := DryRun(t.Context(), c, newTestEngine(t), Options{Workers: 1, Events: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	c.MomentumEncoder, c.Loss.Memory = 0, 0
	plain, err := DryRun(t.Context(), c, newTestEngine(t), Options{Workers: 1, Events: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	if e.Trained != plain.Trained || e.Memory.Weights <= plain.Memory.Weights {
		t.Errorf("%d numbers are trained and %d bytes of weights, %d and %d without the encoder", e.Trained, e.Memory.Weights, plain.Trained, plain.Memory.Weights)
	}
}

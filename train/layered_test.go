package train

import (
	"crypto/sha256"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// layeredConfig trains with layers over the batch, with dropout.
func layeredConfig(t *testing.T) run.Config {
	t.Helper()
	c := smallConfig(t, shades(t, 8, 4))
	c.Loss = run.LossConfig{Name: "ibc", Params: map[string]string{"layers": "2", "joined": "true", "dropout": "0.2"}}
	return c
}

// Layers that belong to training, with their moments and dropouts, continue from a
// checkpoint to the bit: of a loss, of a term, in parts, beside an average of the weights.
func TestLayersOfTrainingGoOnWithARun(t *testing.T) {
	for name, change := range map[string]func(*run.Config){
		"loss": func(*run.Config) {},
		"term": func(c *run.Config) {
			c.Loss = run.LossConfig{Name: "triplet", Terms: []run.TermConfig{{Name: "ibc", Params: map[string]string{"weight": "0.5"}}}}
		},
		"in parts": func(c *run.Config) { c.MicroBatch, c.Freeze.BNStats, c.WarmupEpochs = 3, true, 0 },
		"average":  func(c *run.Config) { c.EMA = .9 },
		"RAdam":    func(c *run.Config) { c.Optimizer.Name = "radam" },
	} {
		c := layeredConfig(t)
		change(&c)
		straight, _ := resumedInTheMiddle(t, name, c)
		tensors := all(t, straight)
		own := 0
		for _, p := range straight.model.Params.All() {
			if p.Group == layers.Training {
				own++
				if _, ok := tensors[p.Name]; !ok {
					t.Errorf("%s: a checkpoint lacks %s", name, p.Name)
				}
				if _, ok := tensors["average/"+p.Name]; ok {
					t.Errorf("%s: %s is averaged", name, p.Name)
				}
			}
		}
		if own < 20 {
			t.Errorf("%s: %d parameters belong to training", name, own)
		}
		for _, file := range []string{run.LastFile, run.BestFile} {
			f, err := weights.Open(straight.folder.Path(file))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range f.Names() {
				if p := straight.model.Params.Get(n); p == nil || !p.Group.InModel() || strings.Contains(n, "ibc") {
					t.Errorf("%s: %s has %s", name, file, n)
				}
			}
			f.Close()
		}
	}
}

// In parts of 3 images the layers see the whole batch, with the same numbers left out.
func TestMicroBatchesLeaveLayersOfTrainingTheWholeBatch(t *testing.T) {
	c := layeredConfig(t)
	c.Epochs, c.WarmupEpochs, c.Freeze.BNStats = 1, 0, true
	whole := begin(t, c)
	c.MicroBatch = 3
	parts := begin(t, c)
	trainAll(t, whole)
	trainAll(t, parts)
	if a, b := whole.state.History[0].Loss, parts.state.History[0].Loss; math.Abs(a-b) > 1e-4*a {
		t.Errorf("the loss is %v in parts, %v as a whole", b, a)
	}
}

// One, two and four ranks train the same bits, layers over the batch and their dropouts
// included.
func TestRanksTrainLayersOverTheWholeBatch(t *testing.T) {
	c := ranksConfig(t)
	c.Loss, c.Steps, c.Data.Validation = run.LossConfig{Name: "ibc"}, 4, 0
	var want []string
	for _, size := range []int{1, 2, 4} {
		folder := run.Folder(filepath.Join(t.TempDir(), "run"))
		err := onRanks(t, size, starting(t, c, folder), func(s *Session) error {
			if err := s.Train(t.Context()); err != nil {
				return err
			}
			return s.agree()
		})
		if err != nil {
			t.Fatalf("%d ranks: %v", size, err)
		}
		f, err := weights.Open(folder.Path(run.CheckpointFile))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(f.Names(), "optimizer/exp_avg/loss.ibc.layer1.attention.qkv.weight") {
			t.Errorf("%d ranks: the checkpoint lacks the layers' moments", size)
		}
		var got []string
		for _, name := range f.Names() {
			tensor, err := f.Tensor(name)
			if err != nil {
				t.Fatal(err)
			}
			host, err := tensor.Float32()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %x", name, sha256.Sum256(fmt.Append(nil, host))))
		}
		f.Close()
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d ranks train other numbers than one", size)
		}
	}
}

// The sizes of a run name what is thrown away after it. With h = 8 and 4 classes: classifier
// and reduction 36 and 72, attention 216 and 72, MLP 288 and 264, normalizations 32 and 8,
// logits 32.
func TestASessionSaysWhatOnlyTrainingNeeds(t *testing.T) {
	c := layeredConfig(t)
	c.Loss.Params = nil
	c.WarmupEpochs, c.Freeze.To = 0, "block1"
	s := begin(t, c)
	_, frozen := countParams(s.model.Params)
	want := fmt.Sprintf("%d parameters (%d trained) and 1020 that only training needs", s.model.Size(), s.model.Size()-frozen)
	if text := s.Describe(); frozen == 0 || !strings.Contains(text, want) {
		t.Errorf("%s, want %q in it", text, want)
	}
}

func TestLayersDoNotFollowAScale(t *testing.T) {
	c := layeredConfig(t)
	c.Model.Scaling = "learn"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "the layers of loss ibc do not see the metric") {
		t.Errorf("got %v", err)
	}
}

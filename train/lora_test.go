package train

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// A run with LoRA leaves the network's own weights as they are, has the matrices in its
// checkpoints, and models in the files that are embedded with.
func TestLoRAGoesOnAsIfItHadNeverStopped(t *testing.T) {
	c := transformerConfig(t)
	c.Model.LoRA = layers.LoRA{Rank: 2, Alpha: 4}
	before := all(t, begin(t, c))
	straight, resumed := resumedInTheMiddle(t, "LoRA", c)
	after := all(t, straight)
	for _, p := range straight.model.Params.All() {
		same := slices.Equal(before[p.Name], after[p.Name])
		if want := p.Group == layers.Backbone && p.Role != layers.LowRank; same != want {
			t.Errorf("%s is as it was: %v, want %v", p.Name, same, want)
		}
	}
	for _, name := range []string{run.LastFile, run.BestFile} {
		a, errA := os.ReadFile(straight.folder.Path(name))
		b, errB := os.ReadFile(resumed.folder.Path(name))
		if errA != nil || errB != nil || !slices.Equal(a, b) {
			t.Errorf("%s differs after resuming: %v, %v", name, errA, errB)
		}
	}
	checkpoint, err := weights.Open(straight.folder.Path(run.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	defer checkpoint.Close()
	const matrix = "blocks.11.attn.qkv.lora_B"
	if names := checkpoint.Names(); !slices.Contains(names, matrix) || !slices.Contains(names, "optimizer/exp_avg/"+matrix) || slices.Contains(names, "optimizer/exp_avg/blocks.11.attn.qkv.weight") {
		t.Errorf("the checkpoint has %v", names)
	}

	eng := straight.model.Params.Engine()
	file, _, err := model.Load(straight.folder.Path(run.LastFile), eng)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 2*3*32*32)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	var rows [2][]float32
	for i, m := range []*model.Model{straight.model, file} {
		e, err := m.NewEmbedder(2)
		if err != nil {
			t.Fatal(err)
		}
		if rows[i], err = e.Embed(nil, x); err != nil {
			t.Fatal(err)
		}
		e.Close()
	}
	for i, want := range rows[0] {
		if math.Abs(float64(rows[1][i]-want)) > 1e-5*(1+math.Abs(float64(want))) {
			t.Errorf("number %d of the embeddings: %v by the file, %v by the matrices", i, rows[1][i], want)
		}
	}
}

// What a run is said to take has the matrices with their moments, and no moments of weights
// that stay.
func TestADryRunCountsLoRA(t *testing.T) {
	c := transformerConfig(t)
	c.WarmupEpochs, c.Loss.Name = 0, "npairs"
	estimate := func(rank int) *Estimate {
		c.Model.LoRA = layers.LoRA{Rank: rank}
		e, err := DryRun(t.Context(), c, newTestEngine(t), Options{Workers: 1, Events: silent{}, Restarts: 1})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	plain, low := estimate(0), estimate(2)
	const dim, blocks, head = 192, 12, 192*8 + 8
	matrices := blocks * 4 * 2 * (dim + dim)
	if low.Trained != matrices+head || low.Frozen != plain.Trained+plain.Frozen-head {
		t.Errorf("%d trained and %d frozen, want %d and %d", low.Trained, low.Frozen, matrices+head, plain.Trained+plain.Frozen-head)
	}
	if got, want := low.Memory.Weights-plain.Memory.Weights, int64(4*matrices); got != want {
		t.Errorf("%d bytes more of weights, want %d", got, want)
	}
	if want := int64(2 * 4 * low.Trained); low.Memory.Optimizer != want {
		t.Errorf("%d bytes of moments, want %d", low.Memory.Optimizer, want)
	}
}

func TestLoRAIsRefusedBeforeANetworkIsMade(t *testing.T) {
	c := smallConfig(t, shades(t, 4, 2))
	c.Model.LoRA.Rank = 8
	_, err := Start(t.Context(), c, run.Folder(filepath.Join(t.TempDir(), "run")), newTestEngine(t), Options{})
	if err == nil || !strings.Contains(err.Error(), "backbone convnet has none") {
		t.Errorf("got %v", err)
	}
}

package train

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/run"
)

// counting counts the products forward that a step takes.
type counting struct{ forward int }

func (c *counting) Begin(w *engine.Work) {
	if w.Phase == engine.PhaseForward && w.FLOPs > 0 {
		c.forward++
	}
}

func (c *counting) End() {}

// A rank with one part of a batch takes it forward once, and a rank with more takes each
// twice. TestRanksTrainTheModelOfOneProcess compares what they come to.
func TestARankWithOnePartTakesOnePass(t *testing.T) {
	c := ranksConfig(t)
	c.Loss.Name, c.Steps, c.WarmupEpochs, c.Data.Validation = "contrastive", 1, 0, 0
	passes := func(size int) int {
		var n [8]counting
		err := onRanks(t, size, starting(t, c, run.Folder(filepath.Join(t.TempDir(), "run"))), func(s *Session) error {
			s.stepper.observe(&n[s.comm.Rank()])
			return s.Train(t.Context())
		})
		if err != nil {
			t.Fatal(err)
		}
		return n[0].forward
	}
	once, twice := passes(8), passes(4) // 8 parts
	if once == 0 || twice != 4*once {
		t.Errorf("%d products for one part, %d for two; want 4 times that", once, twice)
	}
}

// A loss that is not finite ends the run of all ranks, with one part or more, at the step
// at which that of one process ends.
func TestRanksDivergeTogether(t *testing.T) {
	c := ranksConfig(t)
	c.WarmupEpochs, c.Data.Validation, c.Steps = 0, 0, 4
	c.Model.Normalization = "none"
	c.Loss = run.LossConfig{Name: "contrastive"}
	c.Optimizer.Name, c.Optimizer.Rate = "sgd", 1e30
	alone, want := begin(t, c), new(DivergedError)
	if err := alone.Train(t.Context()); !errors.As(err, &want) {
		t.Fatal(err)
	}
	for _, size := range []int{4, 8} {
		err := onRanks(t, size, starting(t, c, run.Folder(filepath.Join(t.TempDir(), "run"))), func(s *Session) error {
			return s.Train(t.Context())
		})
		if got := new(DivergedError); !errors.As(err, &got) || got.Step != want.Step || got.What != want.What || got.Node != want.Node {
			t.Errorf("%d ranks: %v, want %v", size, err, want)
		}
	}
}

package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/run"
)

// blownUp takes one step an epoch, and all of them too large.
func blownUp(t *testing.T, validation float64) run.Config {
	c := smallConfig(t, shades(t, 12, 4))
	c.WarmupEpochs, c.Data.Validation, c.Steps = 0, validation, 1
	c.Model.Metric, c.Model.Normalization = metric.Metric{Kind: metric.Euclidean}, "none"
	c.Loss = run.LossConfig{Name: "contrastive"}
	c.Optimizer.Name, c.Optimizer.Rate = "sgd", 1e30
	return c
}

// The loss of a step tells nothing of the model after it. What is stored is the
// network before training, and nothing else.
func TestAModelOfNoFiniteEmbeddingsIsNotStored(t *testing.T) {
	for name, validation := range map[string]float64{"without validation": 0, "with validation": .4} {
		folder := run.Folder(filepath.Join(t.TempDir(), "run"))
		s, err := Start(context.Background(), blownUp(t, validation), folder, newTestEngine(t), Options{Workers: 1, Events: silent{}})
		if err != nil {
			t.Fatal(err)
		}
		if (s.sets.Validation != nil) != (validation > 0) {
			t.Fatalf("%s: validation classes %v", name, s.sets.Validation)
		}
		files := []string{run.LastFile, run.BestFile, run.CheckpointFile}
		before := map[string]string{}
		for _, file := range files {
			text, err := os.ReadFile(folder.Path(file))
			if err != nil {
				t.Fatal(err)
			}
			before[file] = string(text)
		}
		err = s.Train(context.Background())
		var diverged *DivergedError
		if !errors.As(err, &diverged) {
			t.Fatalf("%s: got %v, want a run that has diverged", name, err)
		}
		if diverged.Step != 1 || diverged.Epoch != 1 || diverged.Kept != "" || diverged.Image == "" {
			t.Errorf("%s: got %+v", name, diverged)
		}
		for _, want := range []string{"optimizer.rate", "optimizer.clip_norm", "no epoch ended with a good model"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
		for _, file := range files {
			if text, err := os.ReadFile(folder.Path(file)); err != nil || string(text) != before[file] {
				t.Errorf("%s: %s changed (%v)", name, file, err)
			}
		}
		log, err := os.ReadFile(folder.Path(run.LogFile))
		if err != nil || !strings.Contains(string(log), `"event":"diverged"`) {
			t.Errorf("%s: the log says %s, %v", name, log, err)
		}
		s.Close()
	}
}

func TestTheLastGoodModelIsNamedWhereThereIsOne(t *testing.T) {
	c := smallConfig(t, shades(t, 12, 4))
	c.WarmupEpochs, c.Data.Validation = 0, 0
	s := begin(t, c)
	epoch(t, s)
	if err := s.giveUp(&DivergedError{Step: 9, What: "the loss is NaN"}); !strings.Contains(err.Error(), "the epoch before, is "+s.folder.Path(run.LastFile)) {
		t.Errorf("got %v", err)
	}
}

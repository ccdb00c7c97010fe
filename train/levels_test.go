package train

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
	"github.com/vernier-ml/vernier/weights"
)

// levelsConfig trains three levels of 4 units.
func levelsConfig(t *testing.T) run.Config {
	t.Helper()
	c := smallConfig(t, shades(t, 8, 4))
	c.Model.Input = c.Model.Input.WithSize(32)
	c.Model.Levels = model.Levels{Blocks: "block2,block3,block4", Keep: 2, Gamma: 10}
	c.Model.Dim, c.Model.Normalization, c.Model.Metric = 24, model.NormNone, metric.Metric{Kind: metric.Links}
	c.Loss = run.LossConfig{Name: "avsl"}
	return c
}

// Proxies, links and learned numbers of links continue from a checkpoint to the bit, and the
// model's file has the links and nothing of training.
func TestLevelsGoOnWithARun(t *testing.T) {
	for name, change := range map[string]func(*run.Config){
		"plain":   func(*run.Config) {},
		"average": func(c *run.Config) { c.EMA = .9 },
	} {
		c := levelsConfig(t)
		change(&c)
		straight, _ := resumedInTheMiddle(t, name, c)
		tensors := all(t, straight)
		for _, want := range []string{"loss.proxies1", "loss.proxies3", "embedding.level2.links", "optimizer/exp_avg/embedding.level3.certainty"} {
			if tensors[want] == nil {
				t.Errorf("%s: a checkpoint lacks %s", name, want)
			}
		}
		f, err := weights.Open(straight.folder.Path(run.LastFile))
		if err != nil {
			t.Fatal(err)
		}
		names := f.Names()
		f.Close()
		if !slices.Contains(names, "embedding.level3.links") || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "proxies") }) {
			t.Errorf("%s: the model has %q", name, names)
		}
		if links := tensors["embedding.level2.links"]; slices.Max(links) <= 0 {
			t.Errorf("%s: the links are %v", name, links)
		}
	}
}

// Every parameter moves, the figures are those of the distance along links, and the file that
// was saved compares as the model did.
func TestLevelsAreTrainedAndMeasured(t *testing.T) {
	c := levelsConfig(t)
	c.WarmupEpochs = 0
	s := begin(t, c)
	before := all(t, s)
	trainAll(t, s)
	names := moved(s.model.Params, before, all(t, s))
	for _, p := range s.model.Params.All() {
		if p.Trainable() && !slices.Contains(names, p.Name) {
			t.Errorf("%s did not move", p.Name)
		}
	}
	r, err := s.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.Model.Distance != "links" || r.Model.Clustering != nil || r.Untrained == nil || len(r.Model.Recall) != 4 {
		t.Errorf("%+v", r.Model)
	}
	emb, err := run.Embed(context.Background(), s.folder, newTestEngine(t), run.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	defer emb.Close()
	x := emb.Embeddings
	graph, err := emb.Model.Links()
	if err != nil {
		t.Fatal(err)
	}
	hits := 0
	for i := range x.N {
		d := make([]float64, x.N)
		graph.Row(d, x.Row(i), x.X)
		if d[i] > 1e-6 {
			t.Errorf("an image is %v away from itself", d[i])
		}
		nearest := -1
		for j, v := range d {
			if j != i && (nearest < 0 || v < d[nearest]) {
				nearest = j
			}
		}
		if x.Labels[nearest] == x.Labels[i] {
			hits++
		}
	}
	if want := 100 * float64(hits) / float64(x.N); r.Model.Recall[0].Percent > want+1e-9 || r.Model.TiedQueries == 0 && r.Model.Recall[0].Percent != want {
		t.Errorf("Recall@1 is %v, want %v", r.Model.Recall[0].Percent, want)
	}
	// The file has all that the distance needs, and no other program's format has it.
	again, _, err := model.Load(s.folder.Path(run.BestFile), newTestEngine(t))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := again.Links()
	if err != nil {
		t.Fatal(err)
	}
	a, b := make([]float64, x.N), make([]float64, x.N)
	graph.Row(a, x.Row(0), x.X)
	loaded.Row(b, x.Row(0), x.X)
	if !slices.Equal(a, b) {
		t.Errorf("the loaded model says %v, want %v", b, a)
	}
	if err := again.WriteONNX(filepath.Join(t.TempDir(), "m.onnx"), model.ONNXPreprocessed, nil); !errors.Is(err, metric.ErrLinks) {
		t.Errorf("ONNX: %v", err)
	}
	// What needs a metric says why there is none.
	x.Distances = nil
	if _, err := eval.Neighbors(context.Background(), newTestEngine(t), x, x, emb.Model.Spec.Metric, 3, eval.SearchOptions{}); err == nil || !strings.Contains(err.Error(), "needs the whole model") {
		t.Errorf("neighbors by the rows: %v", err)
	}
}

// What levels do not go with is named.
func TestLevelsAreRefusedWhereTheyMakeNoSense(t *testing.T) {
	for want, change := range map[string]func(*run.Config){
		"whole batch": func(c *run.Config) { c.MicroBatch = 3 },
		"avsl does":   func(c *run.Config) { c.Loss.Name = "proxy-anchor" },
		"this one has none": func(c *run.Config) {
			c.Model.Levels, c.Model.Metric = model.Levels{}, metric.Metric{Kind: metric.Euclidean}
		},
		"metric links is that of":       func(c *run.Config) { c.Model.Levels = model.Levels{} },
		"stands alone":                  func(c *run.Config) { c.Loss.Terms = []run.TermConfig{{Name: "sec"}} },
		"not a multiple of 6":           func(c *run.Config) { c.Model.Dim = 25 },
		"compared along its links":      func(c *run.Config) { c.Model.Metric = metric.Metric{Kind: metric.Cosine} },
		"in the order of the network":   func(c *run.Config) { c.Model.Levels.Blocks = "block3,block2,block4" },
		"where the network ends":        func(c *run.Config) { c.Model.Levels.Blocks = "block2,block3" },
		"names no block":                func(c *run.Config) { c.Model.Levels.Blocks = "block2,block9" },
		"name one block":                func(c *run.Config) { c.Model.Levels.Blocks, c.Model.Dim = "block4", 24 },
		"keep 0 links":                  func(c *run.Config) { c.Model.Levels.Keep = 0 },
		"want normalization \"none\"":   func(c *run.Config) { c.Model.Normalization = model.NormRows },
		"for losses on pairs":           func(c *run.Config) { c.Loss.Memory = 40 },
		"backbone vitt16 has none":      func(c *run.Config) { c.Model.Backbone, c.Model.Pool = "vitt16", "cls" },
		"needs the maps of earlier":     func(c *run.Config) { c.Freeze.To, c.Data.CacheFrozen = "block2", "fp32" },
		"have pooling \"avg+max\"":      func(c *run.Config) { c.Model.Pool = model.PoolAvg },
		"neither geometry flow nor a p": func(c *run.Config) { c.Model.Projection = "8,4" },
	} {
		c := levelsConfig(t)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	c := levelsConfig(t)
	c.ClassesPerBatch, c.ImagesPerClass = 2, 2
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	err := onRanks(t, 2, starting(t, c, folder), func(s *Session) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "train it on one") {
		t.Errorf("two ranks: %v", err)
	}
}

// The links are constants: no gradient reaches a parameter through them, and the numbers of
// levels are part of the model.
func TestParametersOfLevels(t *testing.T) {
	s := begin(t, levelsConfig(t))
	for _, p := range s.model.Params.All() {
		switch {
		case strings.HasSuffix(p.Name, ".links"):
			if p.Role != layers.Buffer || p.Group != layers.Head {
				t.Errorf("%s: role %v, group %v", p.Name, p.Role, p.Group)
			}
		case strings.Contains(p.Name, "proxies"):
			if p.Group.InModel() {
				t.Errorf("%s is part of the model", p.Name)
			}
		}
	}
}

package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/data/pixels"
	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// What a program of these tests registers: each name begins with "own-".
func init() {
	losses.Register("own-hinge", func(o losses.Options) (losses.Loss, error) {
		return losses.On(losses.AsSimilarity(o.Metric, o.Scale), &ownHinge{Margin: ownMargin, Scale: []float64{1}}), nil
	})
	data.Register("own-bars", func(path string, _ data.Options) (*data.Set, error) { return ownBars("1" + path) })
	data.RegisterSampler("own-sampler", func(set *data.Set, o data.SamplerOptions) (data.Sampler, error) {
		inner, err := data.NewBalanced(set, o.Classes, o.Images, o.Seed)
		if !ownBackward {
			return inner, err
		}
		return backwards{inner}, err
	})
	transform.Register("own-noise", func(r transform.Recipe) ([]transform.Step, error) {
		return []transform.Step{r.Base(), noise{Dots: ownDots}}, nil
	})
	backbone.Register("own-net", func() (backbone.Backbone, error) {
		pixels, err := backbone.PixelRange("half")
		if err != nil {
			return nil, err
		}
		stage := func(name string, channels int) backbone.Block {
			return backbone.Block{Name: name, Channels: channels, Add: func(b *backbone.Builder, x *layers.Node) *layers.Node {
				return b.Graph.HostOp(name+".half", halved{}, b.Conv(name, x, channels, engine.SquareConv(3, 2, 1)))
			}}
		}
		return backbone.Sequence(pixels.WithSize(16), stage("one", 4), stage("two", 8))
	})
}

// What a later version of the program may have otherwise.
var (
	ownMargin   = .3
	ownDots     = 10
	ownBackward = true
)

// ownHinge is a triplet loss with a learned scale and a statistic: what a checkpoint has
// to keep of it.
type ownHinge struct {
	Margin float64
	Scale  []float64
	grad   [1]float64
	steps  [1]float64
}

func (*ownHinge) Columns() losses.Columns { return losses.Batch }

func (l *ownHinge) Parameters() []losses.Param {
	return []losses.Param{{Name: "scale", Shape: []int{1}, Value: l.Scale, Grad: l.grad[:]}, {Name: "steps", Shape: []int{1}, Value: l.steps[:]}}
}

func (l *ownHinge) Eval(m *losses.Matrix, grad []float64) (r losses.Result, err error) {
	clear(grad)
	l.grad[0] = 0
	l.steps[0]++
	weight := (1 + .1/l.steps[0]) / float64(m.Rows)
	for a, label := range m.RowLabels {
		for p, other := range m.ColLabels {
			if other != label || m.Self(a, p) {
				continue
			}
			for n, third := range m.ColLabels {
				gap := m.Away() * (m.V[a*m.Cols+p] - m.V[a*m.Cols+n])
				if third == label {
					continue
				}
				if r.Total++; gap+l.Margin <= 0 {
					continue
				}
				r.Active++
				r.Value += weight * l.Scale[0] * (gap + l.Margin)
				l.grad[0] += weight * (gap + l.Margin)
				grad[a*m.Cols+p] += weight * l.Scale[0] * m.Away()
				grad[a*m.Cols+n] -= weight * l.Scale[0] * m.Away()
			}
		}
	}
	return r, nil
}

// ownBars are 10 classes of 6 images of one bar each.
func ownBars(version string) (*data.Set, error) {
	im := data.Images{Version: version, Image: func(_ context.Context, i int) (image.Image, error) {
		m := image.NewGray(image.Rect(0, 0, 16, 16))
		for k := range 16 {
			m.SetGray((i/6+k*(i%6)/16)%16, k, color.Gray{Y: 255})
		}
		return m, nil
	}}
	for i := range 60 {
		im.Labels = append(im.Labels, fmt.Sprint("bar ", i/6))
	}
	return data.NewSet("bars", im)
}

// backwards has the batches of a sampler in the opposite order.
type backwards struct{ data.Sampler }

func (s backwards) Epoch(epoch int) [][]int {
	plan := slices.Clone(s.Sampler.Epoch(epoch))
	slices.Reverse(plan)
	return plan
}

// noise changes some pixels.
type noise struct{ Dots int }

func (noise) Random() bool { return true }

func (n noise) Apply(src *pixels.RGB, r *rand.Rand) (*pixels.RGB, error) {
	dst := pixels.NewRGB(src.W, src.H)
	for y := range src.H {
		copy(dst.Row(y), src.Row(y))
	}
	for range n.Dots {
		dst.Row(r.IntN(src.H))[3*r.IntN(src.W)] = uint8(r.IntN(256))
	}
	return dst, nil
}

// halved is half of its input.
type halved struct{}

func (halved) Shape(in ...[]int) ([]int, error) { return in[0], nil }

func (halved) Forward(y layers.Array, x ...layers.Array) error {
	for i, v := range x[0].V {
		y.V[i] = v / 2
	}
	return nil
}

func (halved) Backward(dx []layers.Array, dy, _ layers.Array, _ ...layers.Array) error {
	for i, v := range dy.V {
		dx[0].V[i] = v / 2
	}
	return nil
}

// ownConfig has all of it.
func ownConfig(t *testing.T) run.Config {
	t.Helper()
	c := run.Default("own-bars")
	var err error
	if c.Model, err = model.DefaultSpec("own-net"); err != nil {
		t.Fatal(err)
	}
	c.Model.Dim = 6
	c.Loss, c.Sampler, c.Data.Augment = run.LossConfig{Name: "own-hinge"}, "own-sampler", "own-noise"
	c.ClassesPerBatch, c.ImagesPerClass, c.Epochs, c.Data.Validation = 2, 3, 3, .4
	return c
}

// A run of parts of a program's own alone is stopped in the middle of an epoch, resumed,
// and ends with the bytes of one that was not; nobody listens to it.
func TestARunOfAProgramsOwnPartsGoesOnToTheBit(t *testing.T) {
	ctx := t.Context()
	folder := func() run.Folder {
		f, err := run.Claim(filepath.Join(t.TempDir(), "run"), false)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	straight, halted := folder(), folder()
	s, err := Open(ctx, ownConfig(t), string(straight), newTestEngine(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Train(ctx); err != nil {
		t.Fatal(err)
	}
	if h := s.state.History; len(h) != 3 || h[2].Recall1 < 0 {
		t.Errorf("history %+v", h)
	}
	if s.model.Params.Get("loss.scale") == nil || s.model.Params.Get("loss.scale").Group != layers.Loss {
		t.Error("the scale of the loss is no parameter of the run")
	}
	r, err := s.Finish(ctx)
	if err != nil || len(r.Model.Recall) == 0 {
		t.Fatalf("%v", err)
	}
	s.Close()
	stopped, stop := context.WithCancel(ctx)
	s, err = Start(ctx, ownConfig(t), halted, newTestEngine(t), Options{Events: halting{stop: func() {}}})
	if err != nil {
		t.Fatal(err)
	}
	epoch(t, s)
	s.ev = halting{stop: stop}
	if err := s.Train(stopped); !errors.Is(err, context.Canceled) || s.state.Position.Batch == 0 {
		t.Fatalf("%v at %+v", err, s.state.Position)
	}
	s.Close()
	longer := ownConfig(t)
	longer.Epochs, longer.Run.Keep = 4, 2
	if _, err := Open(ctx, longer, string(halted), newTestEngine(t), Options{}); err == nil || !strings.Contains(err.Error(), "holds a run with other settings:\n  epochs: 3 in config.json, 4 now\ngive the new run another folder") {
		t.Errorf("another number of epochs: %v", err)
	}
	if s, err = Open(ctx, ownConfig(t), string(halted), newTestEngine(t), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Train(ctx); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, name := range []string{run.CheckpointFile, run.LastFile, run.BestFile} {
		a, errA := os.ReadFile(straight.Path(name))
		b, errB := os.ReadFile(halted.Path(name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs, %v, %v", name, errA, errB)
		}
	}
	// The finished model is found, with its network, by its run.
	e, err := run.Embed(ctx, halted, newTestEngine(t), run.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Embeddings.H != 6 || e.Embeddings.N != 30 {
		t.Errorf("%d embeddings of %d", e.Embeddings.N, e.Embeddings.H)
	}
	estimate, err := DryRun(ctx, ownConfig(t), newTestEngine(t), Options{})
	if err != nil || estimate.Batch != 6 {
		t.Errorf("dry run: %v", err)
	}
}

// A resumed run wants the parts that it began with, and says which are others.
func TestARunDoesNotGoOnWithOtherPartsOfAProgram(t *testing.T) {
	ctx := t.Context()
	f, err := run.Claim(filepath.Join(t.TempDir(), "run"), false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(ctx, ownConfig(t), f, newTestEngine(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	refused := func(want string) {
		t.Helper()
		if r, err := Resume(ctx, f, newTestEngine(t), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
			if err == nil {
				r.Close()
			}
		}
	}
	ownMargin = .4
	refused(`the loss "own-hinge" that is registered is not the one that the run began with: Margin was 0.3, is 0.4`)
	ownMargin, ownDots = .3, 11
	refused("the augmentation that is registered is not the one that the run began with: it was own-noise of transform.ShorterCrop{Size: 16, W: 16, H: 16}, train.noise{Dots: 10}, and is own-noise of transform.ShorterCrop{Size: 16, W: 16, H: 16}, train.noise{Dots: 11}")
	ownDots, ownBackward = 10, false
	refused("the sampler that is registered is not the one that the run began with: it was own-sampler, whose first batches have the digest")
	ownBackward = true
	text, err := os.ReadFile(f.Path(run.ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("own-hinge", "his-hinge", "own-sampler", "his-sampler", "own-noise", "his-noise", "own-net", "his-net", "own-bars", "his-bars")
	if err := os.WriteFile(f.Path(run.ConfigFile), []byte(other.Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(`data set "his-bars" (data.Register), augmentation "his-noise" (transform.Register), sampler "his-sampler" (data.RegisterSampler), backbone "his-net" (backbone.Register), loss "his-hinge" (losses.Register)`)
}

// What a program leaves out is an error with a sentence.
func TestARunWithoutItsPartsSaysWhichIsMissing(t *testing.T) {
	ctx, eng := t.Context(), newTestEngine(t)
	c := ownConfig(t)
	folder := run.Folder(filepath.Join(t.TempDir(), "run"))
	for want, start := range map[string]func() error{
		"no data set is given":                 func() error { _, err := Start(ctx, run.Config{}, folder, eng, Options{}); return err },
		"the engine is nil: cpu.New makes one": func() error { _, err := Start(ctx, c, folder, nil, Options{}); return err },
		"no folder: run.Claim gives one":       func() error { _, err := Start(ctx, c, "", eng, Options{}); return err },
		"no such file":                         func() error { _, err := Resume(ctx, folder, eng, Options{}); return err },
		"of 2 epochs are for warm-up: there must": func() error {
			c := c
			c.WarmupEpochs, c.Epochs = 2, 2
			_, err := Start(ctx, c, folder, eng, Options{})
			return err
		},
		"sampler own-sampler: balanced batches: 9 classes a batch, but own-bars (train) (fit) has 3": func() error {
			c := c
			c.ClassesPerBatch = 9
			_, err := Start(ctx, c, folder, eng, Options{})
			return err
		},
	} {
		if err := start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if _, err := model.New(nil, c.Model, 1); err == nil || !strings.Contains(err.Error(), "the engine is nil") {
		t.Errorf("a model without an engine: %v", err)
	}
}

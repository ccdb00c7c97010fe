package train

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/run"
)

// recomputed trains as c says, keeping everything and computing blocks twice, and compares
// the bits of both.
func recomputed(t *testing.T, c run.Config) (kept, twice *Session) {
	t.Helper()
	kept = begin(t, c)
	c.Run.Recompute = true
	twice = begin(t, c)
	trainAll(t, kept)
	trainAll(t, twice)
	want, got := all(t, kept), all(t, twice)
	for tensor := range want {
		if !slices.Equal(want[tensor], got[tensor]) {
			t.Errorf("%s differs", tensor)
		}
	}
	if a, b := kept.stepper.net.bytes(), twice.stepper.net.bytes(); b >= a {
		t.Errorf("%d bytes of activations and gradients, %d without", b, a)
	}
	return kept, twice
}

// residualConfig trains the first groups of a ResNet on small pictures.
func residualConfig(t *testing.T) run.Config {
	t.Helper()
	c := smallConfig(t, shades(t, 8, 4))
	c.Model.Backbone, c.Model.Input.Size, c.Model.Input.Resize = "resnet50:trunk-end=layer2", 64, 0
	c.Epochs, c.WarmupEpochs = 1, 0
	return c
}

// wideConfig is transformerConfig with more tokens, whose activations outweigh the gradients
// of the weights.
func wideConfig(t *testing.T) run.Config {
	t.Helper()
	c := transformerConfig(t)
	c.Model.Backbone, c.Model.Input.Size = "vitt8", 56
	c.Epochs, c.WarmupEpochs = 1, 0
	return c
}

func TestBlocksComputedTwiceTrainTheSameModel(t *testing.T) {
	for name, c := range map[string]func() run.Config{
		"transformer with dropped paths, a warm-up and dropout": func() run.Config {
			c := wideConfig(t)
			c.Epochs, c.WarmupEpochs, c.Model.Head, c.Model.Dropout = 2, 1, "mlp:16", 0.3
			return c
		},
		"transformer in parts": func() run.Config {
			c := wideConfig(t)
			c.MicroBatch = 4
			return c
		},
		"transformer with a frozen prefix": func() run.Config {
			c := wideConfig(t)
			c.Freeze.To = "blocks.5"
			return c
		},
		"ConvNeXt with dropped paths": func() run.Config {
			c := convNeXtConfig(t)
			c.Epochs, c.WarmupEpochs = 1, 0
			return c
		},
		"residual network, statistics of the batch": func() run.Config { return residualConfig(t) },
		"residual network in parts": func() run.Config {
			c := residualConfig(t)
			c.MicroBatch = 3
			return c
		},
		"residual network, frozen statistics": func() run.Config {
			c := residualConfig(t)
			c.Freeze.BNStats = true
			return c
		},
		"residual network with a frozen prefix": func() run.Config {
			c := residualConfig(t)
			c.Freeze.To = "layer1.0"
			return c
		},
	} {
		t.Run(name, func(t *testing.T) { recomputed(t, c()) })
	}
}

// Whether blocks are computed twice may change when a run is resumed.
func TestARunThatComputesBlocksTwiceGoesOnAsIfItHadNeverStopped(t *testing.T) {
	c := convNeXtConfig(t)
	c.Run.Recompute = true
	straight, _ := resumedInTheMiddle(t, "recompute", c)
	c.Run.Recompute = false
	stopped := begin(t, c)
	epoch(t, stopped)
	stopped.Close()
	given := &run.Settings{}
	if err := given.Add(run.Setting{Path: "run.recompute", Value: true}); err != nil {
		t.Fatal(err)
	}
	stopped.opt.Given = given
	r, err := resume(t, stopped)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if !r.cfg.Run.Recompute {
		t.Fatal("the setting did not change")
	}
	trainAll(t, r)
	want, got := all(t, straight), all(t, r)
	for tensor := range want {
		if !slices.Equal(want[tensor], got[tensor]) {
			t.Errorf("%s differs", tensor)
		}
	}
}

// whole is a network that does not say of which blocks it is made.
type whole struct{ backbone.Backbone }

func (w whole) Forward(g *layers.Graph, x *layers.Node, mode backbone.Mode) *layers.Node {
	return w.Backbone.Forward(g, x, mode)
}

func TestWhatCannotBeComputedByBlocksIsSaid(t *testing.T) {
	backbone.Register("whole", func() (backbone.Backbone, error) {
		net, err := backbone.New("convnet")
		return whole{net}, err
	})
	c := smallConfig(t, shades(t, 8, 4))
	c.Model.Backbone, c.Run.Recompute = "whole", true
	_, err := Start(context.Background(), c, run.Folder(t.TempDir()), newTestEngine(t), Options{})
	if err == nil || !strings.Contains(err.Error(), "backbone whole is not made of blocks that could be computed again") {
		t.Errorf("got %v", err)
	}
	// Nothing of a backbone is kept where all of it is frozen.
	c = transformerConfig(t)
	c.Freeze.To, c.WarmupEpochs, c.Run.Recompute = "norm", 0, true
	ev := &listening{}
	s, err := Start(context.Background(), c, run.Folder(t.TempDir()), newTestEngine(t), Options{Events: ev})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !slices.ContainsFunc(ev.warnings, func(line string) bool {
		return strings.Contains(line, "run.recompute changes nothing: a step keeps nothing of the backbone that is worth computing again")
	}) {
		t.Errorf("warnings: %q", ev.warnings)
	}
}

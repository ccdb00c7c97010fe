//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/transform"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/run"
)

// resident is a step in which nothing comes to the host but the loss: images go in
// as bytes, ahead of their step, and the engine evaluates proxy-anchor with BRM. On
// the reference the same numbers are written, and the loss is the host's.
type resident struct {
	eng     engine.Engine
	ps      *layers.Params
	g       *layers.Graph
	images  *layers.Node
	loss    *losses.Node
	feed    engine.Feed // nil on the reference
	numbers engine.ByteNumbers
	slots   []engine.Slot
	steps   int
	sent    int // number of the step whose batch was sent
}

const (
	residentBatch   = 6
	residentSide    = 9
	residentClasses = 40
)

func newResident(t *testing.T, eng engine.Engine) *resident {
	t.Helper()
	n := &resident{eng: eng, ps: layers.NewParams(eng, 7), numbers: byteNumbers(transform.Caffe())}
	n.g = layers.NewGraph(eng, n.ps)
	n.images = n.g.Input("images", residentBatch, 3, residentSide, residentSide)
	x := n.g.Scale("scale", n.images, 1./64)
	x = n.g.ReLU("relu", n.g.BatchNormModule("bn", n.g.ConvModule("conv", x, 5, engine.SquareConv(3, 1, 1), false), 1e-5, .1, false))
	e := n.g.LinearModule("embedding", n.g.GlobalAvg("gap", x), 8)
	metric := metric.Metric{Kind: metric.BRM, P: 2}
	l, err := losses.New("proxy-anchor", losses.Options{Metric: metric, Classes: residentClasses, Dim: 8})
	if err != nil {
		t.Fatal(err)
	}
	if n.loss, err = losses.Op(n.g, l, e, losses.OpOptions{Metric: metric, Classes: residentClasses, Seed: 1, HostClasses: 1}); err != nil {
		t.Fatal(err)
	}
	n.g.Backward(n.loss.Loss, nil)
	if err := n.g.Compile(); err != nil {
		t.Fatal(err)
	}
	n.slots = slotsOf(t, eng, n.g, n.ps)
	t.Cleanup(func() {
		if err := n.g.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, ok := eng.(engine.Feeder); ok {
		n.feed = newFeed(t, eng.(*Engine), n.g.Value(n.images), n.numbers)
	}
	return n
}

func (n *resident) bytes(step int) []uint8 {
	return drawBytes(residentBatch*3*residentSide*residentSide, step)
}

// step trains on what is drawn for the number of the step and returns the loss.
func (n *resident) step(t *testing.T) float64 {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	n.steps++
	rng := rand.New(rand.NewPCG(4, uint64(n.steps)))
	labels := make([]int, residentBatch)
	for i := range labels {
		labels[i] = rng.IntN(residentClasses)
	}
	must(n.loss.SetLabels(labels))
	if n.feed == nil {
		must(n.eng.Write(n.g.Value(n.images), numbersOf(n.numbers, n.bytes(n.steps), residentSide*residentSide)))
	} else {
		if n.sent != n.steps {
			must(n.feed.Send(n.bytes(n.steps)))
		}
		must(n.feed.Arrive())
	}
	must(n.g.Run())
	if n.feed != nil {
		n.sent = n.steps + 1
		must(n.feed.Send(n.bytes(n.sent)))
	}
	must(n.eng.AdamW(n.slots, engine.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: n.steps}))
	loss, err := n.g.Scalar(n.loss.Loss)
	must(err)
	return loss
}

// trainsLike compares some steps, of which the later ones are replays.
func (n *resident) trainsLike(t *testing.T, ref *resident, steps int, rel float64) {
	t.Helper()
	for range steps {
		want, got := ref.step(t), n.step(t)
		if !(math.Abs(got-want) <= rel*(1+math.Abs(want))) {
			t.Fatalf("step %d: loss %v, want %v", n.steps, got, want)
		}
	}
	if stretches, refusal := n.g.Recorded(); stretches != 1 || refusal != nil {
		t.Errorf("%d recordings, refusal %v; forth and back are one", stretches, refusal)
	}
	for i, s := range n.slots {
		want, got := make([]float32, s.Param.Size()), make([]float32, s.Param.Size())
		if err := ref.eng.Read(want, ref.slots[i].Param); err != nil {
			t.Fatal(err)
		}
		if err := n.eng.Read(got, s.Param); err != nil {
			t.Fatal(err)
		}
		near(t, "parameter", got, want, 20*rel)
	}
}

// The places of a feed take turns, the recording reads one tensor: every step finds
// its own batch in it, however late a stream is.
func TestAStepOnBytesWithTheLossOnTheDeviceTrainsLikeTheReference(t *testing.T) {
	lazily(t, func(t *testing.T, eng *Engine) {
		newResident(t, eng).trainsLike(t, newResident(t, reference.New()), 7, 1e-4)
	})
}

func TestNothingButTheLossComesToTheHostInAStep(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	n := newResident(t, eng)
	for range 5 {
		n.step(t)
	}
	calls, bytes := maps.Clone(dev.Calls), maps.Clone(dev.Bytes)
	n.step(t)
	for name, want := range map[string]int{
		"LaunchGraph": 1, "Alloc": 0, "Release": 0, "AllocHost": 0, "Synchronize": 1,
		"Launch":   2, // bytes to numbers, and the update of all parameters
		"Upload":   3, // the next batch, the labels, the table of the update
		"Download": 1,
		"Convolve": 0, "Gemm": 0,
	} {
		if got := dev.Calls[name] - calls[name]; got != want {
			t.Errorf("a step calls %s %d times, want %d", name, got, want)
		}
	}
	if got := dev.Bytes["Download"] - bytes["Download"]; got != 4 {
		t.Errorf("%d bytes come to the host, want the 4 of the loss", got)
	}
}

// Images that are embedded as bytes give the bits of those that go as numbers, also
// where an embedder takes fewer at a time than it is given.
func TestImagesAreEmbeddedFromBytes(t *testing.T) {
	lazily(t, func(t *testing.T, eng *Engine) {
		c := run.Default("")
		c.Model.Input, c.Model.Dim = c.Model.Input.WithSize(16), 8
		m, err := model.New(eng, c.Model, 1)
		if err != nil {
			t.Fatal(err)
		}
		embedder, err := m.NewEmbedder(3)
		if err != nil {
			t.Fatal(err)
		}
		defer embedder.Close()
		const images = 7
		numbers, pixels := byteNumbers(transform.ImageNet()), drawBytes(images*3*256, 1)
		if _, err := embedder.EmbedPixels(nil, pixels); err == nil || !strings.Contains(err.Error(), "TakePixels") {
			t.Errorf("before it was told what bytes stand for: %v", err)
		}
		if err := embedder.TakePixels(numbers); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, err := embedder.EmbedPixels(nil, pixels)
			if err != nil {
				t.Fatal(err)
			}
			want, err := embedder.Embed(nil, numbersOf(numbers, pixels, 256))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) || len(got) != images*8 {
				t.Errorf("%d numbers, want %d equal ones", len(got), len(want))
			}
		}
		if _, err := embedder.EmbedPixels(nil, pixels[1:]); err == nil || !strings.Contains(err.Error(), "not a whole number of images") {
			t.Errorf("a byte too few: %v", err)
		}
	})
}

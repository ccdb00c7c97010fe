//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// trainer is a small network with everything that a step has: convolution,
// batch and frozen normalization, pooling, a concatenation, a linear layer, BRM
// and a loss on the host.
type trainer struct {
	eng    engine.Engine
	ps     *layers.Params
	g      *layers.Graph
	images *layers.Node
	loss   *layers.Node
	slots  []engine.Slot
	grads  []engine.Tensor
	before engine.Clipped // the step before, on a GPU
	steps  int
}

const trainerBatch = 6

func newTrainer(t *testing.T, eng engine.Engine) *trainer {
	t.Helper()
	n := &trainer{eng: eng, ps: layers.NewParams(eng, 7)}
	n.g = layers.NewGraph(eng, n.ps)
	n.images = n.g.Input("images", trainerBatch, 3, 9, 9)
	sq := engine.SquareConv
	x := n.g.ReLU("relu1", n.g.BatchNormModule("bn1", n.g.ConvModule("conv1", n.images, 5, sq(3, 1, 1), false), 1e-5, .1, false))
	a := n.g.ReLU("relu2", n.g.BatchNormModule("bn2", n.g.ConvModule("conv2", x, 4, sq(1, 1, 0), true), 1e-5, .1, true))
	b := n.g.MaxPool("pool", x, engine.SquarePool(3, 1, 1, false))
	y := n.g.GlobalAvg("gap", n.g.Concat("join", a, b))
	e := n.g.LinearModule("embedding", y, 8)
	d := n.g.Pairwise("distances", e, e, metric.Metric{Kind: metric.BRM, P: 2})
	n.loss = n.g.HostLoss("loss", func(values, grads [][]float64) (float64, error) {
		sum := 0.0
		for i, v := range values[0] {
			sign := 1.0
			if (i/trainerBatch)%2 != (i%trainerBatch)%2 {
				sign = -1
			}
			sum += sign * v
			grads[0][i] = sign
		}
		return sum, nil
	}, d)
	n.g.Backward(n.loss, nil)
	if err := n.g.Compile(); err != nil {
		t.Fatal(err)
	}
	n.slots = slotsOf(t, eng, n.g, n.ps)
	for _, s := range n.slots {
		n.grads = append(n.grads, s.Grad)
	}
	t.Cleanup(func() {
		if err := n.g.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// slotsOf are the parameters that a graph gives a gradient, with two states each.
func slotsOf(t *testing.T, eng engine.Engine, g *layers.Graph, ps *layers.Params) (slots []engine.Slot) {
	t.Helper()
	for _, p := range ps.All() {
		grad := g.ParamGrad(p)
		if grad == nil {
			continue
		}
		s := engine.Slot{Param: p.Value, Grad: grad, Rate: .01, Decay: 1e-3}
		for i := range s.State {
			state, err := eng.New(p.Value.Shape()...)
			if err != nil {
				t.Fatal(err)
			}
			s.State[i] = state
		}
		slots = append(slots, s)
	}
	return slots
}

// step trains on images drawn for the number of the step and returns the loss.
func (n *trainer) step(t *testing.T) float64 {
	t.Helper()
	n.steps++
	rng := rand.New(rand.NewPCG(3, uint64(n.steps)))
	images := make([]float32, trainerBatch*3*9*9)
	for i := range images {
		images[i] = float32(rng.NormFloat64())
	}
	for _, err := range []error{
		n.eng.Write(n.g.Value(n.images), images),
		n.g.Run(),
		n.move(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	loss, err := n.g.Scalar(n.loss)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

// move clips and updates as training does: the norm of a step is asked for when
// the next one has its loss.
func (n *trainer) move() (err error) {
	if n.before != nil {
		if _, err := n.before.Norm(); err != nil {
			return err
		}
	}
	by := engine.Mover(n.eng)
	if c, ok := n.eng.(engine.Clipper); ok {
		if n.before, err = c.Clip(n.grads, 1e6, 1e6); err != nil {
			return err
		}
		by = n.before
	}
	return by.AdamW(n.slots, engine.AdamWSpec{Beta1: .9, Beta2: .999, Eps: 1e-8, Step: n.steps})
}

func TestARecordedStepTrainsLikeTheReference(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	ref := newTrainer(t, reference.New())
	n := newTrainer(t, eng)
	for step := range 7 {
		want, got := ref.step(t), n.step(t)
		if math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
			t.Fatalf("step %d: loss %v, want %v", step, got, want)
		}
	}
	// One recording before the loss, one behind it.
	if stretches, refusal := n.g.Recorded(); stretches != 2 || refusal != nil {
		t.Errorf("%d recordings, refusal %v", stretches, refusal)
	}
	before := map[string]int{}
	for name, count := range dev.Calls {
		before[name] = count
	}
	n.step(t)
	for name, want := range map[string]int{
		"LaunchGraph": 2, "Alloc": 0, "Release": 0, "AllocHost": 0,
		"Launch":      4, // the batch's order in memory, two for the norm, and the update of all parameters
		"Download":    2, // the distances, and the norm behind the step
		"Synchronize": 1, // for the distances
		"Convolve":    0, "Gemm": 0,
	} {
		if got := dev.Calls[name] - before[name]; got != want {
			t.Errorf("a step calls %s %d times, want %d", name, got, want)
		}
	}
}

// A value that the host wrote and a recording then overwrote is the device's.
func TestReadingAfterAReplaySeesTheDevicesValue(t *testing.T) {
	eng, _, _ := newFake(t, Options{})
	n := newTrainer(t, eng)
	mean := n.ps.Get("bn1.running_mean").Value
	read := func() []float32 {
		t.Helper()
		v := make([]float32, mean.Size())
		if err := eng.Read(v, mean); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for range 4 {
		n.step(t)
	}
	if err := eng.Write(mean, make([]float32, mean.Size())); err != nil {
		t.Fatal(err)
	}
	n.step(t)
	for i, v := range read() {
		if v == 0 {
			t.Errorf("channel %d: still 0 after a step", i)
		}
	}
}

func TestWhereRecordingFailsTheStepRunsAsBefore(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	ref := newTrainer(t, reference.New())
	n := newTrainer(t, eng)
	dev.Fault = func(call string) error {
		if call == "BeginCapture" {
			return fmt.Errorf("no graphs here")
		}
		return nil
	}
	for step := range 5 {
		want, got := ref.step(t), n.step(t)
		if math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
			t.Fatalf("step %d: loss %v, want %v", step, got, want)
		}
	}
	if stretches, refusal := n.g.Recorded(); stretches != 0 || refusal == nil {
		t.Errorf("%d recordings, refusal %v; want a refusal", stretches, refusal)
	}
}

func TestAFailingReplayNamesItsNodes(t *testing.T) {
	eng, dev, _ := newFake(t, Options{})
	n := newTrainer(t, eng)
	for range 4 {
		n.step(t)
	}
	dev.Fault = func(call string) error {
		if call == "LaunchGraph" {
			return fmt.Errorf("an illegal address")
		}
		return nil
	}
	err := n.g.Run()
	if want := `node "conv1 ... distances": an illegal address`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	dev.Fault = nil
}

// In bfloat16 maps take half the memory, and a step is near the reference's.
func TestAStepInBfloat16IsNearTheReference(t *testing.T) {
	eng, _, _ := newFake(t, Options{Precision: BF16})
	full, _, _ := newFake(t, Options{})
	ref, n := newTrainer(t, reference.New()), newTrainer(t, eng)
	for step := range 5 {
		want, got := ref.step(t), n.step(t)
		if math.Abs(got-want) > .03*(1+math.Abs(want)) {
			t.Fatalf("step %d: loss %v, want %v", step, got, want)
		}
	}
	if half, whole := n.g.Usage().Sum, newTrainer(t, full).g.Usage().Sum; float64(half) > .75*float64(whole) {
		t.Errorf("buffers take %d bytes, %d in float32", half, whole)
	}
	for _, s := range n.slots {
		for _, x := range []engine.Tensor{s.Param, s.Grad, s.State[0]} {
			if typ := x.(*Tensor).typ; typ != device.F32 {
				t.Errorf("a parameter %v has a part stored as %v", s.Param.Shape(), typ)
			}
		}
	}
}

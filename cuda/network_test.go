//go:build cgo && linux && (amd64 || arm64)

package cuda

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"unsafe"

	"github.com/vernier-ml/vernier/backbone"
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/internal/fake"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
	"github.com/vernier-ml/vernier/model"
	"github.com/vernier-ml/vernier/optim"
)

// What is checked here can go wrong in NVIDIA's libraries alone. It runs on a GPU with
// whole networks, and on the fake device with small ones, so that it is known to work.

// whole is a network in training: its name, the side of its images, and a batch.
type whole struct {
	backbone    string
	side, batch int
}

// tiny is what the fake device trains in a moment.
var tiny = whole{"convnet", 16, 4}

// training is a network on an engine.
type training struct {
	whole
	eng    engine.Engine
	m      *model.Model
	g      *layers.Graph
	images *layers.Node
	loss   *layers.Node
	opt    *optim.Optimizer
	steps  int
}

func (w whole) on(t *testing.T, eng engine.Engine) *training {
	t.Helper()
	net, err := backbone.New(w.backbone)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(eng, model.Spec{
		Backbone: w.backbone, Input: net.Preprocessing().WithSize(w.side), Pool: model.DefaultPool(net),
		HeadNorm: model.HeadNormNone, Head: model.HeadLinear, Dim: 64,
		Normalization: model.NormRows, Scale: 1, Metric: metric.Metric{Kind: metric.Cosine},
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	n := &training{whole: w, eng: eng, m: m, g: layers.NewGraph(eng, m.Params)}
	n.images = n.g.Input("images", m.InputShape(w.batch)...)
	e := m.Forward(n.g, n.images, true)
	n.loss = n.g.HostLoss("mean square of cosines", func(values, grads [][]float64) (float64, error) {
		sum, count := 0., float64(len(values[0]))
		for i, v := range values[0] {
			sum += v * v
			grads[0][i] = 2 * v / count
		}
		return sum / count, nil
	}, n.g.Pairwise("cosines", e, e, metric.Metric{Kind: metric.Dot}))
	n.g.Backward(n.loss, nil)
	if err := n.g.Compile(); err != nil {
		t.Fatal(err)
	}
	settings := optim.Default()
	settings.Rate = 1e-4
	if n.opt, err = optim.New(settings, m.Params, n.g); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.g.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// step trains on images drawn for the number of the step and returns the loss.
func (n *training) step(t *testing.T) float64 {
	t.Helper()
	n.steps++
	rng := rand.New(rand.NewPCG(5, uint64(n.steps)))
	images := make([]float32, n.images.Shape().TotalSize())
	for i := range images {
		images[i] = float32(rng.NormFloat64())
	}
	for _, err := range []error{n.eng.Write(n.g.Value(n.images), images), n.g.Run()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.opt.Step(1); err != nil {
		t.Fatal(err)
	}
	loss, err := n.g.Scalar(n.loss)
	if err != nil {
		t.Fatal(err)
	}
	if math.IsNaN(loss) {
		t.Fatalf("step %d: the loss is NaN", n.steps)
	}
	return loss
}

// bits are a digest of all parameters and statistics.
func (n *training) bits(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	for _, p := range n.m.Params.All() {
		v := make([]float32, p.Value.Size())
		if err := n.eng.Read(v, p.Value); err != nil {
			t.Fatal(err)
		}
		if err := binary.Write(h, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// trained returns losses of steps and the bits after them.
func (n *training) trained(t *testing.T, steps int) (losses []float64, bits string) {
	t.Helper()
	for range steps {
		losses = append(losses, n.step(t))
	}
	return losses, n.bits(t)
}

// enough steps are two that warm up, one that records and some that are replayed.
const enough = 5

// unrecorded is an engine that cannot record.
type unrecorded struct{ *Engine }

func (unrecorded) Record(func() error) (engine.Recording, error) {
	return nil, errors.New("recording is switched off")
}

// recordedAsUnrecorded compares a recorded step with one that is run op by op, bit for
// bit: on a deterministic engine.
func recordedAsUnrecorded(t *testing.T, e *Engine, w whole) {
	t.Helper()
	n := w.on(t, e)
	got, bits := n.trained(t, enough)
	if stretches, refusal := n.g.Recorded(); stretches == 0 || refusal != nil {
		t.Errorf("%d recordings, refusal %v", stretches, refusal)
	}
	m := w.on(t, unrecorded{e})
	want, wantBits := m.trained(t, enough)
	if stretches, refusal := m.g.Recorded(); stretches != 0 || refusal == nil {
		t.Errorf("without recording: %d recordings, refusal %v", stretches, refusal)
	}
	if !slices.Equal(got, want) || bits != wantBits {
		t.Errorf("recorded losses %v (%s), unrecorded %v (%s)", got, bits, want, wantBits)
	}
	if n := e.PlainConvolutions(); n != 0 {
		t.Errorf("%d convolutions without cuDNN: %+v", n, e.Convolutions())
	}
}

// interleaved trains two networks of two sizes by turns on one engine, each as if it
// were alone: memory that both work in grows under the recording of the first.
func interleaved(t *testing.T, e *Engine, small, large whole) {
	t.Helper()
	want, wantBits := small.on(t, e).trained(t, enough+2)
	wantLarge, wantLargeBits := large.on(t, e).trained(t, enough)
	a, b := small.on(t, e), (*training)(nil)
	var got, gotLarge []float64
	for i := range enough + 2 {
		got = append(got, a.step(t))
		if i == 2 { // behind the first's recording
			b = large.on(t, e)
		}
		if i >= 2 {
			gotLarge = append(gotLarge, b.step(t))
		}
	}
	if bits := a.bits(t); !slices.Equal(got, want) || bits != wantBits {
		t.Errorf("interleaved losses %v (%s), alone %v (%s)", got, bits, want, wantBits)
	}
	if bits := b.bits(t); !slices.Equal(gotLarge, wantLarge) || bits != wantLargeBits {
		t.Errorf("interleaved losses of the larger %v (%s), alone %v (%s)", gotLarge, bits, wantLarge, wantLargeBits)
	}
}

// childVariable is set in the process that sameBits starts.
const childVariable = "VERNIER_TEST_CHILD"

// sameBits trains in this process and, by starting the running test again, in another
// one.
func sameBits(t *testing.T, e *Engine, w whole) {
	t.Helper()
	_, bits := w.on(t, e).trained(t, enough)
	if os.Getenv(childVariable) != "" {
		fmt.Printf("\nbits: %s\n", bits)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.CombinedOutput()
	m := regexp.MustCompile(`(?m)^bits: (\w+)$`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("the other process: %v\n%s", err, out)
	}
	if string(m[1]) != bits {
		t.Errorf("this process trained to %s, another one to %s", bits, m[1])
	}
}

// biasesAreAdded checks that the products of a transformer's linear layers are such
// that the library adds the bias: sizes and addresses are aligned as it wants them.
func biasesAreAdded(t *testing.T, e *Engine, w whole) {
	t.Helper()
	w.on(t, e).trained(t, 1)
	if e.plain != 0 {
		t.Errorf("%d products with a bias or sums went without the library's, want none", e.plain)
	}
}

// poisoned is an engine that fills all memory in which libraries and operations work
// with NaN before it convolves or multiplies, but not while it records.
type poisoned struct {
	*Engine
	t *testing.T
}

func (p poisoned) spoil() {
	p.t.Helper()
	if p.recording {
		return
	}
	const piece = 1 << 20
	host, err := p.driver.AllocHost(piece)
	if err != nil {
		p.t.Fatal(err)
	}
	for i, nan := 0, unsafe.Slice((*byte)(host), piece); i < piece; i++ {
		nan[i] = 0xff
	}
	for _, b := range []block{p.work, p.space, p.Engine.scratch.block} {
		for at := int64(0); at < b.bytes; at += piece {
			if err := p.driver.Upload(b.ptr+device.Ptr(at), host, min(piece, b.bytes-at), p.compute); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	for _, err := range []error{p.driver.Synchronize(p.compute), p.driver.ReleaseHost(host)} {
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p poisoned) Conv(y, x, w engine.Tensor, spec engine.ConvSpec, ep engine.Epilogue) error {
	p.spoil()
	return p.Engine.Conv(y, x, w, spec, ep)
}

func (p poisoned) ConvGradInput(dx, dy, w engine.Tensor, spec engine.ConvSpec) error {
	p.spoil()
	return p.Engine.ConvGradInput(dx, dy, w, spec)
}

func (p poisoned) ConvGradWeights(dw, dbias, dy, x engine.Tensor, spec engine.ConvSpec) error {
	p.spoil()
	return p.Engine.ConvGradWeights(dw, dbias, dy, x, spec)
}

func (p poisoned) MatMul(c, a, b engine.Tensor, transA, transB, accumulate bool) error {
	p.spoil()
	return p.Engine.MatMul(c, a, b, transA, transB, accumulate)
}

func (p poisoned) Linear(y, x, w, bias engine.Tensor) error {
	p.spoil()
	return p.Engine.Linear(y, x, w, bias)
}

func (p poisoned) LinearGrad(dx, dw, dbias, dy, x, w engine.Tensor) error {
	p.spoil()
	return p.Engine.LinearGrad(dx, dw, dbias, dy, x, w)
}

// poisonedWorkspaces compares with the reference, and a network's step with that on
// memory that nobody spoils.
func poisonedWorkspaces(t *testing.T, e *Engine, w whole, every int) {
	t.Helper()
	enginetest.Run(t, poisoned{e, t}, enginetest.Options{Sum: 1e-4, Elementwise: 2e-6, Every: every, Only: []string{
		"matmul", "linear", "conv", "conv epilogue", "conv gradients", "conv with a folded norm",
	}})
	want, wantBits := w.on(t, e).trained(t, enough)
	n := w.on(t, poisoned{e, t})
	var got []float64
	for range enough {
		poisoned{e, t}.spoil() // also before a replay
		got = append(got, n.step(t))
	}
	if bits := n.bits(t); !slices.Equal(got, want) || bits != wantBits {
		t.Errorf("on spoilt workspaces %v (%s), want %v (%s)", got, bits, want, wantBits)
	}
}

func TestARecordedNetworkIsTheUnrecordedOne(t *testing.T) {
	e, _, _ := newFake(t, Options{Deterministic: true})
	recordedAsUnrecorded(t, e, tiny)
}

func TestTwoGraphsOnOneEngineDoNotMeet(t *testing.T) {
	e, _, _ := newFake(t, Options{Deterministic: true})
	interleaved(t, e, tiny, whole{"convnet", 24, 6})
}

func TestTwoProcessesTrainToTheSameBits(t *testing.T) {
	e, _, _ := newFake(t, Options{Deterministic: true})
	sameBits(t, e, tiny)
}

func TestALibraryAddsTheBiasesOfATransformer(t *testing.T) {
	e, _, _ := newFake(t, Options{})
	biasesAreAdded(t, e, whole{"vits16", 32, 1})
	e, _, _ = newFake(t, Options{})
	e.blas.(*fake.Blas).NoBias = true
	tinyLinear(t, e)
	if e.plain != 1 {
		t.Errorf("%d products are counted that the library refused, want 1", e.plain)
	}
}

// tinyLinear is one product with a bias.
func tinyLinear(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Linear(filled(t, e, 2, 2), filled(t, e, 2, 3), filled(t, e, 2, 3), filled(t, e, 2)); err != nil {
		t.Fatal(err)
	}
}

func TestWorkspacesMayHoldAnything(t *testing.T) {
	e, _, _ := newFake(t, Options{Deterministic: true})
	poisonedWorkspaces(t, e, tiny, every())
}

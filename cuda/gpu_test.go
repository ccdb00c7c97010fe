//go:build gpu && linux && cgo && (amd64 || arm64)

package cuda

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/enginetest"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/metric"
)

// onGPU returns an engine on the GPU of this machine. Without NVIDIA's driver the
// test is skipped; a GPU that cannot be opened is a failure.
func onGPU(t *testing.T, opt Options) *Engine {
	t.Helper()
	e, err := Open(opt)
	switch {
	case NoDriver(err):
		t.Skipf("no GPU to test on: %v", err)
	case err != nil:
		t.Fatalf("the GPU cannot be opened: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Convolutions are the deterministic ones, since the suite repeats calls and
// wants the same bits.
func TestOnAGPUFullPrecision(t *testing.T) {
	e := onGPU(t, Options{Precision: FP32, Deterministic: true})
	enginetest.Run(t, e, enginetest.Options{Sum: 1e-4, Elementwise: 2e-6, Golden: true})
}

func TestOnAGPUTF32(t *testing.T) {
	e := onGPU(t, Options{Precision: TF32, Deterministic: true})
	enginetest.Run(t, e, enginetest.Options{Sum: 3e-3, Elementwise: 2e-6, Only: []string{
		"matmul", "linear", "conv", "conv epilogue", "conv gradients", "conv with a folded norm",
	}})
}

func TestOnAGPUBfloat16(t *testing.T) {
	e := onGPU(t, Options{Precision: BF16, Deterministic: true})
	enginetest.Run(t, narrowed{e}, narrowOptions())
}

// Distances are float32 whatever the precision of the rest.
func TestOnAGPUDistancesAreExactInEveryPrecision(t *testing.T) {
	e := onGPU(t, Options{Precision: BF16})
	enginetest.Run(t, e, enginetest.Options{Sum: 1e-4, Only: []string{
		"pairwise", "pairwise of one tensor with itself", "pairwise within groups of rows", "pairwise at extreme scales", "pairwise of equal rows", "mix", "channel grams",
	}})
}

func TestOnAGPUARecordedStepTrainsLikeTheReference(t *testing.T) {
	e := onGPU(t, Options{Precision: FP32})
	ref, n := newTrainer(t, reference.New()), newTrainer(t, e)
	for step := range 12 {
		want, got := ref.step(t), n.step(t)
		if math.Abs(got-want) > 1e-3*(1+math.Abs(want)) {
			t.Fatalf("step %d: loss %v, want %v", step, got, want)
		}
	}
	if stretches, refusal := n.g.Recorded(); stretches != 2 || refusal != nil {
		t.Errorf("%d CUDA graphs, refusal: %v", stretches, refusal)
	}
}

// Losses over class rows are float32 whatever the precision of the rest.
func TestOnAGPUClassLossesAgreeWithTheHost(t *testing.T) {
	enginetest.ClassLosses(t, onGPU(t, Options{Precision: FP32}), enginetest.ClassLossOptions{Rel: 1e-4, Quick: every() > 1})
}

func TestOnAGPUAStepOnBytesWithTheLossOnTheDevice(t *testing.T) {
	e := onGPU(t, Options{Precision: FP32})
	newResident(t, e).trainsLike(t, newResident(t, reference.New()), 40, 1e-3)
}

func TestOnAGPUBatchesThatAreSentAheadArriveInTheirTurn(t *testing.T) {
	sentAhead(t, onGPU(t, Options{}))
}

func TestOnAGPUSearchesAreThoseOfTheCPU(t *testing.T) {
	brm := []metric.Metric{{P: 2}, {P: 1}}
	for r := metric.SoftSign; r <= metric.ISRU; r++ {
		brm = append(brm, metric.Metric{P: 2, Restriction: r, Omega: 1}.Canonical())
	}
	e := onGPU(t, Options{Precision: BF16})
	leastAgrees(t, e)
	searchAgrees(t, e, []searchCase{
		{2, 2, 1, 1, brm},
		{40, 25, 512, 1.5, brm},
		{20, 30, 64, 1e-4, []metric.Metric{{P: 2}, {Kind: metric.Euclidean}, {Kind: metric.Cosine}, {Kind: metric.Lorentz, Curvature: 1}, {Kind: metric.SignalToNoise}}},
		{2, 300, 16, .3, []metric.Metric{{P: 2}, {Kind: metric.Dot}}},
	})
}

func TestOnAGPUAClippedStepIsThatOfClippedGradients(t *testing.T) {
	clipAgrees(t, onGPU(t, Options{Precision: FP32}))
}

// The three networks have no shape that cuDNN does not compute, and a replay gives the
// bits of the operations one by one.
func TestOnAGPURecordedNetworksAreTheUnrecordedOnes(t *testing.T) {
	for _, name := range []string{"resnet50", "bninception", "vits16"} {
		t.Run(name, func(t *testing.T) {
			recordedAsUnrecorded(t, onGPU(t, Options{Precision: BF16, Deterministic: true}), whole{name, 224, 8})
		})
	}
}

func TestOnAGPUTwoGraphsOnOneEngineDoNotMeet(t *testing.T) {
	interleaved(t, onGPU(t, Options{Deterministic: true}), tiny, whole{"resnet50", 224, 8})
}

func TestOnAGPUTrainingAndInferenceTakeTurns(t *testing.T) {
	turns(t, onGPU(t, Options{Precision: BF16, Deterministic: true}), whole{"resnet50", 224, 8}, nil, 0)
}

// README promises the same bits for two runs on one machine with --deterministic.
func TestOnAGPUTwoProcessesTrainToTheSameBits(t *testing.T) {
	sameBits(t, onGPU(t, Options{Precision: BF16, Deterministic: true}), whole{"resnet50", 224, 8})
}

// cuBLASLt wants addresses and rows that are multiples of 16 bytes.
func TestOnAGPUTheLibraryAddsTheBiasesOfATransformer(t *testing.T) {
	for _, p := range []Precision{BF16, TF32, FP32} {
		t.Run(p.String(), func(t *testing.T) { biasesAreAdded(t, onGPU(t, Options{Precision: p}), whole{"vits16", 224, 8}) })
	}
}

// No library reads what it has not written into the memory that it may work in.
func TestOnAGPUWorkspacesMayHoldAnything(t *testing.T) {
	e := onGPU(t, Options{Precision: FP32, Deterministic: true, Workspace: 64 << 20})
	poisonedWorkspaces(t, e, tiny, 1)
}

// What the driver's compiler says of a module that it refuses is in the failure; the
// other modules are tried all the same.
func TestOnAGPUEveryModuleOfKernelsLoads(t *testing.T) {
	everyModuleLoads(t, onGPU(t, Options{}))
}

package cpu

import (
	"fmt"
	"os"
	"runtime"

	"github.com/vernier-ml/vernier/engine"
)

// Variable names the environment variable that picks the kernel variant when
// Options.Variant is empty.
const Variable = "VERNIER_CPU"

// Options says how an Engine works. The zero value uses every processor and the
// best kernels that this machine can run.
type Options struct {
	// Threads is the number of goroutines that compute; 0 means GOMAXPROCS.
	Threads int
	// Variant is one of Variants(). Empty means $VERNIER_CPU, and the best one if
	// that is not set either.
	Variant string
	// Precision is FP32 or BF16, FP32 if it is empty.
	Precision string
}

// Precisions of an engine. In both of them all tensors are float32, and so are sums, updates,
// losses and distances.
const (
	// FP32 multiplies float32 numbers.
	FP32 = "fp32"
	// BF16 rounds what is multiplied in attention, in linear layers of tokens, and in
	// convolutions that are neither depthwise nor go by Winograd's algorithm, to bfloat16,
	// which has 8 bits. It needs AVX-512 BF16, or the portable variant.
	BF16 = "bf16"
)

// Engine computes on the CPU, see engine.Engine. Its tensors are *Tensor.
type Engine struct {
	kernels *kernels
	pool    *pool
	scratch scratch
	keeper  *keeper
	alone   []*Engine // see groups
	plans   map[patchShape]*patchPlan
	narrow  bool // products of networks are in bfloat16
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine. A negative number of threads, an unknown variant or precision, and
// those that this machine lacks, are errors.
func New(o Options) (*Engine, error) {
	if o.Threads < 0 {
		return nil, fmt.Errorf("cpu: %d threads asked for, want 1 or more, or 0 for one a processor", o.Threads)
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	name, from := o.Variant, "variant"
	if name == "" {
		name, from = os.Getenv(Variable), Variable
	}
	k, err := pickKernels(name)
	if err != nil {
		return nil, fmt.Errorf("cpu: %s: %w", from, err)
	}
	narrow, err := k.narrows(o.Precision)
	if err != nil {
		return nil, fmt.Errorf("cpu: precision: %w", err)
	}
	e := &Engine{narrow: narrow, kernels: k, keeper: &keeper{all: make(map[*packs]bool)}, pool: newPool(o.Threads), plans: make(map[patchShape]*patchPlan)}
	e.scratch.workers = make([]workerScratch, o.Threads)
	// An engine that is dropped without Close takes its workers along.
	runtime.AddCleanup(e, (*pool).close, e.pool)
	return e, nil
}

// Name is "cpu (avx512, 2 threads)", or "cpu (avx512, bf16, 2 threads)".
func (e *Engine) Name() string {
	s := "s"
	if e.pool.threads == 1 {
		s = ""
	}
	name := e.kernels.name
	if e.narrow {
		name += ", " + BF16
	}
	return fmt.Sprintf("cpu (%s, %d thread%s)", name, e.pool.threads, s)
}

// Info names the kernels and the precision.
func (e *Engine) Info() engine.Info {
	return engine.Info{Kind: engine.CPU, Device: e.kernels.name, Precision: e.precision(), Deterministic: true}
}

func (e *Engine) precision() string {
	if e.narrow {
		return BF16
	}
	return FP32
}

// Close ends the worker goroutines. A closed engine still computes, on the
// calling goroutine alone. Closing again does nothing.
func (e *Engine) Close() error {
	e.pool.close()
	return nil
}

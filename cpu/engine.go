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
}

// Engine computes on the CPU, see engine.Engine. Its tensors are *Tensor.
type Engine struct {
	kernels *kernels
	pool    *pool
	scratch scratch
	alone   []*Engine // see groups
	plans   map[patchShape]*patchPlan
}

var _ engine.Engine = (*Engine)(nil)

// New returns an engine. A negative number of threads, an unknown variant and a
// variant that this machine lacks are errors.
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
	e := &Engine{kernels: k, pool: newPool(o.Threads), plans: make(map[patchShape]*patchPlan)}
	e.scratch.workers = make([]workerScratch, o.Threads)
	// An engine that is dropped without Close takes its workers along.
	runtime.AddCleanup(e, (*pool).close, e.pool)
	return e, nil
}

// Name is "cpu (avx512, 2 threads)".
func (e *Engine) Name() string {
	s := "s"
	if e.pool.threads == 1 {
		s = ""
	}
	return fmt.Sprintf("cpu (%s, %d thread%s)", e.kernels.name, e.pool.threads, s)
}

// Info names the kernels; all numbers are float32.
func (e *Engine) Info() engine.Info {
	return engine.Info{Kind: engine.CPU, Device: e.kernels.name, Precision: "fp32", Deterministic: true}
}

// Close ends the worker goroutines. A closed engine still computes, on the
// calling goroutine alone. Closing again does nothing.
func (e *Engine) Close() error {
	e.pool.close()
	return nil
}

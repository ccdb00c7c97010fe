package cuda

import (
	"errors"
	"fmt"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// Engine computes on a GPU, see engine.Engine. Its methods enqueue work on the
// device and return; only those that hand numbers to the host wait.
type Engine struct {
	driver  device.Driver
	blas    device.Blas
	dnn     device.Dnn
	opt     Options
	modules map[string]module // of kernels, by their names
	compute device.Stream     // all computation, in order
	memory  *allocator
	scratch scratch
	stage   *stage
	plans   map[planKey]plan
	work    block   // of convolutions and attention
	space   block   // of products
	plain   int     // products with a bias or sums that the library did not add
	word    *Tensor // where the device leaves an answer of a few bytes
	norms   norms
	numbers mailbox // of ReadLater
	// attended counts what the host had to take part in, which cannot be recorded.
	attended  int
	recording bool
	written   []*Tensor // while recording
	bundle    *bundle   // that is being made, or nil
	group     *group    // that was joined, or nil
}

var (
	_ engine.Engine = (*Engine)(nil)
	_ engine.Device = (*Engine)(nil)
)

// parts are what an engine is made of. Blas and dnn belong to the stream.
type parts struct {
	driver  device.Driver
	compute device.Stream
	blas    device.Blas
	dnn     device.Dnn
}

// blasWorkspace is what cuBLAS is advised to have on GPUs of today.
const blasWorkspace = 32 << 20

// newEngine makes an engine of its parts, which it then owns.
func newEngine(p parts, opt Options) (e *Engine, err error) {
	e = &Engine{
		driver: p.driver, blas: p.blas, dnn: p.dnn, opt: opt, compute: p.compute,
		memory: newAllocator(p.driver, opt.Precision == BF16), plans: map[planKey]plan{},
		modules: map[string]module{},
	}
	e.scratch.memory = e.memory
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	if e.stage, err = newStage(p.driver); err != nil {
		return e, fmt.Errorf("cuda: streams: %w", err)
	}
	if e.space, err = e.memory.take(blasWorkspace); err != nil {
		return e, fmt.Errorf("cuda: workspace of products: %w", err)
	}
	if err := e.blas.SetWorkspace(e.space.ptr, e.space.bytes); err != nil {
		return e, fmt.Errorf("cuda: %w", err)
	}
	word, err := e.New(4)
	if err != nil {
		return e, err
	}
	e.word = word.(*Tensor)
	return e, nil
}

// Name is "cuda:0 (NVIDIA H100 80GB HBM3, tf32)".
func (e *Engine) Name() string {
	return fmt.Sprintf("cuda:%d (%s, %v)", e.opt.Device, e.driver.Properties().Name, e.opt.Precision)
}

// Info names the model of the GPU, and the options on which numbers depend.
func (e *Engine) Info() engine.Info {
	return engine.Info{Kind: engine.CUDA, Device: e.driver.Properties().Name, Precision: e.opt.Precision.String(), Deterministic: e.opt.Deterministic}
}

// Memory is how much of the device's memory is free for tensors, and how much there
// is. What convolutions will take when the first comes, to work in and for kernels of
// cuDNN and cuBLAS, is not free.
func (e *Engine) Memory() (free, total int64, err error) {
	free, total, err = e.driver.Free()
	if err == nil && e.work.ptr == 0 {
		free = max(0, free-e.opt.workspace(total)-libraryMemory(total))
	}
	return free, total, err
}

// libraryMemory is what cuDNN and cuBLAS are expected to load in kernels and tables
// of their own: half a GiB, less on a device of less than 16 GiB.
func libraryMemory(total int64) int64 { return min(total/32, 512<<20) }

// Held is how much of the device's memory this engine holds, in use or kept for later.
func (e *Engine) Held() int64 { return e.memory.held() + e.stage.held() }

// Workspace returns the bytes of the buffers that operations have needed in between
// so far.
func (e *Engine) Workspace() int64 {
	return blasWorkspace + e.work.bytes + e.scratch.block.bytes + e.stage.held()
}

// Synchronize waits until the device has finished all work that was enqueued.
func (e *Engine) Synchronize() error {
	if err := e.driver.Synchronize(e.compute); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	return nil
}

// Close gives back all that the engine holds; its tensors must not be used any
// more.
func (e *Engine) Close() error {
	if e.driver == nil {
		return nil
	}
	errs := []error{e.driver.Synchronize(e.compute), e.memory.close(), e.norms.close(e.driver), e.numbers.close(e.driver)}
	if e.stage != nil {
		errs = append(errs, e.stage.close())
	}
	if e.group != nil {
		errs = append(errs, e.driver.ReleaseEvent(e.group.event))
	}
	errs = append(errs, e.dnn.Close(), e.blas.Close(), e.driver.ReleaseStream(e.compute), e.driver.Close())
	e.driver = nil
	return errors.Join(errs...)
}

// launch puts a kernel into the queue.
func (e *Engine) launch(l kernels.Launch) error {
	if l.Empty() {
		return nil
	}
	if err := l.Check(); err != nil {
		return fmt.Errorf("kernel %s: %w: %s", l.Name, err, lower)
	}
	k, err := e.kernel(l)
	if err != nil {
		return fmt.Errorf("kernel %s: %w", l.Name, err)
	}
	if err := e.driver.Launch(k, l.Grid, l.Threads, l.Args, e.compute); err != nil {
		return fmt.Errorf("kernel %s: %w", l.Name, err)
	}
	return nil
}

// attend notes that the host takes part, which a recording cannot repeat.
func (e *Engine) attend() error {
	e.attended++
	if e.recording {
		return errors.New("the host takes part in this, it cannot be recorded")
	}
	return nil
}

// precision of products of float32 numbers that need not be exact.
func (e *Engine) precision() device.Precision {
	if e.opt.Precision == FP32 {
		return device.Full
	}
	return device.TF32
}

package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

var _ engine.Bundler = (*Engine)(nil)

// bundle is small operations as tasks of a few launches. Its table stays on the
// device, so that a recording can read it.
type bundle struct {
	eng      *Engine
	tasks    []kernels.Task
	written  []*Tensor
	blocks   []block
	used     int64 // of the last block
	launches []kernels.Launch
}

// Bundle keeps what f asks for as tasks.
func (e *Engine) Bundle(f func() error) (engine.Bundle, error) {
	a := e.args("bundle")
	a.check(e.bundle == nil, "inside another one")
	if a.failed(e.attend()); a.err != nil {
		return nil, a.err
	}
	b := &bundle{eng: e}
	e.bundle = b
	err := f()
	e.bundle = nil
	if a.failed(err); a.err == nil {
		b.arrange(a)
	}
	if a.err != nil {
		return nil, errors.Join(a.err, b.Close())
	}
	return b, nil
}

// arrange makes the launches and brings their table to the device.
func (b *bundle) arrange(a *args) {
	if len(b.tasks) == 0 {
		return
	}
	table := kernels.NewTaskTable(b.tasks)
	bytes := int64(len(table.Host))
	to, err := b.take(bytes)
	if a.failed(err); err != nil {
		return
	}
	p := a.staged(unsafe.Pointer(unsafe.SliceData(table.Host)), bytes)
	if a.err == nil {
		a.failed(a.eng.driver.Copy(to, p.dev, bytes, a.eng.compute))
	}
	a.consumed(p)
	b.launches, b.tasks = table.Launches(to), nil
}

// take returns memory that is the bundle's until it is closed.
func (b *bundle) take(bytes int64) (device.Ptr, error) {
	const least = 64 << 10
	bytes = aligned(max(bytes, 1))
	if n := len(b.blocks); n == 0 || b.used+bytes > b.blocks[n-1].bytes {
		next, err := b.eng.memory.take(max(least, bytes))
		if err != nil {
			return 0, fmt.Errorf("memory of a bundle: %w", err)
		}
		b.blocks, b.used = append(b.blocks, next), 0
	}
	p := b.blocks[len(b.blocks)-1].ptr + device.Ptr(b.used)
	b.used += bytes
	return p, nil
}

// Run puts the launches into the queue.
func (b *bundle) Run() error {
	a := b.eng.args("bundle")
	for _, t := range b.written {
		t.touched()
	}
	a.launch(b.launches...)
	return a.err
}

// Close gives its memory back.
func (b *bundle) Close() error {
	for _, m := range b.blocks {
		b.eng.memory.giveBack(m)
	}
	b.blocks, b.launches = nil, nil
	return nil
}

// task adds to the bundle that is being made, and notes what it will write.
func (a *args) task(t kernels.Task, written ...named) {
	if a.err != nil {
		return
	}
	b := a.eng.bundle
	b.tasks = append(b.tasks, t)
	for _, x := range written {
		if x.there() {
			b.written = append(b.written, x.Tensor)
		}
	}
}

// single refuses what a bundle does not hold.
func (a *args) single() {
	a.check(a.eng.bundle == nil, "is no operation of a bundle")
}

// rowSums are sums over rows that are to end in a tensor, or at an address: parts of
// them go to part, and end adds those up.
type rowSums struct {
	part device.Ptr
	end  []kernels.Launch
}

// sumsTo returns where the given number of parts of sums over rows go that are to end in
// out (c). Parts that fit into out stay there. The zero rowSums are those that
// nobody wants.
func (a *args) sumsTo(out named, parts, c int) rowSums {
	if !out.there() || a.err != nil {
		return rowSums{}
	}
	if !out.sums {
		return a.sumsAt(a.out(out, device.F32), parts, c)
	}
	out.touched()
	out.parts = parts
	return rowSums{part: out.ptr}
}

// sumsAt is sumsTo for an address.
func (a *args) sumsAt(out device.Ptr, parts, c int) rowSums {
	part := a.floats(parts * c)
	return rowSums{part, []kernels.Launch{kernels.Combine(parts, c, out, part, 1)}}
}

// columnSums sets out (c) to the sums of the columns of x (rows, c), or to parts.
func (a *args) columnSums(out named, t device.Type, x device.Ptr, rows int64, c int) {
	parts, _ := kernels.Parts(rows, c)
	to := a.sumsTo(out, parts, c)
	a.launch(append([]kernels.Launch{kernels.ChannelSums(t, rows, c, to.part, x)}, to.end...)...)
}

// combine adds up the parts of x.
func (a *args) combine(to device.Ptr, x named) {
	if a.eng.bundle != nil {
		a.task(kernels.CombineTask(x.parts, x.size, to, x.ptr, 1))
		return
	}
	a.launch(kernels.Combine(x.parts, x.size, to, x.ptr, 1))
}

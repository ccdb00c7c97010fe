package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/internal/setting"
)

// allocator keeps device memory that was given back for who asks next: to
// allocate on a device stops it. Work of one stream runs in order, so a block
// may change hands while the device still reads it.
type allocator struct {
	driver device.Driver
	narrow bool       // maps are bfloat16
	mu     sync.Mutex // blocks are given back by the garbage collector's goroutine
	free   map[int64][]block
	all    map[device.Ptr]bool // whatever the device has given
	used   int64               // bytes in tensors
	cached int64               // bytes in free
	blocks int                 // in use
	closed bool
}

// block is a piece of device memory.
type block struct {
	ptr   device.Ptr
	bytes int64
}

func newAllocator(d device.Driver, narrow bool) *allocator {
	return &allocator{driver: d, narrow: narrow, free: map[int64][]block{}, all: map[device.Ptr]bool{}}
}

// alignment of everything that is handed out, in bytes: enough for any access
// that libraries make.
const alignment = 256

// Blocks beyond largestClass, such as arenas, are of the size that was asked for but
// for whole pages: an eighth of what memory was planned for would not be there.
const (
	largestClass = 64 << 20
	page         = 2 << 20
)

// sizeClass rounds a request up such that requests of about one size share
// blocks: to 256 bytes, beyond 4 KiB to an eighth of the next power of two, and
// beyond largestClass to pages.
func sizeClass(bytes int64) int64 {
	if bytes > largestClass {
		return (bytes + page - 1) / page * page
	}
	step := int64(alignment)
	for step*16 < bytes {
		step *= 2
	}
	return (max(bytes, 1) + step - 1) / step * step
}

// take returns a block of at least bytes bytes.
func (a *allocator) take(bytes int64) (block, error) {
	size := sizeClass(bytes)
	if b, ok := a.reuse(size); ok {
		return b, nil
	}
	p, err := a.driver.Alloc(size)
	if err != nil {
		// What is unreachable but not collected yet, and what is cached in other
		// sizes, may be enough.
		a.collect()
		if b, ok := a.reuse(size); ok {
			return b, nil
		}
		if err := a.trim(); err != nil {
			return block{}, err
		}
		if p, err = a.driver.Alloc(size); err != nil {
			return block{}, a.exhausted(size, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used += size
	a.blocks++
	a.all[p] = true
	return block{p, size}, nil
}

func (a *allocator) reuse(size int64) (block, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.free[size]
	if len(list) == 0 {
		return block{}, false
	}
	b := list[len(list)-1]
	a.free[size] = list[:len(list)-1]
	a.cached -= size
	a.used += size
	a.blocks++
	return b, true
}

// giveBack takes a block that take returned.
func (a *allocator) giveBack(b block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.used -= b.bytes
	a.blocks--
	a.free[b.bytes] = append(a.free[b.bytes], b)
	a.cached += b.bytes
}

// held is all that the device has given.
func (a *allocator) held() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used + a.cached
}

// collect lets the garbage collector give back what nobody holds.
func (a *allocator) collect() {
	done := make(chan struct{})
	marker := new([16]byte)
	runtime.AddCleanup(marker, func(c chan struct{}) { close(c) }, done)
	runtime.KeepAlive(marker)
	for range 2 { // cleanups are queued by one collection and run after it
		runtime.GC()
		select {
		case <-done:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// trim returns what is cached to the device.
func (a *allocator) trim() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for size, list := range a.free {
		for _, b := range list {
			if err := a.driver.Release(b.ptr); err != nil {
				return err
			}
			a.cached -= b.bytes
			delete(a.all, b.ptr)
		}
		delete(a.free, size)
	}
	return nil
}

// MemoryError says that a device has no room.
type MemoryError struct {
	Want        int64 // bytes asked for
	Free, Total int64 // of the device
	Used        int64 // by this program's tensors
	Narrow      bool  // maps are bfloat16 already
	Err         error // of the driver
}

func (e *MemoryError) Error() string { return e.Unwrap().Error() }

// Unwrap is the message, with the settings that it names. It wraps the driver's error.
func (e *MemoryError) Unwrap() error {
	advice := "in training embed batches in parts with %s (the same gradient);"
	names := []any{setting.Name("micro_batch")}
	if !e.Narrow {
		advice += " store maps in half of it with %s bf16;"
		names = append(names, setting.Name("precision"))
	}
	args := []any{mebibytes(e.Want), mebibytes(e.Free), mebibytes(e.Total), mebibytes(e.Used), mebibytes(max(0, e.Total-e.Free-e.Used))}
	args = append(append(args, names...), setting.Name("classes_per_batch"), setting.Name("images_per_class"), setting.Name("model.input.size"), e.Err)
	return setting.Errorf("%s are needed, %s of the GPU's %s are free (%s are in use by this program, %s by others); "+advice+" or lower %s, %s or %s, or close other programs that use the GPU: %w", args...)
}

func mebibytes(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

func (a *allocator) exhausted(want int64, err error) error {
	a.mu.Lock()
	used := a.used
	a.mu.Unlock()
	free, total, freeErr := a.driver.Free()
	if freeErr != nil {
		return fmt.Errorf("%s are needed: %w", mebibytes(want), err)
	}
	return &MemoryError{Want: want, Free: free, Total: total, Used: used, Narrow: a.narrow, Err: err}
}

// close returns everything to the device, also what tensors hold that are still
// reachable.
func (a *allocator) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	var errs []error
	for p := range a.all {
		errs = append(errs, a.driver.Release(p))
	}
	clear(a.all)
	clear(a.free)
	return errors.Join(errs...)
}

// sizes lists the classes that are cached, for tests.
func (a *allocator) sizes() []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []int64
	for size, blocks := range a.free {
		for range blocks {
			list = append(list, size)
		}
	}
	slices.Sort(list)
	return list
}

//go:build gpu && linux && cgo

package gpu

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/internal/native"
)

// Driver is a GPU with its primary context, which NVIDIA's libraries use too.
type Driver struct {
	set     *native.Set
	ordinal int
	dev     cu.Device
	ctx     cu.CUContext
	props   device.Properties
	streams map[device.Stream]cu.Stream
	events  map[device.Event]cu.Event
	modules []uintptr
}

var _ device.Driver = (*Driver)(nil)

// Open makes the context of a GPU by its number. The set is the driver's to
// close from then on.
func Open(set *native.Set, ordinal int) (d *Driver, err error) {
	d = &Driver{set: set, ordinal: ordinal, streams: map[device.Stream]cu.Stream{}, events: map[device.Event]cu.Event{}}
	if d.dev, err = cu.GetDevice(ordinal); err != nil {
		return nil, fmt.Errorf("GPU %d: %w", ordinal, err)
	}
	described := set.Report.Devices[ordinal]
	d.props = device.Properties{Name: described.Name, Major: described.Major, Minor: described.Minor, Bytes: described.Bytes}
	if d.props.Processors, err = set.Driver.Processors(ordinal); err != nil {
		return nil, err
	}
	if d.ctx, err = d.dev.RetainPrimaryCtx(); err != nil {
		return nil, fmt.Errorf("GPU %d: context: %w", ordinal, err)
	}
	return d, nil
}

// within runs f on a thread that has the context: Go moves goroutines between
// threads, and a context belongs to a thread.
func (d *Driver) within(call string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cu.SetCurrentContext(d.ctx)
	if err == nil {
		err = f()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	return nil
}

// Properties describe the GPU.
func (d *Driver) Properties() device.Properties { return d.props }

// Place is the address of the GPU on its bus.
func (d *Driver) Place() (string, error) { return d.set.Driver.Place(d.ordinal) }

// Free is how much memory is left.
func (d *Driver) Free() (free, total int64, err error) {
	err = d.within("cuMemGetInfo", func() (err error) {
		free, total, err = cu.MemInfo()
		return err
	})
	return free, total, err
}

// Alloc returns device memory.
func (d *Driver) Alloc(bytes int64) (p device.Ptr, err error) {
	err = d.within("cuMemAlloc", func() error {
		q, err := cu.MemAlloc(bytes)
		p = device.Ptr(q)
		return err
	})
	return p, err
}

// Release gives device memory back.
func (d *Driver) Release(p device.Ptr) error {
	return d.within("cuMemFree", func() error { return cu.MemFree(cu.DevicePtr(p)) })
}

// AllocHost returns pinned memory.
func (d *Driver) AllocHost(bytes int64) (p unsafe.Pointer, err error) {
	err = d.within("pinned memory", func() (err error) {
		p, err = d.set.Driver.AllocHost(bytes)
		return err
	})
	return p, err
}

// ReleaseHost gives it back.
func (d *Driver) ReleaseHost(p unsafe.Pointer) error {
	return d.within("pinned memory", func() error { return d.set.Driver.ReleaseHost(p) })
}

// Upload copies to the device.
func (d *Driver) Upload(dst device.Ptr, src unsafe.Pointer, bytes int64, s device.Stream) error {
	return d.within("cuMemcpyHtoDAsync", func() error { return cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, bytes, d.streams[s]) })
}

// Download copies to the host.
func (d *Driver) Download(dst unsafe.Pointer, src device.Ptr, bytes int64, s device.Stream) error {
	return d.within("cuMemcpyDtoHAsync", func() error { return cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), bytes, d.streams[s]) })
}

// Copy copies within the device.
func (d *Driver) Copy(dst, src device.Ptr, bytes int64, s device.Stream) error {
	return d.within("cuMemcpyDtoDAsync", func() error {
		return cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), bytes, d.streams[s])
	})
}

// Clear sets words to 0.
func (d *Driver) Clear(p device.Ptr, bytes int64, s device.Stream) error {
	return d.within("cuMemsetD32Async", func() error { return cu.MemsetD32Async(cu.DevicePtr(p), 0, bytes/4, d.streams[s]) })
}

// Load compiles a module and finds its kernels.
func (d *Driver) Load(text string, names []string) (map[string]device.Kernel, error) {
	list := map[string]device.Kernel{}
	err := d.within("loading", func() error {
		m, err := d.set.Driver.LoadModule(text)
		if err != nil {
			return err
		}
		d.modules = append(d.modules, m)
		for _, name := range names {
			f, err := d.set.Driver.Function(m, name)
			if err != nil {
				return fmt.Errorf("kernel %s: %w", name, err)
			}
			list[name] = device.Kernel(f)
		}
		return nil
	})
	return list, err
}

// Launch runs a kernel.
func (d *Driver) Launch(k device.Kernel, grid [3]int, threads int, args []uint64, s device.Stream) error {
	return d.within("launch", func() error { return d.set.Driver.Launch(uintptr(k), grid, threads, args, uintptr(s)) })
}

// Close releases the libraries' handles and modules while there is a context, then
// the context, then the libraries.
func (d *Driver) Close() error {
	err := d.within("closing", func() error {
		errs := []error{d.set.Detach()}
		for _, m := range d.modules {
			errs = append(errs, d.set.Driver.UnloadModule(m))
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, d.dev.ReleasePrimaryCtx(), d.set.Close())
}

//go:build cgo && linux && (amd64 || arm64)

package fake

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/cuda/kernels/host"
)

// Driver is a device made of host memory: kernels run as plain C, at once unless
// their stream is lazy, in the order in which they are given. It can record
// them and replay.
type Driver struct {
	// Limit is the memory in bytes; an allocation beyond it fails.
	Limit int64
	// Hidden keeps device memory out of the host's reach: it may be touched only
	// while a kernel, a library or a copy works.
	Hidden bool
	// Fault, if not nil, is asked before every call and may make it fail.
	Fault func(call string) error

	// Refuse, if not nil, says why a module with kernels of these names is refused.
	Refuse func(names []string) error

	// Lazy streams do their work as late as they may: when the host or
	// another stream waits for it. So a wait that is missing shows.
	Lazy map[device.Stream]bool

	// Idle makes commands of streams do nothing: what is asked for can be counted,
	// whatever it would take to compute it.
	Idle bool

	// At is what Place says, and Joins what Ranks returns; nil for no library.
	At    string
	Joins *Joined

	// Counts of calls by name, and of bytes by Upload and Download.
	Calls map[string]int
	Bytes map[string]int64

	names     []string
	mappings  map[uintptr][]byte
	sorted    []uintptr // addresses of mappings
	pinned    map[uintptr][]byte
	used      int64
	handles   uintptr
	recording device.Stream
	commands  []node
	graphs    map[device.Graph][]node
	events    map[device.Event]mark
	timed     map[device.Event]bool
	times     map[device.Event]time.Duration // when timed events happened
	now       time.Duration                  // Tick for each command that was done
	streams   map[device.Stream]*queue
	closed    bool
}

// Tick is what every kernel, copy and call of a library takes by the device's own clock.
// Events and waiting for them take nothing, the launch of a graph as much as what it
// consists of and a Tick.
const Tick = time.Microsecond

// New returns a device with limit bytes of memory.
func New(limit int64) *Driver {
	return &Driver{
		Limit: limit, Calls: map[string]int{}, Bytes: map[string]int64{}, mappings: map[uintptr][]byte{}, pinned: map[uintptr][]byte{}, handles: 100,
		graphs: map[device.Graph][]node{}, events: map[device.Event]mark{}, streams: map[device.Stream]*queue{}, Lazy: map[device.Stream]bool{},
		timed: map[device.Event]bool{}, times: map[device.Event]time.Duration{},
	}
}

var _ device.Driver = (*Driver)(nil)

func (d *Driver) call(name string) error {
	d.Calls[name]++
	if d.closed {
		return fmt.Errorf("%s: the device is closed", name)
	}
	if d.Fault != nil {
		return d.Fault(name)
	}
	return nil
}

// do runs a command of a stream, or records it.
func (d *Driver) do(name string, s device.Stream, f func() error) error {
	return d.doAs(name, name, s, f)
}

// doAs is do for a call whose node in a recording has a name of its own.
func (d *Driver) doAs(name, as string, s device.Stream, f func() error) error {
	if err := d.call(name); err != nil {
		return err
	}
	q := d.streams[s]
	if q == nil {
		return fmt.Errorf("%s: %d is no stream", name, s)
	}
	if d.Idle && d.recording != s {
		f = func() error { return nil }
	}
	if work := f; name != "Record" && name != "Wait" {
		f = func() error {
			defer func() { d.now += Tick }()
			return work()
		}
	}
	if d.recording == s {
		d.commands = append(d.commands, node{as, f})
		return nil
	}
	q.commands = append(q.commands, f)
	q.asked++
	if d.Lazy[s] {
		return nil
	}
	return d.until(mark{s, q.asked})
}

// forbidden is for calls that break a recording.
func (d *Driver) forbidden(name string) error {
	if err := d.call(name); err != nil {
		return err
	}
	if d.recording != 0 {
		return fmt.Errorf("%s while a stream is recorded", name)
	}
	return nil
}

// stopping is for calls that a device does when all else is done.
func (d *Driver) stopping(name string) error {
	if err := d.forbidden(name); err != nil {
		return err
	}
	for s, q := range d.streams {
		if err := d.until(mark{s, q.asked}); err != nil {
			return err
		}
	}
	return nil
}

// touch runs f with device memory in reach.
func (d *Driver) touch(f func() error) error {
	if !d.Hidden {
		return f()
	}
	if err := d.protect(syscall.PROT_READ | syscall.PROT_WRITE); err != nil {
		return err
	}
	return errors.Join(f(), d.protect(syscall.PROT_NONE))
}

func (d *Driver) protect(prot int) error {
	for _, m := range d.mappings {
		if err := syscall.Mprotect(m, prot); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) handle() uintptr {
	d.handles++
	return d.handles
}

// Properties are those of an imaginary device.
func (d *Driver) Properties() device.Properties {
	return device.Properties{Name: "Fake", Major: 7, Bytes: d.Limit, Processors: 8}
}

// Free is what is left of the limit.
func (d *Driver) Free() (free, total int64, err error) {
	return d.Limit - d.used, d.Limit, d.call("Free")
}

// Alloc maps memory, filled with a pattern that is NaN in every type.
func (d *Driver) Alloc(bytes int64) (device.Ptr, error) {
	if err := d.forbidden("Alloc"); err != nil {
		return 0, err
	}
	if bytes <= 0 || d.used+bytes > d.Limit {
		return 0, errors.New("out of memory")
	}
	page := int64(syscall.Getpagesize())
	m, err := syscall.Mmap(-1, 0, int((bytes+page-1)/page*page), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return 0, err
	}
	for i := range m {
		m[i] = 0xff
	}
	p := uintptr(unsafe.Pointer(&m[0]))
	d.mappings[p] = m
	i, _ := slices.BinarySearch(d.sorted, p)
	d.sorted = slices.Insert(d.sorted, i, p)
	d.used += int64(len(m))
	if d.Hidden {
		err = syscall.Mprotect(m, syscall.PROT_NONE)
	}
	return device.Ptr(p), err
}

// Release unmaps memory.
func (d *Driver) Release(p device.Ptr) error {
	if err := d.stopping("Release"); err != nil {
		return err
	}
	m, ok := d.mappings[uintptr(p)]
	if !ok {
		return fmt.Errorf("release of %#x, which nobody allocated", uintptr(p))
	}
	delete(d.mappings, uintptr(p))
	i, _ := slices.BinarySearch(d.sorted, uintptr(p))
	d.sorted = slices.Delete(d.sorted, i, i+1)
	d.used -= int64(len(m))
	return syscall.Munmap(m)
}

// AllocHost maps memory that the host may touch at any time.
func (d *Driver) AllocHost(bytes int64) (unsafe.Pointer, error) {
	if err := d.forbidden("AllocHost"); err != nil {
		return nil, err
	}
	m, err := syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	p := unsafe.Pointer(&m[0])
	d.pinned[uintptr(p)] = m
	return p, nil
}

// ReleaseHost unmaps it.
func (d *Driver) ReleaseHost(p unsafe.Pointer) error {
	if err := d.stopping("ReleaseHost"); err != nil {
		return err
	}
	m, ok := d.pinned[uintptr(p)]
	if !ok {
		return errors.New("release of host memory that nobody allocated")
	}
	delete(d.pinned, uintptr(p))
	return syscall.Munmap(m)
}

// Load takes the kernels whose entries the text has, unless Refuse says that a driver
// would not compile it.
func (d *Driver) Load(text string, names []string) (map[string]device.Kernel, error) {
	if err := d.forbidden("Load"); err != nil {
		return nil, err
	}
	if d.Refuse != nil {
		if err := d.Refuse(names); err != nil {
			return nil, err
		}
	}
	list := map[string]device.Kernel{}
	for _, name := range names {
		if !strings.Contains(text, ".entry "+name+"(") {
			return nil, fmt.Errorf("the module has no kernel %s", name)
		}
		d.names = append(d.names, name)
		list[name] = device.Kernel(len(d.names))
	}
	return list, nil
}

// Launch runs a kernel on the host.
func (d *Driver) Launch(k device.Kernel, grid [3]int, threads int, args []uint64, s device.Stream) error {
	if k == 0 || int(k) > len(d.names) {
		return fmt.Errorf("%d is no kernel", k)
	}
	l := kernels.Launch{Name: d.names[k-1], Grid: grid, Threads: threads, Args: slices.Clone(args)}
	if l.Empty() {
		return fmt.Errorf("%s: an empty grid %v", l.Name, grid)
	}
	return d.doAs("Launch", l.Name, s, func() error { return host.Run(l) })
}

// Leaked says what is allocated, for a test of a closed engine.
func (d *Driver) Leaked() string {
	return fmt.Sprintf("%d host buffers, %d events, %d streams, %d graphs", len(d.pinned), len(d.events), len(d.streams), len(d.graphs))
}

// Close unmaps everything.
func (d *Driver) Close() error {
	if err := d.stopping("Close"); err != nil {
		return err
	}
	d.closed = true
	var errs []error
	for _, m := range d.mappings {
		errs = append(errs, syscall.Munmap(m))
	}
	clear(d.mappings)
	d.sorted = nil
	return errors.Join(errs...)
}

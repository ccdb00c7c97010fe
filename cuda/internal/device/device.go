// Package device is what the GPU engine needs of a GPU and its libraries, as
// interfaces: memory, streams, events, launches and graphs (Driver), matrix
// products (Blas) and convolutions (Dnn). The engine is written over them, so
// that all of it but the libraries themselves runs in tests on a device that
// is made of host memory.
package device

import "unsafe"

// Ptr is an address in device memory; 0 is none.
type Ptr uintptr

// Type is the element type of numbers in device memory.
type Type uint8

const (
	F32  Type = iota // float32
	BF16             // bfloat16: the upper half of a float32
)

// Bytes is the size of an element.
func (t Type) Bytes() int {
	if t == BF16 {
		return 2
	}
	return 4
}

func (t Type) String() string {
	if t == BF16 {
		return "bf16"
	}
	return "f32"
}

// Stream is a queue of work; work of one stream runs in order. 0 is no stream.
type Stream uintptr

// Event marks a point in a stream.
type Event uintptr

// Kernel is a function of a loaded module.
type Kernel uintptr

// Graph is recorded work that can be launched again.
type Graph uintptr

// Properties describe a device.
type Properties struct {
	Name         string
	Major, Minor int   // compute capability
	Bytes        int64 // memory
	Processors   int   // streaming multiprocessors
	Shared       int   // bytes of shared memory that a block may ask for
}

// Driver is a device with its context. Calls may come from any goroutine, one
// at a time; between BeginCapture and EndCapture they come from one thread.
type Driver interface {
	Properties() Properties
	// Free is how much memory is left, and how much there is, in bytes.
	Free() (free, total int64, err error)

	// Alloc returns device memory, with no known content.
	Alloc(bytes int64) (Ptr, error)
	Release(p Ptr) error
	// AllocHost returns host memory that the device reads and writes on its own.
	AllocHost(bytes int64) (unsafe.Pointer, error)
	ReleaseHost(p unsafe.Pointer) error

	NewStream() (Stream, error)
	ReleaseStream(s Stream) error
	Synchronize(s Stream) error
	NewEvent() (Event, error)
	ReleaseEvent(e Event) error
	Record(e Event, s Stream) error
	// Wait makes later work of s wait for e.
	Wait(s Stream, e Event) error
	SynchronizeEvent(e Event) error
	// Elapsed is the time in milliseconds between two events that have happened.
	Elapsed(from, to Event) (float64, error)

	// Upload and Download copy between host and device memory, Copy within the
	// device, in the order of s. The host's memory has to stay until s is done;
	// what is not from AllocHost may make the call itself wait.
	Upload(dst Ptr, src unsafe.Pointer, bytes int64, s Stream) error
	Download(dst unsafe.Pointer, src Ptr, bytes int64, s Stream) error
	Copy(dst, src Ptr, bytes int64, s Stream) error
	// Clear sets bytes, a multiple of 4, to 0.
	Clear(p Ptr, bytes int64, s Stream) error

	// Load compiles PTX and finds kernels in it by name.
	Load(ptx []byte, names []string) (map[string]Kernel, error)
	// Launch runs a kernel. Every argument fills 8 bytes, the rest of them 0.
	Launch(k Kernel, grid, block [3]uint32, shared uint32, args []uint64, s Stream) error

	// BeginCapture makes s record what it is given instead of running it, until
	// EndCapture.
	BeginCapture(s Stream) error
	EndCapture(s Stream) (Graph, error)
	LaunchGraph(g Graph, s Stream) error
	ReleaseGraph(g Graph) error

	// Close releases the context and all that was allocated in it.
	Close() error
}

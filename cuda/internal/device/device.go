// Package device is what the GPU engine needs of a GPU and its libraries, as
// interfaces: memory, streams, events, launches and graphs (Driver), matrix
// products (Blas) and convolutions (Dnn). The engine is written over them, so
// that all of it but the libraries themselves runs in tests on a device that
// is made of host memory.
package device

import (
	"time"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
)

// Ptr is an address in device memory; 0 is none.
type Ptr = kernels.Ptr

// Type is the element type of numbers in device memory.
type Type = kernels.Type

// The types.
const (
	F32  = kernels.F32
	BF16 = kernels.BF16
)

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
}

// Driver is a device with its context. Calls may come from any goroutine, one
// at a time; between BeginCapture and EndCapture they come from one thread.
type Driver interface {
	Properties() Properties
	// Place is an address that differs between the devices of a machine.
	Place() (string, error)
	// Ranks returns the library that joins devices, or why there is none.
	Ranks() (Ranks, error)
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
	// NewTimedEvent returns an event that also keeps when it happened.
	NewTimedEvent() (Event, error)
	// Elapsed is the time between two timed events that have happened.
	Elapsed(from, to Event) (time.Duration, error)
	ReleaseEvent(e Event) error
	Record(e Event, s Stream) error
	// Wait makes later work of s wait for e.
	Wait(s Stream, e Event) error
	SynchronizeEvent(e Event) error

	// Upload and Download copy between host and device memory, Copy within the
	// device, in the order of s. The host's memory has to stay until s is done;
	// what is not from AllocHost may make the call itself wait.
	Upload(dst Ptr, src unsafe.Pointer, bytes int64, s Stream) error
	Download(dst unsafe.Pointer, src Ptr, bytes int64, s Stream) error
	Copy(dst, src Ptr, bytes int64, s Stream) error
	// Clear sets bytes, a multiple of 4, to 0.
	Clear(p Ptr, bytes int64, s Stream) error

	// Load compiles a module, whose text is PTX, and returns its kernels of the given
	// names. What the compiler says of a text that it refuses is in the error.
	Load(text string, names []string) (map[string]Kernel, error)
	// Launch runs a kernel by blocks of the given number of threads. Every argument lies in
	// the low bytes of a word.
	Launch(k Kernel, grid [3]int, threads int, args []uint64, s Stream) error

	// BeginCapture makes s record what it is given instead of running it, until
	// EndCapture.
	BeginCapture(s Stream) error
	EndCapture(s Stream) (Graph, error)
	LaunchGraph(g Graph, s Stream) error
	ReleaseGraph(g Graph) error

	// Close releases the context and all that was allocated in it.
	Close() error
}

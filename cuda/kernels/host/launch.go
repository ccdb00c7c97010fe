//go:build cgo && linux && (amd64 || arm64)

package host

// #cgo CFLAGS: -O2 -Wno-unused-variable
// #cgo LDFLAGS: -lm
// #include <stdlib.h>
// #include "vernier_host.h"
import "C"

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
)

// running keeps launches apart: the C model has one machine.
var running sync.Mutex

// Run runs a launch whose pointers are addresses of this process. It is safe for
// concurrent use; launches run one after the other.
func Run(l kernels.Launch) error {
	if l.Empty() {
		return nil
	}
	running.Lock()
	defer running.Unlock()
	n := len(l.Args)
	size := C.size_t(n) * 8
	cells, pointers := C.malloc(size), C.malloc(size)
	defer C.free(cells)
	defer C.free(pointers)
	copy(unsafe.Slice((*uint64)(cells), n), l.Args)
	list := unsafe.Slice((*unsafe.Pointer)(pointers), n)
	for i := range list {
		list[i] = unsafe.Add(cells, 8*i)
	}
	name := C.CString(l.Name)
	defer C.free(unsafe.Pointer(name))
	wrong := C.hostLaunch(name, C.int(l.Grid[0]), C.int(l.Grid[1]), C.int(l.Grid[2]), C.int(l.Threads), (*unsafe.Pointer)(pointers), C.uint64_t(rand.Uint64()))
	if wrong != nil {
		return fmt.Errorf("kernel %s: %s", l.Name, C.GoString(wrong))
	}
	return nil
}

//go:build cgo

package native

/*
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "vernier_library.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// library is an open shared library.
type library struct {
	handle unsafe.Pointer
	path   string
}

// openLibrary loads a file, or by a bare name what the loader finds. With keep it
// stays loaded when it is closed.
func openLibrary(path string, keep bool) (*library, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	// The loader keeps its message for the thread that failed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	kept := C.int(0)
	if keep {
		kept = 1
	}
	handle := C.vernier_open(name, kept)
	if handle == nil {
		return nil, &loadError{path, C.GoString(C.vernier_dlerror())}
	}
	l := &library{handle, C.GoString(C.vernier_path(handle))}
	if l.path == "" {
		l.path = path
	}
	return l, nil
}

func (l *library) close() { C.vernier_close(l.handle) }

// fill finds the functions of a table of n slots at slots.
func (l *library) fill(slots unsafe.Pointer, names **C.char, n int) error {
	if C.vernier_fill(l.handle, (*unsafe.Pointer)(slots), names, C.int(n)) == 0 {
		return nil
	}
	var missing []string
	for i, p := range unsafe.Slice((*unsafe.Pointer)(slots), n) {
		if p == nil {
			missing = append(missing, C.GoString(unsafe.Slice(names, n)[i]))
		}
	}
	return fmt.Errorf("%s lacks %s", l.path, strings.Join(missing, ", "))
}

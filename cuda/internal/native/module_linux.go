//go:build cgo

package native

// #include <stdlib.h>
// #include "vernier_driver.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// logBytes is room for what the driver's compiler says of a module that it refuses.
const logBytes = 8 << 10

// LoadModule compiles PTX in the current context. Where the driver refuses it, the
// log of its compiler is part of the error.
func (d *Driver) LoadModule(text string) (uintptr, error) {
	image, log := C.CString(text), (*C.char)(C.calloc(logBytes, 1))
	defer C.free(unsafe.Pointer(image))
	defer C.free(unsafe.Pointer(log))
	var m unsafe.Pointer
	err := d.check("cuModuleLoadDataEx", C.vernier_module_load(d.table, image, log, logBytes, &m))
	if said := strings.TrimSpace(C.GoString(log)); err != nil && said != "" {
		err = fmt.Errorf("%w; the driver's compiler says: %s", err, said)
	}
	return uintptr(m), err
}

// Function finds a kernel of a module.
func (d *Driver) Function(module uintptr, name string) (uintptr, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var f unsafe.Pointer
	err := d.check("cuModuleGetFunction", C.vernier_module_function(d.table, C.size_t(module), text, &f))
	return uintptr(f), err
}

// UnloadModule forgets a module and its kernels.
func (d *Driver) UnloadModule(module uintptr) error {
	return d.check("cuModuleUnload", C.vernier_module_unload(d.table, C.size_t(module)))
}

// Launch puts a kernel into a stream; every argument lies in the low bytes of a word.
func (d *Driver) Launch(function uintptr, grid [3]int, threads int, args []uint64, stream uintptr) error {
	blocks := [3]C.int{C.int(grid[0]), C.int(grid[1]), C.int(grid[2])}
	list := (*C.ulonglong)(unsafe.Pointer(unsafe.SliceData(args)))
	return d.check("cuLaunchKernel", C.vernier_launch(d.table, C.size_t(function), &blocks[0], C.int(threads), list, C.int(len(args)), C.size_t(stream)))
}

//go:build cgo

package native

// #include <stdlib.h>
// #include "vernier_driver.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// Driver is the library of NVIDIA's driver, as far as gorgonia.org/cu does not
// reach it.
type Driver struct {
	lib   *library
	table *C.driver_table
}

// driverFiles are where drivers put their library: on the loader's path, or
// where WSL and NixOS keep it.
var driverFiles = [...]string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"}

// openDriver loads the first of files that can be. The error is that of the first
// file that is there, if one is.
func openDriver(files []string, keep bool) (*Driver, error) {
	var first error
	absent := false
	for _, file := range files {
		lib, err := openLibrary(file, keep)
		if err != nil {
			var e *loadError
			if first == nil || absent {
				first, absent = err, errors.As(err, &e) && e.absent()
			}
			continue
		}
		d := &Driver{lib: lib, table: new(C.driver_table)}
		var count C.int
		names := C.vernier_driver_names(&count)
		if err := lib.fill(unsafe.Pointer(d.table), names, int(count)); err != nil {
			lib.close()
			return nil, err
		}
		return d, nil
	}
	return nil, first
}

// start initializes the driver. The version is known even if that fails.
func (d *Driver) start() (cuda, devices int, err error) {
	var version, count C.int
	err = d.check("cuInit", C.vernier_driver_start(d.table, &version, &count))
	return int(version), int(count), err
}

// describe asks for what a device is.
func (d *Driver) describe(ordinal int) (Device, error) {
	const length = 256
	name := (*C.char)(C.calloc(length, 1))
	defer C.free(unsafe.Pointer(name))
	var bytes C.size_t
	if err := d.check("cuDeviceGetName", C.vernier_driver_name(d.table, C.int(ordinal), name, length)); err != nil {
		return Device{}, err
	}
	if err := d.check("cuDeviceTotalMem", C.vernier_driver_memory(d.table, C.int(ordinal), &bytes)); err != nil {
		return Device{}, err
	}
	major, err := d.attribute(ordinal, C.ATTRIBUTE_MAJOR)
	if err != nil {
		return Device{}, err
	}
	minor, err := d.attribute(ordinal, C.ATTRIBUTE_MINOR)
	return Device{Name: C.GoString(name), Major: major, Minor: minor, Bytes: int64(bytes)}, err
}

func (d *Driver) attribute(ordinal int, which C.int) (int, error) {
	var v C.int
	err := d.check("cuDeviceGetAttribute", C.vernier_driver_attribute(d.table, C.int(ordinal), which, &v))
	return int(v), err
}

// DriverError is a failure that the driver reports.
type DriverError struct {
	Call       string
	Code       int
	Name, Text string // the driver's own
}

func (e *DriverError) Error() string {
	return fmt.Sprintf("%s: %s (%s, error %d)", e.Call, e.Text, e.Name, e.Code)
}

func (d *Driver) check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	var name, text *C.char
	C.vernier_driver_error(d.table, code, &name, &text)
	return &DriverError{call, int(code), C.GoString(name), C.GoString(text)}
}

// Processors is the number of multiprocessors of a device.
func (d *Driver) Processors(ordinal int) (int, error) {
	return d.attribute(ordinal, C.ATTRIBUTE_PROCESSORS)
}

// Place is the bus address of a device, such as 0000:17:00, which differs between the
// devices of a machine.
func (d *Driver) Place(ordinal int) (string, error) {
	var at [3]int
	for i, which := range []C.int{C.ATTRIBUTE_PCI_DOMAIN, C.ATTRIBUTE_PCI_BUS, C.ATTRIBUTE_PCI_DEVICE} {
		var err error
		if at[i], err = d.attribute(ordinal, which); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%04x:%02x:%02x", at[0], at[1], at[2]), nil
}

// AllocHost returns host memory that does not move and that devices reach.
func (d *Driver) AllocHost(bytes int64) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := d.check("cuMemHostAlloc", C.vernier_host_alloc(d.table, C.size_t(bytes), &p))
	return p, err
}

// ReleaseHost gives such memory back.
func (d *Driver) ReleaseHost(p unsafe.Pointer) error {
	return d.check("cuMemFreeHost", C.vernier_host_free(d.table, p))
}

// BeginCapture makes a stream record instead of run.
func (d *Driver) BeginCapture(stream uintptr) error {
	return d.check("cuStreamBeginCapture", C.vernier_capture_begin(d.table, C.size_t(stream)))
}

// EndCapture returns what was recorded, ready to be launched.
func (d *Driver) EndCapture(stream uintptr) (uintptr, error) {
	var exec unsafe.Pointer
	err := d.check("cuStreamEndCapture", C.vernier_capture_end(d.table, C.size_t(stream), &exec))
	return uintptr(exec), err
}

// LaunchGraph runs what was recorded.
func (d *Driver) LaunchGraph(graph, stream uintptr) error {
	return d.check("cuGraphLaunch", C.vernier_graph_launch(d.table, C.size_t(graph), C.size_t(stream)))
}

// ReleaseGraph forgets it.
func (d *Driver) ReleaseGraph(graph uintptr) error {
	return d.check("cuGraphExecDestroy", C.vernier_graph_free(d.table, C.size_t(graph)))
}

func (d *Driver) close() { d.lib.close() }

//go:build cgo

package native

// #include "vernier_cudnn.h"
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// Cudnn is NVIDIA's library of convolutions.
type Cudnn struct {
	lib    *library
	table  *C.cudnn_table
	handle unsafe.Pointer
	cuda   int // the CUDA release that it was built for, as 13000
	plans  []*C.vernier_conv
	Found  Found
}

// loadCudnn opens the file and reads its version; Attach makes it usable.
func loadCudnn(path string, keep bool) (*Cudnn, error) {
	lib, err := openLibrary(path, keep)
	if err != nil {
		return nil, err
	}
	d := &Cudnn{lib: lib, table: new(C.cudnn_table)}
	var count C.int
	names := C.vernier_cudnn_names(&count)
	if err := lib.fill(unsafe.Pointer(d.table), names, int(count)); err != nil {
		lib.close()
		return nil, err
	}
	d.cuda = int(C.vernier_cudnn_cuda(d.table))
	v := int(C.vernier_cudnn_version(d.table))
	d.Found = Found{"cuDNN", cudnnRelease(v), lib.path}
	if v < oldestCUDNN {
		lib.close()
		return nil, fmt.Errorf("%s is cuDNN %s, %s or newer is needed", d.Found.Path, d.Found.Version, cudnnRelease(oldestCUDNN))
	}
	return d, nil
}

// cudnnRelease writes a version number: 8904 is 8.9.4, 90100 is 9.1.0.
func cudnnRelease(v int) string {
	if v < 90000 {
		return fmt.Sprintf("%d.%d.%d", v/1000, v%1000/100, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100)
}

// Attach makes a handle in the current context, for one stream.
func (d *Cudnn) Attach(s device.Stream) error {
	return d.check("cudnnCreate", C.vernier_cudnn_create(d.table, &d.handle, C.size_t(s)))
}

func (d *Cudnn) check(call string, status C.int) error {
	if status == 0 {
		return nil
	}
	return &CudnnError{call, int(status), C.GoString(C.vernier_cudnn_status(d.table, status))}
}

// CudnnError is a status of cuDNN other than success.
type CudnnError struct {
	Call   string
	Status int
	Name   string // cuDNN's own
}

func (e *CudnnError) Error() string {
	return fmt.Sprintf("%s: %s (status %d)%s", e.Call, e.Name, e.Status, e.advice())
}

// Unwrap is device.ErrNoAlgorithm where the convolution is not supported.
func (e *CudnnError) Unwrap() error {
	if e.unsupported() {
		return device.ErrNoAlgorithm
	}
	return nil
}

// unsupported reports whether the status says that cuDNN does not do what it was
// asked for: 9 in cuDNN 8, 3000 to 3999 in cuDNN 9. Of those some are about
// what is installed (3005 to 3009) and no property of a convolution.
func (e *CudnnError) unsupported() bool {
	return !e.incomplete() && !e.foreign() && (e.Status == 9 || e.Status >= 3000 && e.Status < 4000 || strings.HasPrefix(e.Name, "CUDNN_STATUS_NOT_SUPPORTED"))
}

// incomplete reports whether files are missing or of several releases: 11 and 14 in
// cuDNN 8, 1002, 1008, 3005, 3006, 3008 and 3009 in cuDNN 9.
func (e *CudnnError) incomplete() bool {
	for _, word := range []string{"SUBLIBRARY", "PREREQUISITE_MISSING", "STATUS_VERSION_MISMATCH", "INCOMPATIBLE_CUDA"} {
		if strings.Contains(e.Name, word) {
			return true
		}
	}
	return false
}

// outOfMemory reports whether memory was missing: 2 in cuDNN 8, 4003 (of the host)
// and 4004 (of the device) in cuDNN 9.
func (e *CudnnError) outOfMemory() bool {
	return e.Status == 2 || e.Status == 4003 || e.Status == 4004 || strings.Contains(e.Name, "ALLOC")
}

// foreign reports whether the GPU is of a generation that this cuDNN, or an algorithm
// of it, does not serve: 6 in cuDNN 8, 3007 in cuDNN 9.
func (e *CudnnError) foreign() bool { return strings.Contains(e.Name, "ARCH_MISMATCH") }

func (e *CudnnError) advice() string {
	switch {
	case e.foreign():
		return ": this release of cuDNN is not for this generation of GPU"
	case e.incomplete():
		return ": files of cuDNN (libcudnn_cnn, libcudnn_ops ...) or of CUDA (libnvrtc) are missing or of several releases: install one release alone, and take the others out of LD_LIBRARY_PATH"
	case e.outOfMemory():
		return ": out of memory"
	}
	return ""
}

func operands(t device.Operands, work device.Ptr) C.vernier_operands {
	o := C.vernier_operands{x: C.size_t(t.X), w: C.size_t(t.W), y: C.size_t(t.Y), workspace: C.size_t(work)}
	if t.Accumulate {
		o.beta = 1
	}
	return o
}

// Run convolves by a plan of this library.
func (d *Cudnn) Run(dir device.Direction, p device.Plan, t device.Operands, work device.Ptr) error {
	if p.Handle == 0 || int(p.Handle) > len(d.plans) {
		return fmt.Errorf("convolution: plan %d is none of this library", p.Handle)
	}
	o := operands(t, work)
	return d.check("convolution, "+dir.String(), C.vernier_conv_run(d.table, d.handle, C.int(dir), d.plans[p.Handle-1], &o))
}

// Detach releases the plans and the handle, in its context.
func (d *Cudnn) Detach() error {
	for _, p := range d.plans {
		C.vernier_conv_release(d.table, p)
	}
	d.plans = nil
	if d.handle == nil {
		return nil
	}
	h := d.handle
	d.handle = nil
	return d.check("cudnnDestroy", C.vernier_cudnn_destroy(d.table, h))
}

// close releases all and the library.
func (d *Cudnn) close() error {
	err := d.Detach()
	d.lib.close()
	return err
}

//go:build cgo

package native

// #include "vernier_cublas.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// Cublas is NVIDIA's library of matrix products.
type Cublas struct {
	lib    *library
	table  *C.cublas_table
	handle unsafe.Pointer
	major  int
	lt     *cublasLt // nil if it cannot be used
	Found  Found
}

// loadCublas opens the file and reads its version; Attach makes it usable.
func loadCublas(path string, keep bool) (*Cublas, error) {
	lib, err := openLibrary(path, keep)
	if err != nil {
		return nil, err
	}
	b := &Cublas{lib: lib, table: new(C.cublas_table)}
	var count C.int
	names := C.vernier_cublas_names(&count)
	if err := lib.fill(unsafe.Pointer(b.table), names, int(count)); err != nil {
		lib.close()
		return nil, err
	}
	var v [3]int
	for i, what := range []C.int{C.PROPERTY_MAJOR, C.PROPERTY_MINOR, C.PROPERTY_PATCH} {
		var n C.int
		if err := b.check("cublasGetProperty", C.vernier_cublas_property(b.table, what, &n)); err != nil {
			lib.close()
			return nil, err
		}
		v[i] = int(n)
	}
	b.major = v[0]
	b.Found = Found{"cuBLAS", fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]), lib.path}
	return b, nil
}

// Attach makes a handle in the current context, for one stream.
func (b *Cublas) Attach(s device.Stream) error {
	if b.lt != nil && b.lt.attach(s) != nil {
		b.lt = nil
	}
	return b.check("cublasCreate", C.vernier_cublas_create(b.table, &b.handle, C.size_t(s)))
}

func (b *Cublas) check(call string, status C.int) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s (status %d)", call, C.GoString(C.vernier_cublas_status(b.table, status)), int(status))
}

// SetWorkspace gives cuBLAS memory to work in.
func (b *Cublas) SetWorkspace(p device.Ptr, bytes int64) error {
	if b.lt != nil { // products of one stream do not meet in it
		b.lt.work, b.lt.bytes = p, bytes
	}
	return b.check("cublasSetWorkspace", C.vernier_cublas_workspace(b.table, b.handle, C.size_t(p), C.size_t(bytes)))
}

// Gemm multiplies row-major matrices. To cuBLAS, whose matrices lie column after
// column, they are the transposed ones: it computes C^T = op(B)^T op(A)^T.
func (b *Cublas) Gemm(g device.Gemm) error {
	if g.Bias != 0 || g.SumsA != 0 {
		if b.lt == nil {
			return device.ErrBias
		}
		return b.lt.product(g)
	}
	if g.Residual != 0 {
		return errors.New("cublasGemmEx: a product with a residual and without a bias")
	}
	c := columnMajor(g)
	return b.check("cublasGemmEx", C.vernier_cublas_gemm(b.table, b.handle, &c))
}

func columnMajor(g device.Gemm) C.vernier_gemm {
	compute := C.int(C.CUBLAS_32F)
	if g.Precision == device.TF32 && g.Type == device.F32 {
		compute = C.CUBLAS_32F_FAST_TF32
	}
	addresses := C.int(0)
	if g.Addresses {
		addresses = 1
	}
	return C.vernier_gemm{
		addresses: addresses,
		transa:    transpose(g.TransB), transb: transpose(g.TransA),
		m: C.int(g.N), n: C.int(g.M), k: C.int(g.K),
		a: C.size_t(g.B), lda: C.int(g.LDB), b: C.size_t(g.A), ldb: C.int(g.LDA), c: C.size_t(g.C), ldc: C.int(g.LDC),
		batch: C.int(max(1, g.Batch)), stride_a: C.longlong(g.StrideB), stride_b: C.longlong(g.StrideA), stride_c: C.longlong(g.StrideC),
		_type: dataType(g.Type), out: dataType(g.Out), compute: compute,
		residual: C.size_t(g.Residual), alpha: C.float(g.Alpha), beta: C.float(g.Beta),
	}
}

func transpose(yes bool) C.int {
	if yes {
		return C.CUBLAS_T
	}
	return C.CUBLAS_N
}

func dataType(t device.Type) C.int {
	if t == device.BF16 {
		return C.CUDA_16BF
	}
	return C.CUDA_32F
}

// Detach releases the handle, in its context.
func (b *Cublas) Detach() error {
	var err error
	if b.lt != nil {
		err = b.lt.detach()
	}
	if b.handle == nil {
		return err
	}
	h := b.handle
	b.handle = nil
	return errors.Join(err, b.check("cublasDestroy", C.vernier_cublas_destroy(b.table, h)))
}

// close releases the handle and the library.
func (b *Cublas) close() error {
	err := b.Detach()
	b.lib.close()
	return err
}

//go:build cgo

package native

// #include "vernier_cublaslt.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// cublasLt multiplies and adds a bias as it writes the product, or sums the rows of a
// factor as it reads it. Every product of
// another shape is planned once. It is part of cuBLAS, and one that cannot be used is
// done without.
type cublasLt struct {
	table  *C.cublaslt_table
	handle unsafe.Pointer
	stream device.Stream
	work   device.Ptr
	bytes  int64
	plans  map[ltShape]*C.lt_plan // nil where there is no algorithm
}

// ltShape is what a plan depends on: a product without its addresses.
type ltShape struct{ transa, transb, m, n, k, lda, ldb, ldc, typ, out, compute, epilogue C.int }

// loadCublasLt finds the functions in an open library.
func loadCublasLt(lib *library) (*cublasLt, error) {
	l := &cublasLt{table: new(C.cublaslt_table), plans: map[ltShape]*C.lt_plan{}}
	var count C.int
	names := C.vernier_cublaslt_names(&count)
	return l, lib.fill(unsafe.Pointer(l.table), names, int(count))
}

func (l *cublasLt) attach(s device.Stream) error {
	l.stream = s
	if status := C.vernier_cublaslt_create(l.table, &l.handle); status != 0 {
		return fmt.Errorf("cublasLtCreate: status %d", int(status))
	}
	return nil
}

// product computes g with its bias or its sums, or returns device.ErrBias.
func (l *cublasLt) product(g device.Gemm) error {
	if g.Bias != 0 && g.SumsA != 0 {
		return errors.New("cublasLtMatmul: a product with a bias and with sums")
	}
	if g.Batch > 1 || (g.A|g.B|g.C|g.Bias|g.SumsA|g.Residual)%C.LT_ALIGNMENT != 0 {
		return device.ErrBias
	}
	c := columnMajor(g)
	epilogue := C.int(C.LT_EPILOGUE_BIAS)
	if g.SumsA != 0 {
		epilogue = C.LT_EPILOGUE_BGRADB // op(A) is the second factor of the transposed product
	}
	key := ltShape{c.transa, c.transb, c.m, c.n, c.k, c.lda, c.ldb, c.ldc, c._type, c.out, c.compute, epilogue}
	plan, known := l.plans[key]
	if !known {
		plan = new(C.lt_plan)
		if C.vernier_cublaslt_plan(l.table, l.handle, &c, epilogue, C.size_t(l.bytes), plan) != 0 {
			plan = nil
		}
		l.plans[key] = plan
	}
	if plan == nil {
		return device.ErrBias
	}
	if C.vernier_cublaslt_run(l.table, l.handle, plan, &c, C.size_t(g.Bias|g.SumsA), C.size_t(l.work), C.size_t(l.bytes), C.size_t(l.stream)) != 0 {
		C.vernier_cublaslt_forget(l.table, plan)
		l.plans[key] = nil // nothing has been computed: it is refused before it is launched
		return device.ErrBias
	}
	return nil
}

// detach releases the handle and the plans.
func (l *cublasLt) detach() error {
	for _, p := range l.plans {
		if p != nil {
			C.vernier_cublaslt_forget(l.table, p)
		}
	}
	clear(l.plans)
	h := l.handle
	l.handle = nil
	if h == nil {
		return nil
	}
	if status := C.vernier_cublaslt_destroy(l.table, h); status != 0 {
		return fmt.Errorf("cublasLtDestroy: status %d", int(status))
	}
	return nil
}

//go:build cgo && linux && (amd64 || arm64)

package fake

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
)

// Blas multiplies in float64, for one stream of a Driver.
type Blas struct {
	Driver *Driver
	Stream device.Stream
	space  int64
}

var _ device.Blas = (*Blas)(nil)

// SetWorkspace is only looked at.
func (b *Blas) SetWorkspace(p device.Ptr, bytes int64) error {
	if !b.Driver.owns(p, bytes) {
		return errors.New("the workspace is no device memory")
	}
	b.space = bytes
	return nil
}

// Close does nothing.
func (b *Blas) Close() error { return nil }

// numbers is an array in device memory of either type.
type numbers struct {
	p device.Ptr
	t device.Type
}

func (x numbers) at(i int) float64 {
	p := unsafe.Pointer(uintptr(x.p)) //nolint:govet // memory that was mapped, not Go's
	if x.t == device.BF16 {
		return float64(math.Float32frombits(uint32(*(*uint16)(unsafe.Add(p, 2*i))) << 16))
	}
	return float64(*(*float32)(unsafe.Add(p, 4*i)))
}

func (x numbers) set(i int, v float64) {
	p := unsafe.Pointer(uintptr(x.p))
	if x.t == device.BF16 {
		*(*uint16)(unsafe.Add(p, 2*i)) = narrow(float32(v))
		return
	}
	*(*float32)(unsafe.Add(p, 4*i)) = float32(v)
}

// narrow rounds to the nearest bfloat16, ties to even.
func narrow(v float32) uint16 {
	bits := math.Float32bits(v)
	if v != v {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Gemm multiplies, after it has looked whether the matrices lie in memory.
func (b *Blas) Gemm(g device.Gemm) error {
	if b.space == 0 {
		return errors.New("gemm without a workspace: it would allocate while work is recorded")
	}
	if g.M < 1 || g.N < 1 || g.K < 1 {
		return fmt.Errorf("gemm %d x %d x %d", g.M, g.N, g.K)
	}
	if least := ternary(g.TransA, g.M, g.K); g.LDA < least {
		return fmt.Errorf("gemm: rows of a are %d apart, and %d long", g.LDA, least)
	}
	if least := ternary(g.TransB, g.K, g.N); g.LDB < least {
		return fmt.Errorf("gemm: rows of b are %d apart, and %d long", g.LDB, least)
	}
	if g.LDC < g.N {
		return fmt.Errorf("gemm: rows of c are %d apart, and %d long", g.LDC, g.N)
	}
	return b.Driver.do("Gemm", b.Stream, func() error {
		for i := range max(1, g.Batch) {
			if err := b.one(g, int64(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func ternary(yes bool, a, b int) int {
	if yes {
		return a
	}
	return b
}

func (b *Blas) one(g device.Gemm, i int64) error {
	move := func(p device.Ptr, t device.Type, stride int64) numbers {
		return numbers{p + device.Ptr(i*stride*int64(t.Size())), t}
	}
	a, bb, c := move(g.A, g.Type, g.StrideA), move(g.B, g.Type, g.StrideB), move(g.C, g.Out, g.StrideC)
	rowsA, rowsB := ternary(g.TransA, g.K, g.M), ternary(g.TransB, g.N, g.K)
	for _, m := range []struct {
		x          numbers
		rows, cols int
		ld         int
	}{{a, rowsA, ternary(g.TransA, g.M, g.K), g.LDA}, {bb, rowsB, ternary(g.TransB, g.K, g.N), g.LDB}, {c, g.M, g.N, g.LDC}} {
		if bytes := int64((m.rows-1)*m.ld+m.cols) * int64(m.x.t.Size()); !b.Driver.owns(m.x.p, bytes) {
			return fmt.Errorf("gemm: a matrix of %d rows at %#x is no device memory", m.rows, uintptr(m.x.p))
		}
	}
	left, right := make([]float64, g.M*g.K), make([]float64, g.K*g.N)
	for r := range g.M {
		for k := range g.K {
			left[r*g.K+k] = a.at(ternary(g.TransA, k*g.LDA+r, r*g.LDA+k))
		}
	}
	for k := range g.K {
		for n := range g.N {
			right[n*g.K+k] = bb.at(ternary(g.TransB, n*g.LDB+k, k*g.LDB+n))
		}
	}
	for r := range g.M {
		x := left[r*g.K : (r+1)*g.K]
		for n := range g.N {
			sum, y := 0.0, right[n*g.K:(n+1)*g.K]
			for k, v := range x {
				sum += v * y[k]
			}
			sum *= float64(g.Alpha)
			if g.Beta != 0 {
				sum += float64(g.Beta) * c.at(r*g.LDC+n)
			}
			c.set(r*g.LDC+n, sum)
		}
	}
	return nil
}

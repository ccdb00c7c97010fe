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
	// NoBias is a library that adds none, and sums no rows.
	NoBias bool
	// Summed counts the products with sums.
	Summed int
	// Biased counts the products with a bias.
	Biased int
	// Residuals counts those of them that were added to another matrix than their own.
	Residuals int
	space     int64
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
	mem []byte
	t   device.Type
}

func (x numbers) at(i int) float64 {
	if x.t == device.BF16 {
		return float64(math.Float32frombits(uint32(*(*uint16)(unsafe.Pointer(&x.mem[2*i]))) << 16))
	}
	return float64(*(*float32)(unsafe.Pointer(&x.mem[4*i])))
}

func (x numbers) set(i int, v float64) {
	if x.t == device.BF16 {
		*(*uint16)(unsafe.Pointer(&x.mem[2*i])) = narrow(float32(v))
		return
	}
	*(*float32)(unsafe.Pointer(&x.mem[4*i])) = float32(v)
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
	if g.Bias != 0 {
		if b.NoBias {
			return device.ErrBias
		}
		if g.Batch > 1 {
			return errors.New("gemm: a batch with a bias")
		}
		b.Biased++
	}
	if g.SumsA != 0 {
		if b.NoBias {
			return device.ErrBias
		}
		if g.Batch > 1 || g.Bias != 0 {
			return errors.New("gemm: sums of a batch, or beside a bias")
		}
		b.Summed++
	}
	if g.Residual != 0 {
		if g.Bias == 0 || g.Beta == 0 {
			return errors.New("gemm: a residual without a bias, or not added")
		}
		b.Residuals++
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
	rowsA, rowsB := ternary(g.TransA, g.K, g.M), ternary(g.TransB, g.N, g.K)
	var list [3]numbers
	for j, m := range []struct {
		p              device.Ptr
		t              device.Type
		rows, cols, ld int
		stride         int64
	}{
		{g.A, g.Type, rowsA, ternary(g.TransA, g.M, g.K), g.LDA, g.StrideA},
		{g.B, g.Type, rowsB, ternary(g.TransB, g.K, g.N), g.LDB, g.StrideB},
		{g.C, g.Out, g.M, g.N, g.LDC, g.StrideC},
	} {
		size := int64(m.t.Size())
		p := m.p + device.Ptr(i*m.stride*size)
		if g.Addresses {
			at, err := b.Driver.memory(m.p+device.Ptr(8*i), 8)
			if err != nil {
				return fmt.Errorf("gemm: address %d of matrix %d: %w", i, j, err)
			}
			if p = *(*device.Ptr)(unsafe.Pointer(&at[0])); p%16 != 0 {
				return fmt.Errorf("gemm: matrix %d is at %#x, which tensor cores cannot read", j, uintptr(p))
			}
		}
		mem, err := b.Driver.memory(p, int64((m.rows-1)*m.ld+m.cols)*size)
		if err != nil {
			return fmt.Errorf("gemm: matrix %d: %w", j, err)
		}
		list[j] = numbers{mem, m.t}
	}
	a, bb, c := list[0], list[1], list[2]
	before := c
	if g.Residual != 0 {
		mem, err := b.Driver.memory(g.Residual, int64((g.M-1)*g.LDC+g.N)*int64(g.Out.Size()))
		if err != nil {
			return fmt.Errorf("gemm: residual: %w", err)
		}
		before = numbers{mem, g.Out}
	}
	bias := make([]float64, g.N)
	if g.Bias != 0 {
		mem, err := b.Driver.memory(g.Bias, int64(g.N*g.Out.Size()))
		if err != nil {
			return fmt.Errorf("gemm: bias: %w", err)
		}
		for n := range bias {
			bias[n] = numbers{mem, g.Out}.at(n)
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
	if g.SumsA != 0 {
		mem, err := b.Driver.memory(g.SumsA, int64(g.M*g.Out.Size()))
		if err != nil {
			return fmt.Errorf("gemm: sums: %w", err)
		}
		for r := range g.M {
			sum := 0.0
			for _, v := range left[r*g.K : (r+1)*g.K] {
				sum += v
			}
			numbers{mem, g.Out}.set(r, sum)
		}
	}
	for r := range g.M {
		x := left[r*g.K : (r+1)*g.K]
		for n := range g.N {
			sum, y := 0.0, right[n*g.K:(n+1)*g.K]
			for k, v := range x {
				sum += v * y[k]
			}
			sum = sum*float64(g.Alpha) + bias[n]
			if g.Beta != 0 {
				sum += float64(g.Beta) * before.at(r*g.LDC+n)
			}
			c.set(r*g.LDC+n, sum)
		}
	}
	return nil
}

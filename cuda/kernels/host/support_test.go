//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/cuda/kernels/host"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
)

// bench is a device and the engine that says what is right.
type bench struct {
	t   *testing.T
	ref engine.Engine
	rng *rand.Rand
}

func newBench(t *testing.T) *bench {
	return &bench{t, reference.New(), rand.New(rand.NewPCG(7, 11))}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) run(ls ...kernels.Launch) {
	b.t.Helper()
	for _, l := range ls {
		b.must(host.Run(l))
	}
}

func (b *bench) normal(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(b.rng.NormFloat64())
	}
	return x
}

// array is device memory that holds numbers of one type.
type array struct {
	*host.Buffer
	t kernels.Type
	n int
}

func (b *bench) empty(t kernels.Type, n int) array {
	b.t.Helper()
	buf, err := host.Allocate(n * t.Size())
	b.must(err)
	b.t.Cleanup(func() { _ = buf.Free() })
	return array{buf, t, n}
}

// up copies numbers to the device; x is rounded to what the type holds, so that
// the reference starts from the same.
func (b *bench) up(t kernels.Type, x []float32) array {
	b.t.Helper()
	a := b.empty(t, len(x))
	for i, v := range x {
		if t == kernels.BF16 {
			bits := math.Float32bits(v)
			half := uint16((bits + 0x7fff + bits>>16&1) >> 16)
			if v != v {
				half = 0x7fc0
			}
			unsafe.Slice((*uint16)(unsafe.Pointer(&a.Bytes()[0])), len(x))[i] = half
			x[i] = math.Float32frombits(uint32(half) << 16)
			continue
		}
		unsafe.Slice((*float32)(unsafe.Pointer(&a.Bytes()[0])), len(x))[i] = v
	}
	return a
}

func (a array) down() []float32 {
	out := make([]float32, a.n)
	for i := range out {
		if a.t == kernels.BF16 {
			out[i] = math.Float32frombits(uint32(unsafe.Slice((*uint16)(unsafe.Pointer(&a.Bytes()[0])), a.n)[i]) << 16)
		} else {
			out[i] = unsafe.Slice((*float32)(unsafe.Pointer(&a.Bytes()[0])), a.n)[i]
		}
	}
	return out
}

// tensor gives numbers to the reference engine.
func (b *bench) tensor(x []float32, shape ...int) engine.Tensor {
	b.t.Helper()
	t, err := b.ref.New(shape...)
	b.must(err)
	if x != nil {
		b.must(b.ref.Write(t, x))
	}
	return t
}

func (b *bench) read(t engine.Tensor) []float32 {
	b.t.Helper()
	n := 1
	for _, d := range t.Shape() {
		n *= d
	}
	x := make([]float32, n)
	b.must(b.ref.Read(x, t))
	return x
}

// image is a shape (n, c, h, w).
type image struct{ n, c, h, w int }

func (s image) size() int { return s.n * s.c * s.h * s.w }

// planar turns channels-last numbers into the reference's order.
func (s image) planar(x []float32) []float32 {
	y := make([]float32, len(x))
	for i := range s.n {
		for p := range s.h * s.w {
			for k := range s.c {
				y[(i*s.c+k)*s.h*s.w+p] = x[(i*s.h*s.w+p)*s.c+k]
			}
		}
	}
	return y
}

// same compares with a tolerance relative to the largest number wanted; a bf16
// result may be off by its own rounding.
func (b *bench) same(what string, t kernels.Type, got, want []float32, rel float64) {
	b.t.Helper()
	if len(got) != len(want) {
		b.t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	size := 0.0
	for _, v := range want {
		if a := math.Abs(float64(v)); !math.IsInf(a, 0) && !math.IsNaN(a) {
			size = max(size, a)
		}
	}
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if math.IsNaN(g) && math.IsNaN(w) || g == w {
			continue
		}
		tol := rel * size
		if t == kernels.BF16 {
			tol += math.Abs(w) / 200
		}
		if !(math.Abs(g-w) <= tol) {
			b.t.Fatalf("%s (%v): element %d is %v, want %v (largest %v)", what, t, i, g, w, size)
		}
	}
}

var bothTypes = []kernels.Type{kernels.F32, kernels.BF16}

// int32s copies whole numbers to the device.
func (b *bench) int32s(x []int) array {
	y := make([]int32, len(x))
	for i, v := range x {
		y[i] = int32(v)
	}
	return b.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&y[0])), 4*len(y)))
}

//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
)

// In groups of numbers and one by one, beside ChannelAffine.
func TestAnAffineMapIsWrittenIntoALargerOne(t *testing.T) {
	for _, typ := range []kernels.Type{kernels.F32, kernels.BF16} {
		for _, shape := range []struct{ rows, c, width, from int }{{9, 16, 40, 8}, {9, 16, 41, 8}, {7, 5, 12, 3}, {1, 3, 3, 0}} {
			b := newBench(t)
			n := shape.rows * shape.c
			x, scale, shift := b.up(typ, b.normal(n)), b.up(kernels.F32, b.normal(shape.c)), b.up(kernels.F32, b.normal(shape.c))
			for i, ceiling := range []float32{0, float32(math.Inf(1)), 1.25} {
				s, h := scale.Ptr(), shift.Ptr()
				if i == 2 {
					s, h = 0, 0
				}
				want, whole := b.empty(typ, n), b.up(typ, b.normal(shape.rows*shape.width))
				before := whole.down()
				b.run(kernels.ChannelAffine(typ, int64(n), shape.c, want.Ptr(), x.Ptr(), s, h, 0, ceiling),
					kernels.JoinAffine(typ, int64(n), shape.c, whole.Ptr()+kernels.Ptr(shape.from*typ.Size()), shape.width, x.Ptr(), s, h, ceiling))
				dense, got := want.down(), whole.down()
				for at, v := range got {
					w, k := before[at], at%shape.width-shape.from
					if k >= 0 && k < shape.c {
						w = dense[at/shape.width*shape.c+k]
					}
					if math.Float32bits(v) != math.Float32bits(w) {
						t.Fatalf("%v, %+v: place %d is %v, want %v", typ, shape, at, v, w)
					}
				}
			}
		}
	}
}

package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestWinogradTransforms compares the transforms of each variant with the
// portable ones, at guards.
func TestWinogradTransforms(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	for _, k := range fast() {
		ends := append(numbers(rng, 2*k.vec), make([]float32, k.vec)...)
		out := func(f func(dst []float32, pitch, dstNext int, src []float32, stride, srcNext, count int, tmp, ends []float32), ends []float32) transformFunc {
			return func(dst []float32, pitch, dstNext int, src []float32, stride, srcNext, count int, tmp []float32) {
				f(dst, pitch, dstNext, src, stride, srcNext, count, tmp, ends)
			}
		}
		for _, c := range []struct {
			name  string
			size  int
			toMap bool
			got   transformFunc
			want  transformFunc
		}{
			{"tiles in", 6, false, k.winograd.tilesIn, fromMap(k.vec, 6, tileIn)},
			{"filters in", 3, false, k.winograd.filtersIn, fromMap(k.vec, 3, filterIn)},
			{"gradients in", 4, false, k.winograd.gradientsIn, fromMap(k.vec, 4, gradientIn)},
			{"tiles out", 4, true, out(k.winograd.tilesOut, nil), out(tilesOut(k.vec), nil)},
			{"tiles out to the end", 4, true, out(k.winograd.tilesOut, ends), out(tilesOut(k.vec), ends)},
			{"filters out", 3, true, k.winograd.filtersOut, toMap(k.vec, 3, filterOut)},
		} {
			for count := 1; count <= 4; count++ {
				pitch, next := (c.size*count+rng.IntN(3))*k.vec, c.size*k.vec
				stride := (count + rng.IntN(3)) * k.vec
				inMap, apart := (c.size-1)*pitch+c.size*count*k.vec, 35*stride+count*k.vec
				run := func(f transformFunc, dst, src []float32) {
					tmp := make([]float32, 36*k.vec)
					if c.toMap {
						f(dst, pitch, next, src, stride, k.vec, count, tmp)
					} else {
						f(dst, stride, k.vec, src, pitch, next, count, tmp)
					}
				}
				from, to := inMap, apart
				if c.toMap {
					from, to = apart, inMap
				}
				src := numbers(rng, from)
				want := numbers(rng, to)
				got := place(t, want, count%2 == 0)
				run(c.want, want, src)
				run(c.got, got, place(t, src, count%2 == 0))
				near(t, fmt.Sprintf("%s %s, %d squares", k.name, c.name, count), got, want, 1e-6)
			}
		}
	}
}

// TestRowsTiles compares every tile with the product it means.
func TestRowsTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	for _, k := range available() {
		for v := 1; v <= len(k.winograd.rows); v++ {
			for rows := 1; rows <= k.mr; rows++ {
				for blocks := 1; blocks <= 3; blocks++ {
					n := v * k.vec
					ldc, next := n+rng.IntN(3), (rows+rng.IntN(3))*k.vec
					a, b := place(t, numbers(rng, (blocks-1)*next+rows*k.vec), false), place(t, numbers(rng, (blocks*k.vec-1)*k.nr+n), false)
					c := place(t, numbers(rng, (rows-1)*ldc+n), false)
					want := append([]float32(nil), c...)
					for r := range rows {
						for j := range n {
							s := 0.0
							for p := range blocks * k.vec {
								s += float64(a[p/k.vec*next+r*k.vec+p%k.vec]) * float64(b[p*k.nr+j])
							}
							want[r*ldc+j] = float32(s)
						}
					}
					k.winograd.rows[v-1][rows](c, ldc, a, next, b, blocks)
					near(t, fmt.Sprintf("%s tile of %d rows and %d vectors, %d blocks", k.name, rows, v, blocks), c, want, 2e-6)
				}
			}
		}
	}
}

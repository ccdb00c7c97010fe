package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestRoundsToBfloat16 has the nearest number of eight bits, and the even one of two that
// are as near.
func TestRoundsToBfloat16(t *testing.T) {
	for _, c := range []struct{ x, want float32 }{
		{1, 1}, {-1.5, -1.5}, {0, 0}, {1 + 1.0/256, 1}, {1 + 3.0/256, 1 + 2.0/128}, {1 + 1.1/256, 1 + 1.0/128},
		{-(1 + 3.0/256), -(1 + 2.0/128)}, {3.14159274, 3.140625}, {math.MaxFloat32, float32(math.Inf(1))}, {1e-30, 9.984021e-31},
		{float32(math.Inf(-1)), float32(math.Inf(-1))},
	} {
		for _, k := range available() {
			if k.narrow == nil {
				continue
			}
			words := make([]float32, 1)
			k.narrow.pairs(words, []float32{c.x, -c.x}, 1, 1)
			got := widened(words, 1, 1, 1)
			if got[0] != c.want || got[1] != -c.want {
				t.Errorf("%s: %v and its negative become %v, want %v", k.name, c.x, got, c.want)
			}
		}
	}
	if got := math.Float32frombits(narrowBits(float32(math.NaN())) << 16); got == got {
		t.Errorf("NaN becomes %v", got)
	}
}

// TestNarrowPairs compares with the portable kernel at all widths, at guards.
func TestNarrowPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	for _, k := range fast() {
		if k.narrow == nil {
			continue
		}
		for width := 1; width <= k.nr; width++ {
			for pairs := 1; pairs <= 4; pairs++ {
				src := numbers(rng, 2*width*pairs)
				want, got := make([]float32, width*pairs), guarded(t, width*pairs, width%2 == 0)
				narrowPairs(want, src, width, pairs)
				k.narrow.pairs(got, place(t, src, width%2 == 1), width, pairs)
				for i := range want {
					if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
						t.Fatalf("%s, %d pairs of width %d: word %d is %08x, want %08x", k.name, pairs, width, i, math.Float32bits(got[i]), math.Float32bits(want[i]))
					}
				}
			}
		}
	}
}

// TestNarrowTiles compares tiles of words with those of the float32 numbers that the words
// stand for, which round their sums otherwise at most.
func TestNarrowTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, k := range available() {
		if k.narrow == nil {
			continue
		}
		oracle := narrowTiles(k.vec, k.tiles)
		for v := 1; v <= len(k.tiles); v++ {
			for rows := 1; rows <= k.mr; rows++ {
				for mode := range 48 {
					words, n := []int{1, 2, 17}[rng.IntN(3)], v*k.vec
					ldd, ldc, lda, ldb, ldr := n+rng.IntN(3), rng.IntN(2)*n, k.mr+rng.IntN(3), n+rng.IntN(3), rng.IntN(2)*n
					operand := func(size int) []float32 {
						w := make([]float32, size)
						narrowPairs(w, numbers(rng, 2*size), size, 1)
						return place(t, w, false)
					}
					part := func(bit, size int) []float32 {
						if mode&bit == 0 {
							return nil
						}
						return place(t, numbers(rng, size), false)
					}
					a, b := operand((words-1)*lda+rows), operand((words-1)*ldb+n)
					c, scale, shift, residual := part(1, (rows-1)*ldc+n), part(2, rows), part(4, rows), part(8, (rows-1)*ldr+n)
					ceiling := [3]float32{0, float32(math.Inf(1)), 1.5}[mode/16]
					got := place(t, numbers(rng, (rows-1)*ldd+n), false)
					want := append([]float32(nil), got...)
					k.narrow.tiles[v-1][rows](got, ldd, c, ldc, a, lda, b, ldb, words, scale, shift, residual, ldr, ceiling)
					oracle[v-1][rows](want, ldd, c, ldc, a, lda, b, ldb, words, scale, shift, residual, ldr, ceiling)
					near(t, fmt.Sprintf("%s tile of %d rows and %d vectors, %d words, mode %d", k.name, rows, v, words, mode), append(got, 1), append(want, 1), 2e-6)
				}
			}
		}
	}
}

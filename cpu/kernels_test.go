package cpu

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// fast lists the variants that have the portable one as oracle.
func fast() []*kernels {
	all := available()
	return all[:len(all)-1]
}

// place copies x to a guarded slice that ends, or starts, at the guard.
func place(t testing.TB, x []float32, atStart bool) []float32 {
	g := guarded(t, len(x), atStart)
	copy(g, x)
	return g
}

// TestVectorKernels compares every kernel over slices with the portable one, at
// lengths 1 to 64 and more, at both ends of guarded memory (one of which is no
// aligned start), with special values among the numbers.
func TestVectorKernels(t *testing.T) {
	want := portable()
	rng := rand.New(rand.NewPCG(11, 12))
	lengths := []int{100, 127, 128, 129, 1000}
	for n := 1; n <= 64; n++ {
		lengths = append(lengths, n)
	}
	step := adamWStep{keep: 0.99, beta1: 0.9, gain1: 0.1, beta2: 0.99, gain2: 0.01, rate: 0.1, unbias2: 2, eps: 1e-8}
	// Each returns what it wrote.
	kernels := map[string]func(k *kernels, v [4][]float32) [][]float32{
		"add":        func(k *kernels, v [4][]float32) [][]float32 { k.add(v[0], v[1], v[2]); return v[:1] },
		"add3":       func(k *kernels, v [4][]float32) [][]float32 { k.add3(v[0], v[1], v[2], v[3]); return v[:1] },
		"maximum3":   func(k *kernels, v [4][]float32) [][]float32 { k.maximum3(v[0], v[1], v[2], v[3]); return v[:1] },
		"multiply":   func(k *kernels, v [4][]float32) [][]float32 { k.multiply(v[0], v[1], v[2]); return v[:1] },
		"scale":      func(k *kernels, v [4][]float32) [][]float32 { k.scale(v[0], v[1], 1.5); return v[:1] },
		"relu":       func(k *kernels, v [4][]float32) [][]float32 { k.relu(v[0], v[1]); return v[:1] },
		"relu grad":  func(k *kernels, v [4][]float32) [][]float32 { k.reluGrad(v[0], v[1], v[2]); return v[:1] },
		"bound grad": func(k *kernels, v [4][]float32) [][]float32 { k.boundGrad(v[0], v[1], v[2], 1.25); return v[:1] },
		"maximum":    func(k *kernels, v [4][]float32) [][]float32 { k.maximum(v[0], v[1], v[2]); return v[:1] },
		"route":      func(k *kernels, v [4][]float32) [][]float32 { k.route(v[0], v[3], v[1], v[2]); return v[:] },
		"split": func(k *kernels, v [4][]float32) [][]float32 {
			n := len(v[0])
			k.split(v[0][:(n+1)/2], v[1][(n+1)/2:], v[3])
			return v[:]
		},
		"merge": func(k *kernels, v [4][]float32) [][]float32 {
			n := len(v[0])
			k.merge(v[3], v[0][:(n+1)/2], v[1][(n+1)/2:])
			return v[:]
		},
		"affine": func(k *kernels, v [4][]float32) [][]float32 {
			k.affine(v[0], v[1], nil, 0.25, 1.5, 0.125, 0)
			return v[:1]
		},
		"affine relu": func(k *kernels, v [4][]float32) [][]float32 {
			k.affine(v[0], v[1], v[2], 0.25, 1.5, 0.125, float32(math.Inf(1)))
			return v[:1]
		},
		"affine bounded": func(k *kernels, v [4][]float32) [][]float32 {
			k.affine(v[0], v[1], nil, 0.25, 1.5, 0.125, 1.25)
			return v[:1]
		},
		"norm grad": func(k *kernels, v [4][]float32) [][]float32 {
			k.normGrad(v[0], v[1], v[2], 0.5, 1.5, 0.25, 2)
			return v[:1]
		},
		"sum": func(k *kernels, v [4][]float32) [][]float32 {
			return [][]float32{{float32(k.sum(v[0])), float32(k.spread(v[0], 0.5)), float32(k.project(v[0], v[1], 0.5))}}
		},
		"sgd": func(k *kernels, v [4][]float32) [][]float32 {
			k.sgd(v[0], v[1], nil, sgdStep{rate: 0.1, decay: 0.01})
			return v[:1]
		},
		"sgd momentum": func(k *kernels, v [4][]float32) [][]float32 {
			k.sgd(v[0], v[1], v[2], sgdStep{rate: 0.1, decay: 0.01, momentum: 0.9})
			return v[:3]
		},
		"sgd nesterov": func(k *kernels, v [4][]float32) [][]float32 {
			k.sgd(v[0], v[1], v[2], sgdStep{rate: 0.1, decay: 0.01, momentum: 0.9, nesterov: true})
			return v[:3]
		},
		"adamw": func(k *kernels, v [4][]float32) [][]float32 {
			for i, x := range v[3] { // second moments are not negative
				v[3][i] = float32(math.Abs(float64(x)))
			}
			k.adamW(v[0], v[1], v[2], v[3], step)
			return v[:]
		},
	}
	maps.Copy(kernels, rowKernels())
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		t.Run(name, func(t *testing.T) { // gives back its guarded slices: a process may map only so many
			run := kernels[name]
			for _, n := range lengths {
				var source [4][]float32
				for i := range source {
					source[i] = numbers(rng, n)
				}
				if name != "sum" && n > 3 {
					source[1][n/2], source[1][n-1] = float32(math.NaN()), float32(math.Copysign(0, -1))
					source[2][0] = float32(math.Inf(1))
				}
				var a [4][]float32
				for i := range a {
					a[i] = append([]float32(nil), source[i]...)
				}
				expect := run(want, a)
				for _, k := range fast() {
					for _, atStart := range []bool{false, true} {
						var b [4][]float32
						for i := range b {
							b[i] = place(t, source[i], atStart)
						}
						for i, got := range run(k, b) {
							// The inputs have size 1, and sums of them may cancel.
							near(t, fmt.Sprintf("%s %s, length %d, slice %d", k.name, name, n, i), append(got, 1), append(expect[i], 1), 1e-6)
						}
					}
				}
			}
		})
	}
}

func TestFinite(t *testing.T) {
	for _, k := range available() {
		for n := 1; n <= 64; n++ {
			x := guarded(t, n, n%2 == 0)
			for i := range x {
				x[i] = math.MaxFloat32
			}
			if !k.finite(x) {
				t.Errorf("%s: %d finite numbers are not", k.name, n)
			}
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				for _, at := range []int{0, n / 2, n - 1} {
					x[at] = float32(bad)
					if k.finite(x) {
						t.Errorf("%s: %v at %d of %d is finite", k.name, bad, at, n)
					}
					x[at] = 1
				}
			}
		}
	}
}

// TestPacking compares the kernels that move numbers, at guards.
func TestPacking(t *testing.T) {
	want := portable()
	rng := rand.New(rand.NewPCG(13, 14))
	for _, k := range fast() {
		for range draws(400) {
			rows, cols := 1+rng.IntN(k.nr), 1+rng.IntN(70)
			width := rows + rng.IntN(k.nr-rows+1)
			stride, dstStride := cols+rng.IntN(5), width+rng.IntN(3)
			atStart := rng.IntN(2) == 0
			src := place(t, numbers(rng, (rows-1)*stride+cols), atStart)
			size := (cols-1)*dstStride + width
			got, expect := guarded(t, size, atStart), make([]float32, size)
			k.transpose(got, dstStride, src, stride, rows, cols, width)
			want.transpose(expect, dstStride, src, stride, rows, cols, width)
			near(t, fmt.Sprintf("%s transpose %d x %d, width %d", k.name, rows, cols, width), got, expect, 0)

			cols = 1 + rng.IntN(width)
			rows = 1 + rng.IntN(40)
			stride = cols + rng.IntN(5)
			src = place(t, numbers(rng, (rows-1)*stride+cols), atStart)
			size = (rows-1)*dstStride + width
			got, expect = guarded(t, size, atStart), make([]float32, size)
			k.copyRows(got, dstStride, src, stride, rows, cols, width)
			want.copyRows(expect, dstStride, src, stride, rows, cols, width)
			near(t, fmt.Sprintf("%s copy %d x %d, width %d", k.name, rows, cols, width), got, expect, 0)
		}
	}
}

// TestGather reads vectors of one to many runs whose ends lie at guards.
func TestGather(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, k := range fast() {
		for i := range draws(400) {
			plane, count := k.vec+rng.IntN(40), 1+rng.IntN(5)
			v := patchVector{at: make([]int32, k.vec)}
			next := rng.IntN(plane - k.vec + 1)
			if i%2 == 0 {
				next = plane - k.vec // up to the end
			}
			for l := range v.at {
				v.at[l] = int32(next)
				next = min(next+1, plane-1)
				switch rng.IntN(2 + i%20) {
				case 0:
					v.at[l] = -1
				case 1:
					next = rng.IntN(plane)
				}
			}
			v.findRuns()
			src := place(t, numbers(rng, count*plane), i%4 < 2)
			stride := k.vec + rng.IntN(3)
			size := (count-1)*stride + k.vec
			got, expect := guarded(t, size, i%4 < 2), make([]float32, size)
			k.gather(got, stride, src, plane, count, &v)
			gather(expect, stride, src, plane, count, &v)
			near(t, fmt.Sprintf("%s gather %v", k.name, v.at), got, expect, 0)
			if v.runs == nil {
				continue
			}
			taps := []patchVector{v, v, v}[:1+i%3]
			got = guarded(t, (len(taps)-1)*stride+k.vec, i%4 < 2)
			k.gatherTaps(got, stride, src, len(taps), allRuns(taps))
			for t2 := range taps {
				near(t, fmt.Sprintf("%s gather of tap %d of %d, %v", k.name, t2, len(taps), v.at), got[t2*stride:][:k.vec], expect[:k.vec], 0)
			}
		}
	}
}

// TestTiles compares every tile, and all that can be done with its sums, with
// what it means.
func TestTiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for _, k := range available() {
		for v := 1; v <= len(k.tiles); v++ {
			for rows := 1; rows <= k.mr; rows++ {
				for mode := range 48 {
					depth := []int{1, 2, 17}[rng.IntN(3)]
					n := v * k.vec
					ldd, ldc, lda, ldb, ldr := n+rng.IntN(3), n+rng.IntN(3), k.mr+rng.IntN(3), n+rng.IntN(3), rng.IntN(2)*n
					a, b := place(t, numbers(rng, (depth-1)*lda+rows), false), place(t, numbers(rng, (depth-1)*ldb+n), false)
					var c, scale, shift, residual []float32
					if mode&1 != 0 {
						c = place(t, numbers(rng, (rows-1)*ldc+n), false)
					}
					if mode&2 != 0 {
						scale = place(t, numbers(rng, rows), false)
					}
					if mode&4 != 0 {
						shift = place(t, numbers(rng, rows), false)
					}
					if mode&8 != 0 {
						residual = place(t, numbers(rng, (rows-1)*ldr+n), false)
					}
					ceiling := [3]float32{0, float32(math.Inf(1)), 1.5}[mode/16]
					dst := place(t, numbers(rng, (rows-1)*ldd+n), false)
					want := append([]float32(nil), dst...)
					for r := range rows {
						for j := range n {
							s := 0.0
							for p := range depth {
								s += float64(a[p*lda+r]) * float64(b[p*ldb+j])
							}
							if c != nil {
								s += float64(c[r*ldc+j])
							}
							if scale != nil {
								s *= float64(scale[r])
							}
							if shift != nil {
								s += float64(shift[r])
							}
							if residual != nil {
								s += float64(residual[r*ldr+j])
							}
							if ceiling != 0 {
								s = min(max(s, 0), float64(ceiling))
							}
							want[r*ldd+j] = float32(s)
						}
					}
					k.tiles[v-1][rows](dst, ldd, c, ldc, a, lda, b, ldb, depth, scale, shift, residual, ldr, ceiling)
					near(t, fmt.Sprintf("%s tile of %d rows and %d vectors, depth %d, mode %d", k.name, rows, v, depth, mode), append(dst, 1), append(want, 1), 2e-6)
				}
			}
		}
	}
}

// TestPairKernels compares sums and gradients of every curve at lengths 1 to 64,
// at guards.
func TestPairKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	want := portable()
	for _, k := range fast() {
		for c := range curves {
			for p := 1; p <= 2; p++ {
				m := metric.Metric{Kind: metric.BRM, Restriction: metric.Restriction(c), P: p, Omega: 0.7}
				if c == int(identity) {
					m = metric.Metric{Kind: []metric.Kind{metric.Manhattan, metric.SquaredEuclidean}[p-1]}
				}
				args, oracle := newPairSum(k, m, 1).args, newPairSum(want, m, 1).args
				for h := 1; h <= 64; h++ {
					scale := []float32{1e-3, 1, 50}[h%3]
					rows := 1 + rng.IntN(4)
					ldb := h + rng.IntN(3)
					a, b := numbers(rng, h), numbers(rng, (rows-1)*ldb+h)
					for i := range a {
						a[i] *= scale
					}
					a, b = place(t, a, h%2 == 0), place(t, b, h%2 == 0)
					got, expect := guarded(t, rows, false), make([]float32, rows)
					k.pairs[c][p-1].sums(got, a, b, ldb, args)
					want.pairs[c][p-1].sums(expect, a, b, ldb, oracle)
					near(t, fmt.Sprintf("%s curve %d, p %d, length %d", k.name, c, p, h), got, expect, 2e-6)
				}
				for rows := 1; rows <= 5; rows++ {
					a, b, coef := numbers(rng, k.vec), numbers(rng, rows*k.vec), numbers(rng, rows)
					b[0], b[1] = a[0], float32(math.NaN())
					da, db := numbers(rng, k.vec), numbers(rng, rows*k.vec)
					ga, gb := place(t, da, false), place(t, db, false)
					k.pairs[c][p-1].grad(ga, gb, place(t, a, false), place(t, b, false), place(t, coef, false), args)
					for i := range coef { // the slopes that kernels add may differ by a factor
						coef[i] *= float32(oracle.slope / args.slope)
					}
					want.pairs[c][p-1].grad(da, db, a, b, coef, oracle)
					near(t, fmt.Sprintf("%s curve %d, p %d: da", k.name, c, p), ga, da, 2e-6)
					near(t, fmt.Sprintf("%s curve %d, p %d: db", k.name, c, p), gb, db, 2e-6)
				}
			}
		}
	}
}

// TestDepthwiseKernels compares the kernels of depthwise convolution with the portable
// ones, at guards: 1 to 26 taps, lengths below and above a block of vectors.
func TestDepthwiseKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	want := portable()
	for _, k := range fast() {
		for taps := 1; taps <= 26; taps++ {
			for _, n := range []int{1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 128, 129, 300} {
				at := make([]int, taps)
				for i := range at {
					at[i] = rng.IntN(40)
				}
				at[0], at[taps-1] = 0, 39
				src, w, g := place(t, numbers(rng, n+39), n%2 == 0), place(t, numbers(rng, taps), false), place(t, numbers(rng, n), false)
				if taps == 1 {
					at[0] = 39
				}
				for _, ceiling := range []float32{0, float32(math.Inf(1)), 1.5} {
					got, oracle := place(t, numbers(rng, n), false), make([]float32, n)
					k.depthwise(got, src, at, w, 0.25, ceiling)
					want.depthwise(oracle, src, at, w, 0.25, ceiling)
					near(t, fmt.Sprintf("%s, %d taps, %d places, ceiling %v", k.name, taps, n, ceiling), append(got, 1), append(oracle, 1), 4e-6)
				}
				sums, oracle := place(t, numbers(rng, taps), false), make([]float32, taps)
				k.depthwiseSums(sums, g, src, at)
				want.depthwiseSums(oracle, g, src, at)
				near(t, fmt.Sprintf("%s, sums of %d taps over %d", k.name, taps, n), append(sums, 1), append(oracle, 1), 1e-5)
			}
		}
	}
}

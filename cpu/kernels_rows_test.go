package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
)

// rowKernels are those of rows for TestVectorKernels.
func rowKernels() map[string]func(k *kernels, v [4][]float32) [][]float32 {
	return map[string]func(k *kernels, v [4][]float32) [][]float32{
		"layer norm": func(k *kernels, v [4][]float32) [][]float32 {
			k.layerNorm(v[0], v[1], v[2], v[3], 0.25, 1.5, 0.125)
			return v[:1]
		},
		"layer norm grad": func(k *kernels, v [4][]float32) [][]float32 {
			k.layerNormGrad(v[0], v[1], v[2], v[3], 0.5, 1.5, 0.25, 2)
			return v[:1]
		},
		"layer norm sums": func(k *kernels, v [4][]float32) [][]float32 {
			total, along := k.layerNormSums(v[0], v[3], v[3], 0.5)
			return [][]float32{{float32(total), float32(along)}}
		},
		"norm sums": func(k *kernels, v [4][]float32) [][]float32 {
			k.normSums(v[0], v[3], v[1], v[2], 0.25, 1.5)
			return [][]float32{v[0], v[3]}
		},
		"gelu":            func(k *kernels, v [4][]float32) [][]float32 { k.gelu(v[0], v[1]); return v[:1] },
		"gelu grad":       func(k *kernels, v [4][]float32) [][]float32 { k.geluGrad(v[0], v[1], v[2]); return v[:1] },
		"gelu quick":      func(k *kernels, v [4][]float32) [][]float32 { k.geluQuick(v[0], v[1]); return v[:1] },
		"gelu quick grad": func(k *kernels, v [4][]float32) [][]float32 { k.geluQuickGrad(v[0], v[1], v[2]); return v[:1] },
		"softmax grad":    func(k *kernels, v [4][]float32) [][]float32 { k.softmaxGrad(v[0], v[1], v[2], 0.25, 1.5); return v[:1] },
		"exp": func(k *kernels, v [4][]float32) [][]float32 {
			sum := k.exp(v[0], v[1], 40, 1)
			return [][]float32{v[0], {float32(sum)}}
		},
		"exp of numbers": func(k *kernels, v [4][]float32) [][]float32 {
			sum := k.exp(v[0], v[3], 3, 1)
			return [][]float32{v[0], {float32(sum / float64(len(v[0])))}}
		},
		"quadratic": func(k *kernels, v [4][]float32) [][]float32 {
			k.quadratic(v[0], v[1], 0.5, -1.5, 0.75)
			return v[:1]
		},
		"column exp": func(k *kernels, v [4][]float32) [][]float32 {
			for i := range v[3] { // above all numbers
				v[3][i] += 3
			}
			k.columnExp(v[0], v[1], v[3])
			k.columnExp(v[0], v[2], v[3])
			return v[:1]
		},
		"column grad": func(k *kernels, v [4][]float32) [][]float32 {
			for i := range v[3] {
				v[3][i] += 4
			}
			k.columnGrad(v[0], v[1], v[3], v[2], 0.5, -1.5, 0.75)
			return v[:1]
		},
		"largest": func(k *kernels, v [4][]float32) [][]float32 {
			return [][]float32{{k.largest(v[0]), k.largest(v[1]), k.largest(v[2]), k.largest(v[3])}}
		},
	}
}

func TestLargest(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, k := range available() {
		for n := 1; n <= 70; n++ {
			for _, at := range []int{0, n / 2, n - 1} {
				for _, v := range []float32{2, inf, nan, -3} {
					x := place(t, numbers(rng, n), n%2 == 0)
					if v < 0 { // all are negative, which the empty lanes of a tail are not
						for i := range x {
							x[i] -= 5
						}
					}
					x[at] = v
					if got := k.largest(x); got != v && (got == got || v == v) {
						t.Errorf("%s: the largest of %d is %v, want %v at %d", k.name, n, got, v, at)
					}
				}
				x := place(t, numbers(rng, n), false)
				for i := range x {
					x[i] = -inf
				}
				if got := k.largest(x); got != -inf {
					t.Errorf("%s: the largest of %d times -Inf is %v", k.name, n, got)
				}
			}
		}
	}
}

// TestExpOfAllItsRange compares with float64, from 0 to where the result is 0.
func TestExpOfAllItsRange(t *testing.T) {
	for _, k := range available() {
		const n = 20000
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i] = -float32(i) / 200 // 0 to -100
		}
		sum, want := k.exp(y, x, 1, 0), 0.0
		for i, v := range x {
			e := math.Exp(float64(v))
			want += e
			if v < -87 {
				e = 0
			}
			if d := math.Abs(float64(y[i]) - e); d > 5e-7*e {
				t.Fatalf("%s: exp(%v) is %v, want %v", k.name, v, y[i], e)
			}
		}
		if math.Abs(sum-want) > 5e-7*want {
			t.Errorf("%s: the sum is %v, want %v", k.name, sum, want)
		}
	}
}

// TestGELUOfAllItsRange wants Phi(x) within 1e-6 of itself, also far on the left,
// where what float32 leaves of x^2/2 adds to the error.
func TestGELUOfAllItsRange(t *testing.T) {
	for _, k := range available() {
		const n = 20000
		x, y, dx, dy := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
		for i := range x {
			x[i] = float32(i-n/2) / 800 // -12.5 to 12.5
			dy[i] = 1
		}
		k.gelu(y, x)
		k.geluGrad(dx, dy, x)
		for i, v := range x {
			z := float64(v)
			share := math.Erfc(-z/math.Sqrt2) / 2
			limit := 1e-6 * (1 + z*z/16)
			if d := math.Abs(float64(y[i]) - z*share); d > limit*math.Abs(z*share) {
				t.Fatalf("%s: gelu(%v) is %v, want %v", k.name, v, y[i], z*share)
			}
			steep := z * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			if d := math.Abs(float64(dx[i]) - share - steep); d > limit*(share+math.Abs(steep)) {
				t.Fatalf("%s: gelu'(%v) is %v, want %v", k.name, v, dx[i], share+steep)
			}
		}
	}
}

// TestGELUQuickOfAllItsRange wants x/(1 + exp(-1.702 x)) and its derivative within 1e-6 of
// themselves; on the left what float32 leaves of 1.702 x adds to the error.
func TestGELUQuickOfAllItsRange(t *testing.T) {
	for _, k := range available() {
		const n = 20000
		x, y, dx, dy := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
		for i := range x {
			x[i] = float32(i-n/2) / 400 // -25 to 25
			dy[i] = 1
		}
		k.geluQuick(y, x)
		k.geluQuickGrad(dx, dy, x)
		for i, v := range x {
			z := float64(v)
			share := 1 / (1 + math.Exp(-1.702*z))
			steep := 1.702 * z * share / (1 + math.Exp(1.702*z))
			limit := 1e-6 * (1 + math.Abs(z)/8)
			if d := math.Abs(float64(y[i]) - z*share); d > limit*math.Abs(z*share) {
				t.Fatalf("%s: quick gelu(%v) is %v, want %v", k.name, v, y[i], z*share)
			}
			if d := math.Abs(float64(dx[i]) - share - steep); d > limit*(share+math.Abs(steep)) {
				t.Fatalf("%s: quick gelu'(%v) is %v, want %v", k.name, v, dx[i], share+steep)
			}
		}
	}
}

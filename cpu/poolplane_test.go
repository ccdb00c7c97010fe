package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestPlaneKernels compares the kernels that pool maps where they lie with loops over the
// cells of each window: at guards, for maps of 1 to 70 columns, with NaN and infinities
// among the numbers, and with equal maxima, of which the first takes the gradient.
func TestPlaneKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	inf := float32(math.Inf(1))
	for _, k := range fast() {
		if k.pool3.max == nil {
			continue
		}
		for width := 1; width <= 70; width++ {
			height := 1 + rng.IntN(5)
			x := place(t, numbers(rng, height*width), width%2 == 0)
			if width%3 == 0 {
				x[rng.IntN(len(x))] = float32(math.NaN())
				x[rng.IntN(len(x))] = -inf
			}
			most, sum := make([]float32, len(x)), make([]float32, len(x))
			for i := range x {
				y, c := i/width, i%width
				most[i] = cellsOf(x, width, y-1, y+2, c-1, c+2, -inf, greaterOf)
				sum[i] = cellsOf(x, width, y-1, y+2, c-1, c+2, 0, func(a, b float32) float32 { return a + b })
			}
			got := place(t, numbers(rng, len(x)), width%2 == 1)
			k.pool3.max(got, x, height, width)
			near(t, fmt.Sprintf("%s, maxima of %dx%d", k.name, height, width), got, most, 0)
			k.pool3.sum(got, x, height, width)
			near(t, fmt.Sprintf("%s, sums of %dx%d", k.name, height, width), got, sum, 1e-6)
			for pad := range 2 {
				checkPlaneRow(t, rng, k, width, pad)
			}
		}
	}
}

// checkPlaneRow checks a row of windows, of 1 to 3 rows, and its gradient.
func checkPlaneRow(t *testing.T, rng *rand.Rand, k *kernels, width, pad int) {
	rows, cols := 1+rng.IntN(3), (width+pad-1)/2+1 // each window has a cell
	x := place(t, numbers(rng, rows*width), width%2 == 0)
	for i := range x {
		x[i] = float32(math.Round(float64(4 * x[i]))) // equal maxima
	}
	up := place(t, numbers(rng, cols), false)
	want, grads := make([]float32, cols), make([]float32, len(x))
	for c := range want {
		first := 2*c - pad
		want[c] = cellsOf(x, width, 0, rows, first, first+3, float32(math.Inf(-1)), greaterOf)
	give:
		for y := range rows {
			for v := max(first, 0); v < min(first+3, width); v++ {
				if x[y*width+v] == want[c] {
					grads[y*width+v] += up[c]
					break give
				}
			}
		}
	}
	what := fmt.Sprintf("%s, %d rows of %d, padding %d", k.name, rows, width, pad)
	got := place(t, numbers(rng, cols), width%2 == 1)
	k.pool3.maxRow(got, x, width, rows, pad)
	near(t, what, got, want, 0)
	dx := place(t, make([]float32, len(x)), width%2 == 1)
	k.pool3.maxRowGrad(dx, up, x, got, width, rows, pad)
	near(t, what+": gradient", append(dx, 1), append(grads, 1), 1e-6)
}

// cellsOf merges the cells of a window that lie in a map.
func cellsOf(x []float32, width, top, bottom, left, right int, start float32, merge func(a, b float32) float32) float32 {
	for y := max(top, 0); y < min(bottom, len(x)/width); y++ {
		for c := max(left, 0); c < min(right, width); c++ {
			start = merge(start, x[y*width+c])
		}
	}
	return start
}

// greaterOf is the maximum; NaN wins.
func greaterOf(a, b float32) float32 {
	if a != a || a > b {
		return a
	}
	return b
}

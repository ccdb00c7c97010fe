package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// TestWinogradIsPrecise compares convolutions of many channels and both gradients
// with sums in float64. The error allowed, relative to the largest result, is a
// tenth of what users may rely on.
func TestWinogradIsPrecise(t *testing.T) {
	const limit = 1e-5
	for _, c := range []struct{ images, in, out, rows, cols, kernelRows, kernelCols int }{
		{3, 200, 40, 14, 14, 3, 3},
		{3, 200, 40, 12, 14, 1, 7},
		{3, 200, 40, 14, 12, 7, 1},
		{2, 37, 50, 11, 75, 7, 1}, // groups that end within an image
		{2, 37, 50, 75, 11, 1, 7},
		{4, 100, 24, 8, 9, 1, 3},
		{4, 100, 24, 9, 8, 3, 1},
	} {
		name := fmt.Sprintf("%dx%d on %dx%d", c.kernelRows, c.kernelCols, c.rows, c.cols)
		spec := engine.ConvSpec{KernelH: c.kernelRows, KernelW: c.kernelCols, StrideH: 1, StrideW: 1, PadH: c.kernelRows / 2, PadW: c.kernelCols / 2}
		shape := convShape{ConvSpec: spec, images: c.images, in: c.in, height: c.rows, width: c.cols, out: c.out, rows: c.rows, cols: c.cols}
		if shape.winogradForm() == nil {
			t.Fatalf("%s: the shape is not one for Winograd's convolution", name)
		}
		rng := rand.New(rand.NewPCG(31, 32))
		area := c.rows * c.cols
		x, w, dy := numbers(rng, c.images*c.in*area), numbers(rng, c.out*c.in*c.kernelRows*c.kernelCols), numbers(rng, c.images*c.out*area)
		for i, v := range x { // like the output of a ReLU
			x[i] = max(v, 0)
		}
		wantY, wantX, wantW := exact(x, w, dy, shape)
		eachVariant(t, func(t *testing.T, variant string) {
			e := openEngine(t, variant, 0)
			tx, tw, ty := load(t, e, x, c.images, c.in, c.rows, c.cols), load(t, e, w, c.out, c.in, c.kernelRows, c.kernelCols), load(t, e, dy, c.images, c.out, c.rows, c.cols)
			y, dx, dw := put(t, e, rng, c.images, c.out, c.rows, c.cols), put(t, e, rng, c.images, c.in, c.rows, c.cols), put(t, e, rng, c.out, c.in, c.kernelRows, c.kernelCols)
			must(t, e.Conv(y, tx, tw, spec, engine.Epilogue{}))
			must(t, e.ConvGradInput(dx, ty, tw, spec))
			must(t, e.ConvGradWeights(dw, nil, ty, tx, spec))
			near(t, name+" forward", read(t, e, y), wantY, limit)
			near(t, name+" input", read(t, e, dx), wantX, limit)
			near(t, name+" weights", read(t, e, dw), wantW, limit)
		})
	}
}

// exact is a padded convolution with stride 1 and its gradients, in float64.
func exact(x, w, dy []float32, c convShape) (y, dx, dw []float32) {
	sumY, sumX, sumW := make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w))
	size := c.KernelH * c.KernelW
	for i := range c.images {
		for o := range c.out {
			for ch := range c.in {
				for t := range size {
					at, down, right := (o*c.in+ch)*size+t, t/c.KernelW-c.PadH, t%c.KernelW-c.PadW
					filter, grad := float64(w[at]), 0.0
					for r := max(0, -down); r < min(c.rows, c.height-down); r++ {
						for q := max(0, -right); q < min(c.cols, c.width-right); q++ {
							to, from := ((i*c.out+o)*c.rows+r)*c.cols+q, ((i*c.in+ch)*c.height+r+down)*c.width+q+right
							sumY[to] += filter * float64(x[from])
							sumX[from] += filter * float64(dy[to])
							grad += float64(dy[to]) * float64(x[from])
						}
					}
					sumW[at] += grad
				}
			}
		}
	}
	round := func(v []float64) []float32 {
		f := make([]float32, len(v))
		for i := range v {
			f[i] = float32(v[i])
		}
		return f
	}
	return round(sumY), round(sumX), round(sumW)
}

// TestToomCookIsExact compares tiles with sums of their definition in float64.
func TestToomCookIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, c := range []struct {
		points []float64
		m, r   int
	}{{[]float64{0}, 1, 2}, {[]float64{0, 1, -1}, 2, 3}, {[]float64{0, 1, -1, 2, -2}, 4, 3}, {[]float64{0.5, -0.5, 1, -1, 2, -2, 3}, 2, 7}} {
		at, g, bt := toomCook(c.points, c.m, c.r)
		n := len(c.points) + 1
		x, w := make([]float64, n), make([]float64, c.r)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range w {
			w[i] = rng.NormFloat64()
		}
		for k := range c.m {
			got, want := 0.0, 0.0
			for i := range n {
				left, right := 0.0, 0.0
				for j := range w {
					left += g[i][j] * w[j]
				}
				for j := range x {
					right += bt[i][j] * x[j]
				}
				got += at[k][i] * left * right
			}
			for j := range w {
				want += w[j] * x[k+j]
			}
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("F(%d, %d), result %d: %g, want %g", c.m, c.r, k, got, want)
			}
		}
	}
}

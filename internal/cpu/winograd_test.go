package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/layers"
)

// TestWinogradIsPrecise compares 3x3 convolutions of many channels and both
// gradients with sums in float64. The error allowed, relative to the largest
// result, is a tenth of what users may rely on.
func TestWinogradIsPrecise(t *testing.T) {
	const n, c, k, s, limit = 3, 200, 40, 14, 1e-5
	spec := layers.SquareConv(3, 1, 1)
	shape := convShape{ConvSpec: spec, images: n, in: c, height: s, width: s, out: k, rows: s, cols: s}
	if !shape.usesWinograd() {
		t.Fatal("the shape is not one for Winograd's convolution")
	}
	rng := rand.New(rand.NewPCG(31, 32))
	x, w, dy := numbers(rng, n*c*s*s), numbers(rng, k*c*9), numbers(rng, n*k*s*s)
	for i, v := range x { // like the output of a ReLU
		x[i] = max(v, 0)
	}
	wantY, wantX, wantW := exact(x, w, dy, n, c, k, s)
	eachVariant(t, func(t *testing.T, variant string) {
		e := engine(t, variant, 0)
		tx, tw, ty := load(t, e, x, n, c, s, s), load(t, e, w, k, c, 3, 3), load(t, e, dy, n, k, s, s)
		y, dx, dw := put(t, e, rng, n, k, s, s), put(t, e, rng, n, c, s, s), put(t, e, rng, k, c, 3, 3)
		must(t, e.Conv(y, tx, tw, spec, layers.Epilogue{}))
		must(t, e.ConvGradInput(dx, ty, tw, spec))
		must(t, e.ConvGradWeights(dw, nil, ty, tx, spec))
		near(t, "forward", read(t, e, y), wantY, limit)
		near(t, "input", read(t, e, dx), wantX, limit)
		near(t, "weights", read(t, e, dw), wantW, limit)
	})
}

// exact is a padded 3x3 convolution of (n, c, s, s) with k filters and its
// gradients, in float64.
func exact(x, w, dy []float32, n, c, k, s int) (y, dx, dw []float32) {
	sumY, sumX, sumW := make([]float64, n*k*s*s), make([]float64, n*c*s*s), make([]float64, k*c*9)
	for i := range n {
		for o := range k {
			for ch := range c {
				for t := range 9 {
					at := (o*c+ch)*9 + t
					filter, grad := float64(w[at]), 0.0
					for r := max(0, 1-t/3); r < min(s, s+1-t/3); r++ {
						for q := max(0, 1-t%3); q < min(s, s+1-t%3); q++ {
							to, from := ((i*k+o)*s+r)*s+q, ((i*c+ch)*s+r+t/3-1)*s+q+t%3-1
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

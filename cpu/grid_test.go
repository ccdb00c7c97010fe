package cpu

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/internal/approx"
	"github.com/vernier-ml/vernier/metric"
)

// evalGrid is what the kernels do, in float32.
func evalGrid(c []float32, t float32, bits int) float32 {
	width := float32(math.Ldexp(1, -bits))
	n := int(math.RoundToEven(float64(t / width)))
	r := t - float32(n)*width
	k := len(c)/approx.GridEntries - 1
	y := c[k*approx.GridEntries+n]
	for k--; k >= 0; k-- {
		y = y*r + c[k*approx.GridEntries+n]
	}
	return y
}

// TestGridsFollowTheRestrictions compares piecewise polynomials with the functions
// that they stand for, at many points.
func TestGridsFollowTheRestrictions(t *testing.T) {
	for _, r := range []metric.Restriction{metric.Sigmoid, metric.TanH} {
		g, bits := fallGrid(r), fallBits(r)
		far := math.Ldexp(approx.GridEntries-1, -bits)
		for i := range 200001 {
			x := float32(math.Pow(float64(i)/200000, 2) * far)
			v, s := r.Value(float64(x), 0), r.Slope(float64(x), 0)
			for _, c := range []struct {
				name                string
				got, want, abs, rel float64
			}{
				{"R", float64(evalGrid(g.value, x, bits)), v, 5e-7, 3e-6},
				{"R'", float64(evalGrid(g.slope[0], x, bits)), s, 2e-6, 1},
				{"R R'", float64(evalGrid(g.slope[1], x, bits)), v * s, 2e-6, 1e-5 * math.Exp(2*float64(x))},
			} {
				if d := math.Abs(c.got - c.want); d > c.abs || d > c.rel*c.want {
					t.Fatalf("%s of %v at %v is %v, want %v (off by %.2g)", c.name, r, x, c.got, c.want, d)
				}
			}
		}
	}
	g := arcGrid()
	for i := range 100001 {
		x := math.Exp(float64(i)/100000*60 - 20)
		w := float32(approx.ArcScale / (1 + x))
		tw := x * approx.ArcScale / (1 + x)
		for _, c := range []struct{ got, want float64 }{
			{float64(evalGrid(g.value, w, approx.ArcBits)) * tw, math.Atan(x)},
			{float64(evalGrid(g.slope[1], w, approx.ArcBits)) * tw * math.Pow(approx.ArcScale/(1+x), 2), math.Atan(x) / (1 + x*x)},
		} {
			if d := math.Abs(c.got - c.want); d > 1e-6*c.want {
				t.Fatalf("arctan at %v: %v, want %v (off by %.2g)", x, c.got, c.want, d)
			}
		}
	}
}

package metric

import (
	"math"
	"testing"
)

// Near each other, twice the difference has twice the value of a distance and four
// times that of a square. A cosine distance is the square of a chord, and treated apart,
// an inner product is neither.
func TestSquaredSaysWhichValuesAreSquares(t *testing.T) {
	names := []string{"brm:tanh,power", "brm:tanh,p=1", "brm:tanh,p=1,power"}
	for _, info := range Infos() {
		names = append(names, info.Metric.String())
	}
	for _, name := range names {
		m, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == Cosine || m.Kind == Dot {
			if m.Squared() {
				t.Errorf("%s", name)
			}
			continue
		}
		x := []float32{0.1, -0.2, 0.05, 0.15}
		at := func(by float32) float64 {
			y := make([]float32, len(x))
			for i, d := range []float32{0.3, 0.1, -0.2, 0.4} {
				y[i] = x[i] + by*d
			}
			return m.Value(x, y)
		}
		want := 2.
		if m.Squared() {
			want = 4
		}
		if got := at(0.02) / at(0.01); math.Abs(got-want) > 0.1 {
			t.Errorf("%s: twice the difference has %.3f times the value, want %v", name, got, want)
		}
	}
}

package losses

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Finite differences of every term on rows. Averages that do not stand still are taken
// back before each step.
func TestTermGradientsAreThoseOfTheValue(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, info := range ListTerms() {
		for _, shape := range [][2]int{{1, 1}, {5, 3}, {3, 5}} {
			rows, dim := shape[0], shape[1]
			x := make([]float64, rows*dim)
			for k := range x {
				x[k] = rng.NormFloat64()
			}
			term, err := NewTerm(info.Name, map[string]string{"weight": "0.7"})
			if err != nil {
				t.Fatal(err)
			}
			grad, scratch := make([]float64, len(x)), make([]float64, len(x))
			if _, err := term.EvalRows(x, rows, dim, grad); err != nil {
				t.Fatal(err)
			}
			var kept [][]float64 // statistics are constants for the gradient
			for _, p := range Parameters(term) {
				kept = append(kept, slices.Clone(p.Value))
			}
			switch term := term.(type) {
			case *SEC:
				term.Momentum = 1e-300
			case *MDR:
				term.Momentum = 1e-30
			}
			for k := range x {
				const step = 1e-6
				at := func(d float64) float64 {
					for i, p := range Parameters(term) {
						copy(p.Value, kept[i])
					}
					y := slices.Clone(x)
					y[k] += d
					v, err := term.EvalRows(y, rows, dim, scratch)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				if want := (at(step) - at(-step)) / (2 * step); math.Abs(grad[k]-want) > 1e-7*(1+math.Abs(want)) {
					t.Errorf("%s of %v: gradient %d is %v, by differences %v", info.Name, shape, k, grad[k], want)
				}
			}
		}
	}
}

// W with orthonormal rows, or columns where there are more rows, costs nothing;
// rows twice as long cost (4-1)^2 on the diagonal, over n^2 entries.
func TestOrthogonalityOfRowsOrColumns(t *testing.T) {
	wide := []float64{1, 0, 0, 0, 1, 0}
	tall := []float64{1, 0, 0, 1, 0, 0}
	for _, c := range []struct {
		w         []float64
		rows, dim int
		scale     float64
		want      float64
	}{
		{wide, 2, 3, 1, 0}, {tall, 3, 2, 1, 0}, {wide, 2, 3, 2, 2 * 9.0 / 4}, {tall, 3, 2, 2, 2 * 9.0 / 4},
	} {
		w := slices.Clone(c.w)
		for k := range w {
			w[k] *= c.scale
		}
		got, err := (Orthogonality{Weight: 1}).EvalRows(w, c.rows, c.dim, make([]float64, len(w)))
		if err != nil || math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%d x %d times %v: %v, %v, want %v", c.rows, c.dim, c.scale, got, err, c.want)
		}
	}
}

func TestTermsRefuseWhatTheyCannotMean(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]string
		want   string
	}{
		{"sex", nil, "want one of sec, norm, zero-mean, mdr, orthogonality"},
		{"sec", map[string]string{"weight": "-1"}, "0 <= weight"},
		{"sec", map[string]string{"momentum": "0"}, "0 < momentum <= 1"},
		{"norm", map[string]string{"momentum": "1"}, `unknown parameter "momentum"`},
	} {
		if _, err := NewTerm(c.name, c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %v: %v, want %q in it", c.name, c.params, err, c.want)
		}
	}
	for _, info := range ListTerms() {
		term, err := NewTerm(info.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []struct {
			x         []float64
			rows, dim int
			grad      int
		}{{make([]float64, 5), 2, 3, 5}, {make([]float64, 6), 2, 3, 5}, {nil, 0, 3, 0}} {
			if _, err := term.EvalRows(bad.x, bad.rows, bad.dim, make([]float64, bad.grad)); err == nil {
				t.Errorf("%s takes %d values for %d rows of %d", info.Name, len(bad.x), bad.rows, bad.dim)
			}
		}
		if _, err := term.EvalRows([]float64{1, math.NaN()}, 1, 2, make([]float64, 2)); !errors.Is(err, ErrNotFinite) {
			t.Errorf("%s of NaN: %v", info.Name, err)
		}
	}
}

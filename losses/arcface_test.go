package losses

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
)

func goldenArcFace(t *testing.T, c *golden.Case) {
	onClassesGolden(t, c, &ArcFace{Scale: c.Params.Float("scale", 0), MarginDegrees: c.Params.Float("margin_degrees", 0)}, dot, "W", true)
}

// With several centers only the nearest of each class counts.
func TestArcFaceTakesTheNearestCenter(t *testing.T) {
	all := &Matrix{Rows: 1, Cols: 4, V: []float64{0.1, 0.6, -0.4, 0.5}, RowLabels: []int{0}, ColLabels: []int{0, 0, 1, 1}, Similarity: true}
	nearest := &Matrix{Rows: 1, Cols: 2, V: []float64{0.6, 0.5}, RowLabels: []int{0}, ColLabels: []int{0, 1}, Similarity: true}
	got, want := make([]float64, 4), make([]float64, 2)
	a, err := (&ArcFace{Scale: 8, MarginDegrees: 20, Centers: 2}).Eval(all, got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&ArcFace{Scale: 8, MarginDegrees: 20}).Eval(nearest, want)
	if err != nil {
		t.Fatal(err)
	}
	if a != b || !slices.Equal(got, []float64{0, want[0], 0, want[1]}) {
		t.Errorf("%+v %v, want %+v %v", a, got, b, want)
	}
	if n := PerClass(mustNew(t, "arcface", Options{Metric: brm, Params: map[string]string{"centers": "3"}})); n != 3 {
		t.Errorf("%d rows a class, want 3", n)
	}
}

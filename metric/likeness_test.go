package metric

import (
	"math"
	"testing"
)

// Unit rows at 60 degrees have the cosine 1/2, and so have the likeness 1/2 of every
// metric that orders unit rows as their chords do and squares to them.
func TestLikenessOfUnitRowsIsTheirCosine(t *testing.T) {
	a, b := []float32{1, 0}, []float32{0.5, float32(math.Sqrt(0.75))}
	for _, m := range []Metric{{Kind: Cosine}, {Kind: Dot}, {Kind: Euclidean}, {Kind: SquaredEuclidean}} {
		if got := m.Likeness(a, b); math.Abs(got-.5) > 1e-6 {
			t.Errorf("%v: likeness %v, want 0.5", m, got)
		}
		if got := m.Likeness(a, a); math.Abs(got-1) > 1e-6 {
			t.Errorf("%v: likeness %v of a row to itself, want 1", m, got)
		}
	}
}

func TestLikenessByBRM(t *testing.T) {
	m, err := Parse("brm")
	if err != nil {
		t.Fatal(err)
	}
	a, b := []float32{1, -1, 1, 1}, []float32{-1, 1, 1, -1}
	want := 1 - math.Pow(m.Value(a, b)/m.UnrelatedValue(1), 2) // a has the length of root h
	if got := m.Likeness(a, b); math.Abs(got-want) > 1e-12 {
		t.Errorf("likeness %v, want %v", got, want)
	}
	if got := m.Likeness(a, a); got != 1 {
		t.Errorf("likeness %v of a row to itself, want 1", got)
	}
}

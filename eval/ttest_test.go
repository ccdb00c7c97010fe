package eval

import (
	"math"
	"testing"
)

func TestPairedT(t *testing.T) {
	// Student's sleep data (1908), difference of the two drugs: t = -4.0621, p = 0.002833
	// with 9 degrees of freedom, as every textbook prints it.
	a := []float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}
	b := []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	got, p, err := PairedT(a, b)
	if err != nil || math.Abs(got+4.0621) > 1e-4 || math.Abs(p-.002833) > 1e-6 {
		t.Errorf("t %v, p %v (%v)", got, p, err)
	}
	if got, p, err := PairedT(a, a); err != nil || got != 0 || p != 1 {
		t.Errorf("without any difference: t %v, p %v (%v)", got, p, err)
	}
	if got, p, err := PairedT([]float64{1, 2}, []float64{2, 3}); err != nil || !math.IsInf(got, -1) || p != 0 {
		t.Errorf("the same difference in every trial: t %v, p %v (%v)", got, p, err)
	}
	for _, other := range [][]float64{b[1:], nil} {
		if _, _, err := PairedT(a, other); err == nil {
			t.Error("figures of different trials were compared")
		}
	}
	if _, _, err := PairedT(a[:1], b[:1]); err == nil {
		t.Error("one trial was enough")
	}
}

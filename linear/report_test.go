package linear

import "testing"

// The figures are those of Student's sleep data (1908), which differ
// significantly (p = 0.0028).
func TestSmallerErrorsWinOnlyIfTheDifferenceIsSignificant(t *testing.T) {
	a := []float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}
	b := []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	for _, c := range []struct {
		a, b []float64
		want Verdict
	}{{a, b, Win}, {b, a, Loss}, {a, a, Tie}, {a[:3], b[:3], Tie}, {[]float64{1, 2}, []float64{2, 3}, Win}} {
		if v, err := Judge(c.a, c.b, .05); err != nil || v != c.want {
			t.Errorf("%v against %v is a %v, want %v (%v)", c.a, c.b, v, c.want, err)
		}
	}
	if _, err := Judge(a, b[1:], .05); err == nil {
		t.Error("figures of different trials were compared")
	}
}

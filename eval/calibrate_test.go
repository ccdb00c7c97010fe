package eval

import (
	"math"
	"strings"
	"testing"
)

// normalPairs draws distances N(0,1) of same and N(gap,1) of different pairs.
func normalPairs(t *testing.T, n int, gap float64) *ROC {
	rng := seeded(61)
	var d []float64
	var same []bool
	for i := range 2 * n {
		same = append(same, i < n)
		v := rng.NormFloat64() + 10
		if i >= n {
			v += gap
		}
		d = append(d, v)
	}
	r, err := NewROC(d, same)
	fatal(t, err)
	return r
}

// With equal normal distributions at 10 and 10+g the best threshold is
// 10 + g/2 - ln(cost ratio)/g.
func TestThresholdsOfNormalDistances(t *testing.T) {
	const gap = 3.0
	r := normalPairs(t, 20000, gap)
	cost := func(c Costs) float64 {
		d, _, err := r.ByCost(c)
		fatal(t, err)
		return d.Threshold
	}
	f1, err := r.ByFBeta(1)
	fatal(t, err)
	far, err := r.ByFAR(0.01)
	fatal(t, err)
	for _, c := range []struct {
		name            string
		got, want, free float64
	}{
		{"EER", r.ByEER().Threshold, 11.5, 0.05},
		{"accuracy", r.ByAccuracy().Threshold, 11.5, 0.2},
		{"FAR 1%", far.Threshold, 10 + gap - 2.3263, 0.05},
		{"equal costs", cost(Costs{0.5, 1, 1}), 11.5, 0.2},
		{"costs 10:1", cost(Costs{0.5, 10, 1}), 11.5 - math.Log(10)/gap, 0.2},
		{"prior 1 in 100", cost(Costs{0.01, 1, 1}), 11.5 - math.Log(99)/gap, 0.3},
		{"F1", f1.Threshold, 11.56, 0.2},
	} {
		if math.Abs(c.got-c.want) > c.free {
			t.Errorf("%s: threshold %v, want %v", c.name, c.got, c.want)
		}
	}
	eer := r.ByEER()
	if want := 0.5 * math.Erfc(gap/2/math.Sqrt2); math.Abs(eer.FAR-want) > 0.004 || math.Abs(eer.FRR-want) > 0.004 {
		t.Errorf("at the EER: FAR %v, FRR %v, want %v", eer.FAR, eer.FRR, want)
	}
	deviate := func(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
	for i := range r.FAR { // deviates add up to -gap
		a, b := deviate(r.FAR[i]), deviate(1-r.TAR[i])
		if math.Abs(a) < 2 && math.Abs(b) < 2 && math.Abs(a+b+gap) > 0.1 {
			t.Fatalf("DET point (%v, %v) is off the line", a, b)
		}
	}
}

func TestDecisionAtAThreshold(t *testing.T) {
	r, err := NewROC([]float64{1, 2, 4, 2, 3, 5, 6}, []bool{true, true, true, false, false, false, false})
	fatal(t, err)
	d := r.At(3.5)
	want := Decision{Threshold: 3.5, FAR: 0.5, FRR: 1.0 / 3, Accuracy: 4.0 / 7, Precision: 0.5, Recall: 2.0 / 3}
	if math.Abs(d.FRR-want.FRR)+math.Abs(d.Accuracy-want.Accuracy)+math.Abs(d.Precision-want.Precision) > 1e-12 || d.FAR != want.FAR || d.Threshold != 3.5 {
		t.Errorf("got %+v, want %+v", d, want)
	}
	if d := r.At(0.5); d.FAR != 0 || d.FRR != 1 || d.Precision != 1 {
		t.Errorf("below all: %+v", d)
	}
	if d := r.At(99); d.FAR != 1 || d.FRR != 0 {
		t.Errorf("above all: %+v", d)
	}
}

func TestImpossibleCalibrationIsRefused(t *testing.T) {
	r := normalPairs(t, 50, 2)
	if _, err := r.ByFAR(1e-3); err == nil || !strings.Contains(err.Error(), "at least 1000 pairs") {
		t.Errorf("error %v", err)
	}
	if _, err := r.ByFAR(0); err == nil || !strings.Contains(err.Error(), "between 0 and 1") {
		t.Errorf("error %v", err)
	}
	if _, err := r.ByFBeta(0); err == nil || !strings.Contains(err.Error(), "positive") {
		t.Errorf("error %v", err)
	}
	if _, _, err := r.ByCost(Costs{Prior: 1, FalseAccept: 1, FalseReject: 1}); err == nil || !strings.Contains(err.Error(), "prior 1") {
		t.Errorf("error %v", err)
	}
}

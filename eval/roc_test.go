package eval

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestROCOfHandWorkedPairs(t *testing.T) {
	// same: 1, 2, 4; different: 2, 3, 5, 6.
	r, err := NewROC([]float64{1, 2, 4, 2, 3, 5, 6}, []bool{true, true, true, false, false, false, false})
	fatal(t, err)
	if want := []float64{-1, 1, 2, 3, 4, 5, 6}; !slices.Equal(r.Threshold, want) {
		t.Errorf("thresholds %v, want %v", r.Threshold, want)
	}
	// Same pair nearer: 1 of 4 each, 2 ties one (half) and beats 3, 4 beats 2.
	if want := (4 + 3.5 + 2) / 12; math.Abs(r.AUC()-want) > 1e-12 {
		t.Errorf("AUC %v, want %v", r.AUC(), want)
	}
	if a, at := r.BestAccuracy(); math.Abs(a-5.0/7) > 1e-12 || at != 1 {
		t.Errorf("best accuracy %v at %v, want 5/7 first at 1", a, at)
	}
	if tar, at := r.TARAt(0.25); tar != 2.0/3 || at != 2 {
		t.Errorf("TAR at FAR 1/4 is %v at %v", tar, at)
	}
	// FAR 1/4, FRR 1/3 at 2; FAR 1/2, FRR 1/3 at 3: crossing at FAR 1/3.
	if eer, at := r.EER(); math.Abs(eer-1.0/3) > 1e-12 || math.Abs(at-7.0/3) > 1e-12 {
		t.Errorf("EER %v at %v", eer, at)
	}
}

func TestNegativeDistancesHaveAFirstThresholdBelow(t *testing.T) {
	r, err := NewROC([]float64{-5, -2}, []bool{true, false})
	fatal(t, err)
	if r.Threshold[0] != -6 || r.AUC() != 1 {
		t.Errorf("first threshold %v, AUC %v", r.Threshold[0], r.AUC())
	}
}

func TestBadPairsAreNamed(t *testing.T) {
	for _, bad := range []struct {
		d    []float64
		same []bool
		want string
	}{
		{[]float64{1, 2}, []bool{true}, "2 distances and 1 verdicts"},
		{[]float64{1, math.NaN()}, []bool{true, false}, "pair 1 is NaN"},
		{[]float64{1, 2}, []bool{true, true}, "2 same and 0 different"},
		{nil, nil, "0 same and 0 different"},
	} {
		if _, err := NewROC(bad.d, bad.same); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("error %v, want %q", err, bad.want)
		}
	}
}

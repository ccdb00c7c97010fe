package eval

import (
	"math"
	"strings"
	"testing"
)

func TestRulesReadWhatTheyWrite(t *testing.T) {
	for _, text := range []string{"eer", "far=0.001", "accuracy", "fbeta=0.5", "cost:prior=0.01,accept=10,reject=1"} {
		r, err := ParseRule(text)
		if err != nil || r.String() != text {
			t.Errorf("%s is read as %q, %v", text, r.String(), err)
		}
	}
	if r, err := ParseRule("cost:prior=0.25"); err != nil || r.Costs != (Costs{0.25, 1, 1}) {
		t.Errorf("costs default to 1: %+v, %v", r.Costs, err)
	}
}

func TestBadRulesSayWhatIsWrong(t *testing.T) {
	for text, says := range map[string]string{
		"":                          "far=RATE",
		"err":                       "far=RATE",
		"eer=1":                     "far=RATE",
		"far":                       "far=RATE",
		"far=0":                     "between 0 and 1",
		"far=one":                   "between 0 and 1",
		"fbeta=-1":                  "a beta above 0",
		"fbeta=NaN":                 "a beta above 0",
		"eer:x=1":                   "far=RATE",
		"cost:prior=0.5,acept=2":    `"acept" is not one of`,
		"cost:accept=2":             "prior 0",
		"cost:prior=2":              "prior 2",
		"cost:prior=0.1,reject=-1":  "-1 (reject)",
		"cost:prior=0.1,accept=Inf": "+Inf (accept)",
		"cost:prior=p":              "prior is not a number",
	} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want %q", text, err, says)
		}
	}
}

// TestEveryRuleCalibrates checks the rules against a search over all thresholds
// of hand-made pairs: same 1, 2, 4; different 2, 3, 5, 6.
func TestEveryRuleCalibrates(t *testing.T) {
	r, err := NewROC([]float64{1, 2, 4, 2, 3, 5, 6}, []bool{true, true, true, false, false, false, false})
	fatal(t, err)
	for text, want := range map[string]float64{
		"eer":                     2.5, // FAR 1/4, FRR 1/3
		"far=0.3":                 2,   // FAR 1/4; at 3 it is 1/2
		"accuracy":                1.5, // 5 of 7
		"fbeta=2":                 4.5, // recall 1
		"cost:prior=0.5,accept=9": 1.5, // accepts no different pair
	} {
		rule, err := ParseRule(text)
		fatal(t, err)
		d, err := r.Calibrate(rule)
		if err != nil || d.Threshold != want {
			t.Errorf("%s: threshold %v, %v; want %v", text, d.Threshold, err, want)
		}
	}
	if _, err := r.Calibrate(Rule{Kind: TargetFAR, FAR: 0.01}); err == nil || !strings.Contains(err.Error(), "at least 100 pairs") {
		t.Errorf("a rate that 4 pairs cannot show: %v", err)
	}
}

func TestCurveKeepsItsEndsAndOnlyPointsOfTheROC(t *testing.T) {
	var d []float64
	var same []bool
	for i := range 5000 {
		x := float64(i%71)/71 + float64(i)/5000
		d, same = append(d, x), append(same, i%3 == 0 && x < 1.2)
	}
	r, err := NewROC(d, same)
	fatal(t, err)
	at := map[float64]int{}
	for i, v := range r.Threshold {
		at[v] = i
	}
	for _, n := range []int{2, 10, 100, 1 << 20} {
		points := r.Curve(n)
		if len(points) > n+2 && len(points) != len(r.FAR) {
			t.Errorf("%d points asked for, got %d", n, len(points))
		}
		if points[0] != (CurvePoint{-1, 0, 0}) || points[len(points)-1].FAR != 1 || points[len(points)-1].TAR != 1 {
			t.Errorf("%d points: from %v to %v", n, points[0], points[len(points)-1])
		}
		for i, p := range points {
			if j, ok := at[p.Threshold]; !ok || p.FAR != r.FAR[j] || p.TAR != r.TAR[j] {
				t.Errorf("%v is no point of the curve", p)
			}
			if i > 0 && p.Threshold <= points[i-1].Threshold {
				t.Errorf("thresholds do not ascend: %v after %v", p.Threshold, points[i-1].Threshold)
			}
		}
	}
	area, points := 0.0, r.Curve(400)
	for i := 1; i < len(points); i++ {
		area += (points[i].FAR - points[i-1].FAR) * (points[i].TAR + points[i-1].TAR) / 2
	}
	const drawn = 1e-3 // nobody sees less in a picture
	if math.Abs(area-r.AUC()) > drawn {
		t.Errorf("area under 400 points %v, under the whole curve %v", area, r.AUC())
	}
}

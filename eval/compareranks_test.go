package eval

import (
	"math"
	"strings"
	"testing"
)

// Two retrievals of four queries of three classes, by hand. Recall@1 differs by 100 in
// queries 0 and 3: class means 50, 0, 100; t = 50/(50/sqrt(3)) = sqrt(3) with 2 degrees
// of freedom, p = 1 - t/sqrt(2+t^2) = 0.22540.
func TestCompareRanks(t *testing.T) {
	labels := []int{7, 7, 8, 9}
	a := &Retrieval{FirstRank: []int{1, 1, 2, 1}, AveragePrecisionAtR: []float64{1, .5, .25, 1}, labels: labels}
	b := &Retrieval{FirstRank: []int{2, 1, 3, -1}, AveragePrecisionAtR: []float64{.5, .5, .5, 0}, labels: labels}
	d, err := CompareRecall(a, b, 1, BootstrapOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Mean != 50 || math.Abs(d.P-(1-math.Sqrt(3./5))) > 1e-12 || d.Low > 50 || d.High < 50 || d.Low < 0 || d.High > 100 {
		t.Errorf("%+v", d)
	}
	back, err := CompareRecall(b, a, 1, BootstrapOptions{})
	if err != nil || back.Mean != -50 || back.P != d.P || math.Abs(back.Low+d.High) > 20 {
		t.Errorf("the other way: %+v, %v", back, err)
	}
	d, err = CompareMAPAtR(a, b, BootstrapOptions{})
	if want := (.5 + 0 - .25) / 3; err != nil || math.Abs(d.Mean-want) > 1e-15 {
		t.Errorf("%+v, %v; want %v", d, err, want)
	}
	if d, err := CompareRecall(a, a, 1, BootstrapOptions{}); err != nil || d != (Difference{P: 1}) {
		t.Errorf("with itself: %+v, %v", d, err)
	}
	other := &Retrieval{FirstRank: a.FirstRank, labels: []int{7, 7, 8, 8}}
	if _, err := CompareRecall(a, other, 1, BootstrapOptions{}); err == nil || !strings.Contains(err.Error(), "query 3 has label 9 and 8") {
		t.Error(err)
	}
	if _, err := CompareMAPAtR(a, other, BootstrapOptions{}); err == nil {
		t.Error("MAP@R that was not computed")
	}
}

package eval

import (
	"math"
	"strings"
	"testing"
)

// hits builds a Retrieval of classes of n queries with the given number of
// first ranks of 1.
func hits(n int, right ...int) *Retrieval {
	r := &Retrieval{}
	for c, k := range right {
		for i := range n {
			rank := 2
			if i < k {
				rank = 1
			}
			r.FirstRank = append(r.FirstRank, rank)
			r.labels = append(r.labels, c)
		}
	}
	return r
}

func TestIntervalOfIndependentQueriesIsTheBinomialOne(t *testing.T) {
	right := make([]int, 400)
	for i := range right[:280] {
		right[i] = 1
	}
	r := hits(1, right...)
	got, err := r.RecallInterval(1, BootstrapOptions{Resamples: 4000})
	fatal(t, err)
	half := 1.96 * 100 * math.Sqrt(0.7*0.3/400)
	if math.Abs(got.Low-(70-half)) > 0.6 || math.Abs(got.High-(70+half)) > 0.6 {
		t.Errorf("interval %v, want about 70 +- %.2f", got, half)
	}
}

// Where a class is right or wrong as a whole, an interval over queries is too
// narrow by the root of the class size.
func TestResamplingClassesKeepsTheirDependence(t *testing.T) {
	right := make([]int, 100)
	for i := range right[:60] {
		right[i] = 16
	}
	r := hits(16, right...)
	classes, err := r.RecallInterval(1, BootstrapOptions{})
	fatal(t, err)
	queries, err := r.RecallInterval(1, BootstrapOptions{Queries: true})
	fatal(t, err)
	if ratio := (classes.High - classes.Low) / (queries.High - queries.Low); ratio < 3 || ratio > 5 {
		t.Errorf("class interval %v, query interval %v: ratio %.2f, want about 4", classes, queries, ratio)
	}
	again, err := r.RecallInterval(1, BootstrapOptions{})
	fatal(t, err)
	if again != classes {
		t.Errorf("one seed gives %v and %v", classes, again)
	}
}

func TestBadBootstrapIsRefused(t *testing.T) {
	r := hits(2, 1, 2)
	if _, err := r.RecallInterval(1, BootstrapOptions{Level: 95}); err == nil || !strings.Contains(err.Error(), "between 0 and 1") {
		t.Errorf("error %v", err)
	}
	if _, err := r.MAPAtRInterval(BootstrapOptions{}); err == nil || !strings.Contains(err.Error(), "FirstOnly") {
		t.Errorf("error %v", err)
	}
}

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

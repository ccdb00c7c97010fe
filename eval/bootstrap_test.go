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

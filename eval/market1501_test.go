package eval

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// TestGroupsAsMarket1501HasThem compares ranks and both average precisions with a
// program in plain Python that follows the definition of the code that goes with
// Market-1501 (Zheng et al. 2015): rows of the query's identity and camera are junk.
func TestGroupsAsMarket1501HasThem(t *testing.T) {
	text, err := os.ReadFile("testdata/market1501.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Gallery, Query [][]float32
		GalleryLabel   []int     `json:"gallery_label"`
		GalleryGroup   []int     `json:"gallery_group"`
		QueryLabel     []int     `json:"query_label"`
		QueryGroup     []int     `json:"query_group"`
		Trapezoid      []float64 `json:"trapezoid"`
		Average        []float64 `json:"average_precision"`
		First          []int     `json:"first_rank"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	rows := func(x [][]float32, labels []int) *Embeddings {
		e := &Embeddings{N: len(x), H: len(x[0]), Labels: labels}
		for _, r := range x {
			e.X = append(e.X, r...)
		}
		return e
	}
	queries, gallery := rows(want.Query, want.QueryLabel), rows(want.Gallery, want.GalleryLabel)
	euclidean := metric.Metric{Kind: metric.Euclidean}
	r, err := Retrieve(t.Context(), nil, queries, gallery, euclidean,
		RetrievalOptions{SearchOptions: SearchOptions{Groups: &Groups{want.QueryGroup, want.GalleryGroup}}})
	if err != nil {
		t.Fatal(err)
	}
	for q, first := range want.First {
		if r.FirstRank[q] != first || math.Abs(r.TrapezoidPrecision[q]-want.Trapezoid[q]) > 1e-12 || math.Abs(r.AveragePrecision[q]-want.Average[q]) > 1e-12 {
			t.Errorf("query %d: first rank %d, average precision %v, by trapezoids %v; want %d, %v, %v",
				q, r.FirstRank[q], r.AveragePrecision[q], r.TrapezoidPrecision[q], first, want.Average[q], want.Trapezoid[q])
		}
	}
	if _, err := Retrieve(t.Context(), nil, queries, gallery, euclidean, RetrievalOptions{SearchOptions: SearchOptions{Groups: &Groups{want.QueryGroup, want.QueryGroup}}}); err == nil {
		t.Error("groups of another number of rows")
	}

	// Leaving out oneself and one's group is leaving out one's group.
	groups := &Groups{want.GalleryGroup, want.GalleryGroup}
	with, err := Retrieve(t.Context(), nil, gallery, gallery, euclidean, RetrievalOptions{SearchOptions: SearchOptions{Groups: groups, Self: LeaveOneOut(gallery.N)}})
	if err != nil {
		t.Fatal(err)
	}
	without, err := Retrieve(t.Context(), nil, gallery, gallery, euclidean, RetrievalOptions{SearchOptions: SearchOptions{Groups: groups}})
	if err != nil {
		t.Fatal(err)
	}
	if with.Averages() != without.Averages() {
		t.Errorf("%+v, %+v", with.Averages(), without.Averages())
	}
}

package linear

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func line(x ...float64) *mat.Dense { return mat.NewDense(len(x), 1, x) }

func TestQuadrupletScoreSign(t *testing.T) { // metric-learn #220
	r := &Result{L: identity(1, 1), Metric: euclideanMetric}
	x := line(0, 1, 5, 9)
	for _, c := range []struct {
		q    Quadruplet
		want float64
	}{{Quadruplet{0, 1, 2, 3}, 1}, {Quadruplet{2, 3, 0, 1}, 0}, {Quadruplet{0, 1, 1, 0}, .5}} {
		if got, err := r.ScoreQuadruplets(x, []Quadruplet{c.q}); err != nil || got != c.want {
			t.Errorf("quadruplet %v scores %v (%v), want %v", c.q, got, err, c.want)
		}
	}
	if got, err := r.ScoreTriplets(x, []Triplet{{0, 1, 3}, {3, 0, 2}}); err != nil || got != .5 {
		t.Errorf("triplets score %v (%v), want 0.5", got, err)
	}
	if _, err := r.ScoreTriplets(x, nil); err == nil {
		t.Error("no triplet has a score")
	}
}

func TestPairScoreAndCalibration(t *testing.T) {
	r := &Result{L: identity(1, 1), Metric: euclideanMetric}
	x := line(0, 1, 5, 9)
	pairs := []Pair{{0, 1}, {2, 3}, {0, 3}, {1, 2}}
	auc, err := r.ScorePairs(x, pairs, []int{1, 1, -1, -1})
	if err != nil || auc != .875 { // distances 1, 4 against 9, 4
		t.Errorf("AUC %v (%v), want 0.875", auc, err)
	}
	roc, err := r.ROC(x, pairs, []int{1, -1, -1, -1})
	if err != nil {
		t.Fatal(err)
	}
	if d := roc.ByAccuracy(); d.Threshold < 1 || d.Threshold >= 4 || d.Accuracy != 1 {
		t.Errorf("calibrated to %+v, want a threshold from 1 to 4", d)
	}
}

func TestPairLabelsAreChecked(t *testing.T) { // metric-learn #197
	r := &Result{L: identity(1, 1), Metric: euclideanMetric}
	if _, err := r.ScorePairs(line(0, 1, 2), []Pair{{0, 1}, {1, 2}}, []int{1, 0}); err == nil || !strings.Contains(err.Error(), "pair 1 has label 0") {
		t.Errorf("label 0: %v", err)
	}
	if _, err := r.ScorePairs(line(0, 1), []Pair{{0, 2}}, []int{1}); err == nil || !strings.Contains(err.Error(), "pair 0") {
		t.Errorf("row out of range: %v", err)
	}
	if _, err := r.Transform(mat.NewDense(2, 3, nil)); err == nil || !strings.Contains(err.Error(), "3 columns") {
		t.Errorf("rows of another width: %v", err)
	}
	if _, err := r.Distance([]float64{1}, []float64{1, 2}); err == nil {
		t.Error("rows of different length have no distance")
	}
}

func TestDistanceFollowsM(t *testing.T) {
	p := blobs(2, 20, 3, 1)
	r := fit(t, GMML{}, p)
	a, b := p.X.RawRowView(0), p.X.RawRowView(5)
	diff := mat.NewVecDense(3, nil)
	for i := range a {
		diff.SetVec(i, a[i]-b[i])
	}
	d, err := r.Distance(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Sqrt(mat.Inner(diff, r.M(), diff)); math.Abs(d-want) > 1e-12*want {
		t.Errorf("distance %v, by M %v", d, want)
	}
}

func TestSampledConstraintsFitTheLabels(t *testing.T) {
	labels := []int{3, 3, 0, -1, 0, 9, -1, 3}
	s, d, err := SamplePairs(labels, 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s {
		if p[0] == p[1] || labels[p[0]] != labels[p[1]] || labels[p[0]] == -1 {
			t.Fatalf("similar pair %v", p)
		}
	}
	for _, p := range d {
		if labels[p[0]] == labels[p[1]] || labels[p[0]] == -1 || labels[p[1]] == -1 {
			t.Fatalf("dissimilar pair %v", p)
		}
	}
	tr, err := SampleTriplets(labels, 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tr {
		if p[0] == p[1] || labels[p[0]] != labels[p[1]] || labels[p[0]] == labels[p[2]] || labels[p[2]] == -1 {
			t.Fatalf("triplet %v", p)
		}
	}
	again, err := SampleTriplets(labels, 200, 1)
	if err != nil || !slices.Equal(tr, again) {
		t.Error("one seed gave two samples")
	}
	other, err := SampleTriplets(labels, 200, 2)
	if err != nil || slices.Equal(tr, other) {
		t.Error("two seeds gave one sample")
	}
	for _, bad := range [][]int{{0, 0, 0}, {0, 1, 2}, {-1, -1}} {
		if _, err := SampleTriplets(bad, 1, 1); err == nil {
			t.Errorf("labels %v gave a triplet", bad)
		}
	}
}

func TestSampledChunks(t *testing.T) {
	labels := []int{0, 0, 0, 1, 1, -1, 0, 2}
	chunks, err := SampleChunks(labels, 10, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	count := map[int]int{}
	class := map[int]int{}
	for i, c := range chunks {
		if c < 0 {
			continue
		}
		if y, ok := class[c]; ok && y != labels[i] || labels[i] == -1 {
			t.Errorf("chunk %d mixes classes", c)
		}
		class[c] = labels[i]
		count[c]++
	}
	if len(count) != 3 {
		t.Errorf("%d chunks, want 3", len(count))
	}
	for c, n := range count {
		if n != 2 {
			t.Errorf("chunk %d has %d rows", c, n)
		}
	}
	if _, err := SampleChunks(labels, 1, 5, 1); err == nil {
		t.Error("no class has 5 rows")
	}
}

func TestKNNTies(t *testing.T) {
	r := &Result{L: identity(1, 1), Metric: euclideanMetric}
	train := line(-1, 1, -2, 2)
	got, err := KNN{K: 2}.Predict(t.Context(), r, train, []int{4, 2, 0, 0}, line(0))
	if err != nil || got[0] != 2 { // votes 4 and 2: the smaller label
		t.Errorf("predicted %v (%v), want 2", got, err)
	}
	got, err = KNN{K: 1}.Predict(t.Context(), r, train, []int{4, 2, 0, 0}, line(0))
	if err != nil || got[0] != 4 { // equal distances: the lower row
		t.Errorf("predicted %v (%v), want 4", got, err)
	}
	got, err = KNN{K: 9}.Predict(t.Context(), r, train, []int{4, 2, 0, 0}, line(0))
	if err != nil || got[0] != 0 { // fewer rows than neighbors
		t.Errorf("predicted %v (%v), want 0", got, err)
	}
	if _, err := (KNN{}).Predict(t.Context(), r, train, []int{4, -1, 0, 0}, line(0)); err == nil || !strings.Contains(err.Error(), "row 1 has no label") {
		t.Errorf("unlabeled training row: %v", err)
	}
}

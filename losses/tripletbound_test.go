package losses

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The bound holds: over all triplets of a balanced batch the sum of D(a,p) - D(a,q)
// is at most N' times the sum of the rows' terms, N' = 3(C-1)(N/C-1)N/C.
func TestTripletBoundIsAbove(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for _, oneHot := range []bool{true, false} {
		const c, perClass, h = 4, 3, 5
		const n = c * perClass
		l := &TripletBound{OneHot: oneHot}
		centers, err := FixedClasses(l, c, h, 1)
		if err != nil {
			t.Fatal(err)
		}
		x := rowsOf{make([]float64, n*h), n, h}
		labels := make([]int, n)
		for i := range n {
			labels[i] = i % c
			for k := range h {
				x.row(i)[k] = centers[labels[i]*h+k] + 0.2*rng.NormFloat64()
			}
		}
		r, err := l.Eval(classes(euclidean, x, rowsOf{centers, c, h}, labels, 1), make([]float64, n*c))
		if err != nil {
			t.Fatal(err)
		}
		d := pairwise(euclidean, x, x)
		total := 0.0
		for a := range n {
			for p := range n {
				for q := range n {
					if a != p && labels[a] == labels[p] && labels[a] != labels[q] {
						total += d[a*n+p] - d[a*n+q]
					}
				}
			}
		}
		bound := 3.0 * (c - 1) * (perClass - 1) * perClass * n * r.Value
		if total > bound {
			t.Errorf("one-hot %v: sum over triplets %v above the bound %v", oneHot, total, bound)
		}
	}
}

// Distances .3 to the own centroid, .6 and .9 to the others: .3 - 1.5/6.
func TestTripletBoundOfOneRow(t *testing.T) {
	m := &Matrix{Rows: 1, Cols: 3, V: []float64{0.6, 0.3, 0.9}, RowLabels: []int{1}, ColLabels: []int{0, 1, 2}}
	r, err := (&TripletBound{}).Eval(m, make([]float64, 3))
	if err != nil || math.Abs(r.Value-0.05) > 1e-15 {
		t.Errorf("%+v, %v, want 0.05", r, err)
	}
}

// Centroids on the sphere are of length 1, the same for a seed, and farther
// apart than as many random points.
func TestCentroidsAreSpread(t *testing.T) {
	const c, h = 20, 6
	centers, err := FixedClasses(&TripletBound{}, c, h, 5)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := FixedClasses(&TripletBound{}, c, h, 5)
	if !slices.Equal(centers, again) {
		t.Error("the same seed gives other centroids")
	}
	nearest := func(x rowsOf) float64 {
		least := math.Inf(1)
		for i := range x.n {
			for j := range i {
				least = math.Min(least, euclidean.Value64(x.row(i), x.row(j)))
			}
		}
		return least
	}
	rng := rand.New(rand.NewPCG(1, 1))
	random := rowsOf{make([]float64, c*h), c, h}
	for k := range random.x {
		random.x[k] = rng.NormFloat64()
	}
	spread := rowsOf{centers, c, h}
	for i := range c {
		if math.Abs(length(spread.row(i))-1) > 1e-12 {
			t.Errorf("centroid %d has length %v", i, length(spread.row(i)))
		}
	}
	if a, b := nearest(spread), nearest(random.normalized()); a < b {
		t.Errorf("nearest centroids are %v apart, nearest random points %v", a, b)
	}
	if _, err := FixedClasses(&TripletBound{OneHot: true}, 5, 4, 1); err == nil {
		t.Error("five one-hot centroids do not fit into four dimensions")
	}
}

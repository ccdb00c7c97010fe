package eval

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestPrincipalComponentsOfFivePoints(t *testing.T) {
	e := &Embeddings{X: []float32{2, 0, 1, 1, 3, -1, 0, 1, 4, -2, 1, 0, 5, -1, 2}, N: 5, H: 3}
	// scikit-learn 1.2, PCA(2).fit_transform.
	want := []float64{0.94367272, -0.33716497, -1.75416676, -2.33583142, -0.21775905, 2.91706457, -3.21194586, 0.28302585, 4.24019896, -0.52709402}
	p, err := PCA(e, 2)
	fatal(t, err)
	for i, v := range want {
		if math.Abs(p.X[i]-v) > 1e-7 {
			t.Errorf("coordinate %d is %v, want %v", i, p.X[i], v)
		}
	}
	if math.Abs(p.Explained[0]-0.64108971) > 1e-7 || math.Abs(p.Explained[1]-0.28644814) > 1e-7 {
		t.Errorf("explained %v", p.Explained)
	}
}

func TestPrincipalComponentsOfFewRowsAreThoseOfTheGramMatrix(t *testing.T) {
	narrow := blobs(seeded(70), 4, 3, 5, 1) // 12 rows of 5
	wide := &Embeddings{N: narrow.N, H: 40}
	for i := range narrow.N {
		wide.X = append(append(wide.X, narrow.Row(i)...), make([]float32, 35)...)
	}
	a, err := PCA(narrow, 5)
	fatal(t, err)
	b, err := PCA(wide, 5)
	fatal(t, err)
	for i := range a.X {
		if math.Abs(a.X[i]-b.X[i]) > 1e-9 {
			t.Fatalf("coordinate %d is %v of 5 columns, %v of 40", i, a.X[i], b.X[i])
		}
	}
	// All components are a rotation: they keep every distance.
	for i := range a.N {
		for j := range i {
			sum := 0.0
			for k := range 5 {
				d := a.X[i*5+k] - a.X[j*5+k]
				sum += d * d
			}
			if want := squaredDistance(narrow.Row(i), narrow.Row(j)); math.Abs(sum-want) > 1e-9*want {
				t.Errorf("rows %d, %d: squared distance %v, want %v", i, j, sum, want)
			}
		}
	}
	same := &Embeddings{X: []float32{1, 2, 1, 2, 1, 2}, N: 3, H: 2}
	if p, err := PCA(same, 2); err != nil || slices.ContainsFunc(p.X, func(v float64) bool { return v != 0 }) {
		t.Errorf("equal rows: %v, %v", p, err)
	}
	if _, err := PCA(same, 3); err == nil || !strings.Contains(err.Error(), "want 1 to 2") {
		t.Errorf("3 components of 2: %v", err)
	}
}

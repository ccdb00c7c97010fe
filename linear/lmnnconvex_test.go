package linear

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/internal/golden"
)

// tableRows draws two thirds of the rows of a golden table, standardized.
func tableRows(t *testing.T, name string, seed uint64) *Problem {
	t.Helper()
	s := loadGoldenSet(t, &golden.Case{Path: "testdata/golden/linear/" + name, Params: golden.Params{"data": "data_" + name + ".json"}})
	var x mat.Dense
	x.Stack(s.train, s.test)
	labels := append(append([]int{}, s.trainLabels...), s.testLabs...)
	p := &Problem{}
	rows := newRand(seed, 77).Perm(len(labels))[:len(labels)*2/3]
	p.X = selectRows(&x, rows)
	for _, i := range rows {
		p.Labels = append(p.Labels, labels[i])
	}
	return p
}

// scaledColumns multiplies each column by a power of 10 between 1e-3 and 1e3.
func scaledColumns(p *Problem, seed uint64) *Problem {
	rng := newRand(seed, 78)
	q := *p
	q.X = mat.DenseCopyOf(p.X)
	n, d := p.X.Dims()
	for j := range d {
		factor := math.Pow(10, 6*rng.Float64()-3)
		for i := range n {
			q.X.Set(i, j, factor*q.X.At(i, j))
		}
	}
	return &q
}

func scaledRows(p *Problem, factor float64) *Problem {
	q := *p
	q.X = &mat.Dense{}
	q.X.Scale(factor, p.X)
	return &q
}

func TestConvexLMNNProvesItsMinimum(t *testing.T) {
	for _, name := range []string{"iris", "wine", "breast_cancer"} {
		t.Run(name, func(t *testing.T) {
			for _, seed := range []uint64{7} { // on wine, M loses rank on the way and must win it back
				p := tableRows(t, name, seed)
				a := fit(t, ConvexLMNN{Regularization: .4}, p)
				if !a.Converged || len(a.Notes) > 0 {
					t.Errorf("split %d: converged %v, notes %q", seed, a.Converged, a.Notes)
				}
				// The minimum does not depend on the unit of the rows, for M takes it up.
				for _, factor := range []float64{1e-3, 1e3} {
					b := fit(t, ConvexLMNN{Regularization: .4}, scaledRows(p, factor))
					if !b.Converged || math.Abs(b.ObjectiveEnd-a.ObjectiveEnd) > .003*a.ObjectiveEnd {
						t.Errorf("split %d times %v: objective %v, converged %v, want %v", seed, factor, b.ObjectiveEnd, b.Converged, a.ObjectiveEnd)
					}
				}
				if b := fit(t, ConvexLMNN{Regularization: .4}, scaledColumns(p, seed)); !b.Converged {
					t.Errorf("split %d, scaled columns: not converged: %q", seed, b.Notes)
				}
				// The non-convex descent may not end below what is proved.
				if c := fit(t, LMNN{Regularization: .4, MaxIterations: 400}, p); c.ObjectiveEnd < .998*a.ObjectiveEnd {
					t.Errorf("split %d: LMNN reaches %v, below the minimum of %v", seed, c.ObjectiveEnd, a.ObjectiveEnd)
				}
			}
		})
	}
}

// In one column M is a number, so that its objective can be looked at everywhere.
func TestConvexLMNNOnOneColumn(t *testing.T) {
	rng := newRand(5, 1)
	p := &Problem{X: mat.NewDense(40, 1, nil)}
	for i := range 40 {
		p.Labels = append(p.Labels, i%2)
		p.X.Set(i, 0, 1.2*float64(i%2)+rng.NormFloat64())
	}
	r := fit(t, ConvexLMNN{K: 2, Regularization: .3, Tolerance: 1e-5}, p)
	set, err := newActiveSet(context.Background(), nil, p.X, p.Labels, 2, .3)
	if err != nil {
		t.Fatal(err)
	}
	lowest := math.Inf(1)
	for k := range 4000 {
		l := mat.NewDense(1, 1, []float64{.005 * float64(k)})
		if err := set.renew(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		lowest = min(lowest, set.exact(l))
	}
	if !r.Converged || math.Abs(r.ObjectiveEnd-lowest) > 1e-4*lowest {
		t.Errorf("objective %v, converged %v; the lowest on a grid is %v", r.ObjectiveEnd, r.Converged, lowest)
	}
}

// A bound taken anywhere is below the objective anywhere.
func TestLMNNDualIsBelow(t *testing.T) {
	p := blobs(3, 15, 4, 8)
	for i := range p.Labels { // a column in which no class varies: M costs nothing there
		p.X.Set(i, 3, float64(p.Labels[i]))
	}
	ctx := context.Background()
	lowest := fit(t, ConvexLMNN{}, p).ObjectiveEnd
	set, err := newActiveSet(ctx, nil, p.X, p.Labels, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	dual, err := newLMNNDual(set)
	if err != nil {
		t.Fatal(err)
	}
	if dual.free == nil {
		t.Fatal("a column without cost was not found")
	}
	rng := newRand(3, 9)
	for k := range 50 {
		l := mat.NewDense(4, 4, nil)
		for i := range l.RawMatrix().Data {
			l.RawMatrix().Data[i] = rng.NormFloat64() * math.Pow(10, 2*rng.Float64()-1)
		}
		set.round = []float64{0, .01, .5}[k%3]
		if err := set.renew(ctx, l); err != nil {
			t.Fatal(err)
		}
		at, err := dual.bound(set, l)
		if err != nil {
			t.Fatal(err)
		}
		if !(at.value >= 0 && at.value <= lowest*(1+1e-9)) {
			t.Errorf("bound %v, a metric reaches %v", at.value, lowest)
		}
	}
}

func TestConvexLMNNSaysWhatIsProved(t *testing.T) {
	p := tableRows(t, "wine", 3)
	best := fit(t, ConvexLMNN{}, p)
	r := fit(t, ConvexLMNN{MaxIterations: 40}, p)
	if r.Converged || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "not converged after 40 steps") || !strings.Contains(r.Notes[0], "no less than") {
		t.Errorf("converged %v, notes %q", r.Converged, r.Notes)
	}
	if r.ObjectiveEnd < best.ObjectiveEnd*.998 || r.ObjectiveEnd > r.ObjectiveStart {
		t.Errorf("objective %v to %v, minimum %v", r.ObjectiveStart, r.ObjectiveEnd, best.ObjectiveEnd)
	}
}

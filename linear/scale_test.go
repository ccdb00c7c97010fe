package linear

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// diagonalWeights are the weights of a diagonal metric times the columns' factors
// squared, so that they compare where columns were scaled.
func diagonalWeights(r *Result, spread []float64) []float64 {
	w := make([]float64, len(spread))
	for k, s := range spread {
		w[k] = r.M().At(k, k) * s
	}
	return w
}

func TestDiagonalMMCFollowsTheScaleOfColumns(t *testing.T) {
	for _, name := range []string{"iris", "wine", "breast_cancer"} {
		for seed := range uint64(2) {
			p := tableRows(t, name, seed)
			similar, dissimilar, err := SamplePairs(p.Labels, 180, seed)
			if err != nil {
				t.Fatal(err)
			}
			p = &Problem{X: p.X, Similar: similar, Dissimilar: dissimilar}
			a := fit(t, DiagonalMMC{}, p)
			weights := diagonalWeights(a, columnSpread(p.X, similar))
			// At the minimum the weighted spread of similar pairs is C/2, and no weight can
			// gain: the objective's slope is 0 for each that is not 0, and not negative.
			if sum := floats.Sum(weights); math.Abs(sum-.5) > 1e-6 {
				t.Errorf("%s, split %d: spread %v, want 0.5", name, seed, sum)
			}
			for k, g := range diagonalSlopes(p, weights) {
				if g < -5e-5 || g > 5e-5 && weights[k] > 1e-6 {
					t.Errorf("%s, split %d: weight %d is %v and its slope %v", name, seed, k, weights[k], g)
				}
			}
			q := scaledColumns(p, seed)
			b := fit(t, DiagonalMMC{}, q)
			if !a.Converged || !b.Converged || math.Abs(a.ObjectiveEnd-b.ObjectiveEnd) > 1e-8 {
				t.Errorf("%s, split %d: objective %v (converged: %v), with scaled columns %v (%v)", name, seed, a.ObjectiveEnd, a.Converged, b.ObjectiveEnd, b.Converged)
			}
			if got := diagonalWeights(b, columnSpread(q.X, similar)); floats.Distance(got, weights, math.Inf(1)) > 1e-3*slices.Max(weights) {
				t.Errorf("%s, split %d: weights %v, with scaled columns %v", name, seed, weights, got)
			}
		}
	}
}

// diagonalSlopes are central differences of the objective, by its definition.
func diagonalSlopes(p *Problem, weights []float64) []float64 {
	own := columnSpread(p.X, p.Similar)
	objective := func(u []float64) float64 {
		sum := 0.0
		for _, pair := range p.Dissimilar {
			d := 0.0
			for k := range u {
				e := p.X.At(pair[0], k) - p.X.At(pair[1], k)
				d += u[k] / own[k] * e * e
			}
			sum += math.Sqrt(max(d, 0))
		}
		return floats.Sum(u) - math.Log(sum)
	}
	out := make([]float64, len(weights))
	for k := range out {
		step := 1e-7
		if weights[k] > 0 { // a pair may differ in this column alone
			step = min(step, weights[k]/100)
		}
		u := slices.Clone(weights)
		u[k] += step
		out[k] = objective(u)
		u[k] -= 2 * step
		if u[k] < 0 {
			u[k] += step
			out[k] = (out[k] - objective(u)) / step
		} else {
			out[k] = (out[k] - objective(u)) / (2 * step)
		}
	}
	return out
}

// MMC's objective grows with the rows' unit and nothing else: the problem is
// concave, and its solution maps along.
func TestMMCFollowsTheScaleOfColumns(t *testing.T) {
	p := tableRows(t, "wine", 1)
	a, b := fit(t, MMC{Pairs: 200}, p), fit(t, MMC{Pairs: 200}, scaledColumns(p, 4))
	if !a.Converged || !b.Converged || len(b.Notes) > 0 {
		t.Errorf("converged %v and %v, notes %q", a.Converged, b.Converged, b.Notes)
	}
	ratio := func(r *Result) float64 { return r.ObjectiveEnd / r.ObjectiveStart }
	if math.Abs(ratio(a)-ratio(b)) > 1e-4*ratio(a) {
		t.Errorf("the objective rises by %v, with scaled columns by %v", ratio(a), ratio(b))
	}
}

// SDML's conditions of the minimum: the gradient P - M^-1 is 0 on the diagonal,
// minus the penalty times the sign elsewhere, and no larger than it at zeros.
func TestSDMLMeetsItsConditionsAtEveryScale(t *testing.T) {
	for _, factor := range []float64{1e-3, 1, 1e3} {
		p := scaledRows(tableRows(t, "wine", 2), factor)
		for _, p := range []*Problem{p, scaledColumns(p, 3)} {
			m := SDML{Pairs: 200}
			r := fit(t, m, p)
			similar, dissimilar, err := pairsOf(p, 200, 0)
			if err != nil {
				t.Fatal(err)
			}
			diff := scatterOf(p.X, similar)
			subSym(diff, diff, scatterOf(p.X, dissimilar))
			prior, err := m.prior(diff, len(similar))
			if err != nil {
				t.Fatal(err)
			}
			e, err := eigenOf(r.M())
			if err != nil {
				t.Fatal(err)
			}
			inverse := e.apply(len(e.values), func(v float64) float64 { return 1 / v })
			for i := range len(e.values) {
				for j := range len(e.values) {
					unit := math.Sqrt(prior.At(i, i) * prior.At(j, j))
					penalty := 0.0
					if i != j {
						penalty = .01
					}
					if g := math.Abs(prior.At(i, j) - inverse.At(i, j)); g > penalty+1e-4*unit {
						t.Errorf("times %v: gradient %v at (%d, %d), the penalty is %v", factor, g, i, j, penalty)
					}
				}
			}
			if !r.Converged {
				t.Errorf("times %v: not converged", factor)
			}
		}
	}
}

func TestITMLSaysConvergedOnlyNearItsSolution(t *testing.T) {
	p := tableRows(t, "wine", 1)
	for _, factor := range []float64{1e-3, 1e3} {
		q := scaledRows(p, factor)
		few := fit(t, ITML{Gamma: 1, MaxIterations: 300}, q)
		r, exact := fit(t, ITML{Gamma: 1, MaxIterations: 20000}, q), fit(t, ITML{Gamma: 1, Tolerance: 1e-4, MaxIterations: 20000}, q)
		if few.Converged || !r.Converged {
			t.Errorf("times %v: converged %v after 300 sweeps, %v after %d", factor, few.Converged, r.Converged, r.Iterations)
		}
		if d := math.Abs(r.ObjectiveEnd - exact.ObjectiveEnd); d > .005*exact.ObjectiveEnd {
			t.Errorf("times %v: divergence %v, at the solution %v", factor, r.ObjectiveEnd, exact.ObjectiveEnd)
		}
	}
}

func TestNCALeavesAFlatStart(t *testing.T) {
	p := tableRows(t, "wine", 1)
	for _, factor := range []float64{1e-6, 1, 1e6} {
		r := fit(t, NCA{}, scaledRows(p, factor))
		if n := float64(len(p.Labels)); !r.Converged || r.ObjectiveEnd < .99*n {
			t.Errorf("times %v: objective %v of %v, converged %v after %d steps", factor, r.ObjectiveEnd, n, r.Converged, r.Iterations)
		}
	}
}

func TestLMNNKeepsColumnsOfEveryUnit(t *testing.T) {
	p := tableRows(t, "breast_cancer", 1)
	set, err := newActiveSet(context.Background(), nil, scaledColumns(p, 1).X, p.Labels, 3, .5)
	if err != nil {
		t.Fatal(err)
	}
	_, d := p.X.Dims()
	w, err := set.whiten(identity(d, d))
	if err != nil {
		t.Fatal(err)
	}
	if _, r := w.basis.Dims(); r != d {
		t.Errorf("%d of %d directions are left", r, d)
	}
}

// Rows whose last column is the sum of two others differ in no more directions.
func TestWhitening(t *testing.T) {
	p := scaledColumns(blobs(3, 20, 5, 2), 6)
	for i := range p.Labels {
		p.X.Set(i, 4, p.X.At(i, 0)+p.X.At(i, 1))
	}
	_, a := centeredScatter(p.X, allRows(60))
	w, err := whitening(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, r := w.Dims(); r != 4 {
		t.Fatalf("rank %d, want 4", r)
	}
	if !mat.EqualApprox(congruent(w, a), identity(4, 4), 1e-8) {
		t.Errorf("W^T A W = %v", mat.Formatted(congruent(w, a)))
	}
	null := mat.NewVecDense(5, []float64{1, 1, 0, 0, -1})
	var along mat.VecDense
	along.MulVec(w.T(), null)
	if mat.Norm(&along, 2) > 1e-9*mat.Norm(w, 2) {
		t.Errorf("W leaves the range of A: %v", along.RawVector().Data)
	}
	if w, err := whitening(mat.NewSymDense(3, nil)); w != nil || err != nil {
		t.Errorf("of zero: %v, %v", w, err)
	}
}

func TestBRMSaysThatALossDidNotFall(t *testing.T) {
	p := tableRows(t, "iris", 1)
	r := fit(t, BRMR{Stochastic: Stochastic{Steps: 100, Batch: 128}}, scaledRows(p, 1e3))
	if r.Converged || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the loss did not fall") {
		t.Errorf("converged %v, notes %q", r.Converged, r.Notes)
	}
}

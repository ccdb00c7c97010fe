package eval

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/metric"
)

var euclidean = metric.Metric{Kind: metric.Euclidean}

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

// divergence is what TSNE descends, by its definition.
func divergence(p *sparse, y []float64) float64 {
	n, z := len(y)/2, 0.0
	w := func(i, j int) float64 {
		dx, dy := y[2*i]-y[2*j], y[2*i+1]-y[2*j+1]
		return 1 / (1 + dx*dx + dy*dy)
	}
	for i := range n {
		for j := range n {
			if i != j {
				z += w(i, j)
			}
		}
	}
	kl := 0.0
	for i := range n {
		for k := p.from[i]; k < p.from[i+1]; k++ {
			kl += p.value[k] * math.Log(p.value[k]*z/w(i, int(p.index[k])))
		}
	}
	return kl
}

// newDescent is a descent amid its way.
func newDescent(t *testing.T, n int, theta float64) *descent {
	t.Helper()
	e := blobs(seeded(71), 3, n/3, 4, 0.5)
	near, err := Neighbors(t.Context(), reference.New(), e, e, euclidean, e.N-1, SearchOptions{Self: LeaveOneOut(e.N)})
	fatal(t, err)
	rng := seeded(72)
	d := &descent{p: affinities(near, euclidean, 5), opt: TSNEOptions{Theta: theta}, gradient: make([]float64, 2*n), z: make([]float64, n)}
	for range 2 * n {
		d.y = append(d.y, 3*rng.NormFloat64())
	}
	return d
}

func TestTSNEAffinitiesAreADistributionOfTheGivenPerplexity(t *testing.T) {
	d := newDescent(t, 30, -1)
	sum := 0.0
	for i := range 30 {
		for k := d.p.from[i]; k < d.p.from[i+1]; k++ {
			sum += d.p.value[k]
			j := int(d.p.index[k])
			back, ok := slices.BinarySearch(d.p.index[d.p.from[j]:d.p.from[j+1]], int32(i))
			if !ok || d.p.value[d.p.from[j]+back] != d.p.value[k] {
				t.Fatalf("p is not symmetric at %d, %d", i, j)
			}
		}
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("p sums to %v", sum)
	}
	p := make([]float64, 20)
	s := make([]float64, 20)
	for i := range s {
		s[i] = 100 + float64(i*i)
	}
	fitPerplexity(p, s, 7)
	entropy := 0.0
	for _, v := range p {
		entropy -= v * math.Log(v)
	}
	if math.Abs(math.Exp(entropy)-7) > 1e-4 {
		t.Errorf("perplexity %v, want 7", math.Exp(entropy))
	}
}

func TestTSNEGradientAgreesWithFiniteDifferences(t *testing.T) {
	d := newDescent(t, 30, -1)
	d.slope(1)
	const h = 1e-5
	for i := range d.y {
		y := slices.Clone(d.y)
		y[i] += h
		up := divergence(d.p, y)
		y[i] -= 2 * h
		if want := (up - divergence(d.p, y)) / (2 * h); math.Abs(d.gradient[i]-want) > 1e-8 {
			t.Errorf("gradient %d is %v, want %v", i, d.gradient[i], want)
		}
	}
}

func TestBarnesHutIsNearTheExactGradient(t *testing.T) {
	exact, quick := newDescent(t, 300, -1), newDescent(t, 300, 0.5)
	exact.slope(1)
	quick.slope(1)
	gap, size := 0.0, 0.0
	for i, g := range exact.gradient {
		gap += (g - quick.gradient[i]) * (g - quick.gradient[i])
		size += g * g
	}
	if share := math.Sqrt(gap / size); share > 0.02 {
		t.Errorf("the gradient is off by %.1f%%", 100*share)
	}
}

func TestTSNEKeepsClassesTogetherWhateverTheMetric(t *testing.T) {
	e := blobs(seeded(73), 5, 30, 12, 0.4)
	for _, m := range []metric.Metric{euclidean, {Kind: metric.Cosine}, {Kind: metric.Dot}, {Kind: metric.BRM, P: 2}} {
		x := e
		if m.Kind == metric.Dot {
			x = &Embeddings{X: unitRows(e.X, e.H), N: e.N, H: e.H, Labels: e.Labels}
		}
		p, err := TSNE(t.Context(), reference.New(), x, m, TSNEOptions{Iterations: 400})
		fatal(t, err)
		again, err := TSNE(t.Context(), reference.New(), x, m, TSNEOptions{Iterations: 400, Workers: 1})
		fatal(t, err)
		if !slices.Equal(p.X, again.X) {
			t.Errorf("%s: the map depends on the number of workers", m)
		}
		flat := &Embeddings{N: e.N, H: 2, Labels: e.Labels}
		for _, v := range p.X {
			flat.X = append(flat.X, float32(v))
		}
		r, err := Retrieve(t.Context(), reference.New(), flat, flat, euclidean, RetrievalOptions{SearchOptions: SearchOptions{Self: LeaveOneOut(e.N)}})
		fatal(t, err)
		if got := r.RecallAt(1); got < 97 {
			t.Errorf("%s: Recall@1 on the map %v", m, got)
		}
	}
}

func TestTSNEOfEqualAndFewRowsIsFinite(t *testing.T) {
	for name, e := range map[string]*Embeddings{
		"all equal": {X: make([]float32, 40), N: 20, H: 2},
		"four rows": {X: []float32{0, 0, 1, 0, 0, 1, 5, 5}, N: 4, H: 2},
		"in pairs":  {X: []float32{0, 0, 0, 0, 1, 1, 1, 1, 2, 0, 2, 0, 3, 3, 3, 3}, N: 8, H: 2},
	} {
		p, err := TSNE(t.Context(), reference.New(), e, euclidean, TSNEOptions{Iterations: 300})
		fatal(t, err)
		for _, v := range p.X {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: %v", name, p.X)
				break
			}
		}
	}
	e := &Embeddings{X: make([]float32, 6), N: 3, H: 2}
	if _, err := TSNE(t.Context(), reference.New(), e, euclidean, TSNEOptions{}); err == nil || !strings.Contains(err.Error(), "at least 4") {
		t.Errorf("three rows: %v", err)
	}
	e = blobs(seeded(74), 2, 5, 3, 1)
	if _, err := TSNE(t.Context(), reference.New(), e, euclidean, TSNEOptions{Perplexity: 5}); err == nil || !strings.Contains(err.Error(), "want 1 to 3") {
		t.Errorf("perplexity 5 of 10 rows: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := TSNE(ctx, reference.New(), e, euclidean, TSNEOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

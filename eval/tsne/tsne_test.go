package tsne

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/metric"
)

var euclidean = metric.Metric{Kind: metric.Euclidean}

// divergence is what Map descends, by its definition.
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
	near, err := eval.Neighbors(t.Context(), reference.New(), e, e, euclidean, e.N-1, eval.SearchOptions{Self: eval.LeaveOneOut(e.N)})
	fatal(t, err)
	rng := seeded(72)
	d := &descent{p: affinities(near, euclidean, 5), opt: Options{Theta: theta}, gradient: make([]float64, 2*n), z: make([]float64, n)}
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
			x = ofUnitLength(e)
		}
		p, err := Map(t.Context(), reference.New(), x, m, Options{Iterations: 400})
		fatal(t, err)
		again, err := Map(t.Context(), reference.New(), x, m, Options{Iterations: 400, Workers: 1})
		fatal(t, err)
		if !slices.Equal(p.X, again.X) {
			t.Errorf("%s: the map depends on the number of workers", m)
		}
		flat := &eval.Embeddings{N: e.N, H: 2, Labels: e.Labels}
		for _, v := range p.X {
			flat.X = append(flat.X, float32(v))
		}
		r, err := eval.Retrieve(t.Context(), reference.New(), flat, flat, euclidean, eval.RetrievalOptions{SearchOptions: eval.SearchOptions{Self: eval.LeaveOneOut(e.N)}})
		fatal(t, err)
		if got := r.RecallAt(1); got < 97 {
			t.Errorf("%s: Recall@1 on the map %v", m, got)
		}
	}
}

func TestTSNEOfEqualAndFewRowsIsFinite(t *testing.T) {
	for name, e := range map[string]*eval.Embeddings{
		"all equal": {X: make([]float32, 40), N: 20, H: 2},
		"four rows": {X: []float32{0, 0, 1, 0, 0, 1, 5, 5}, N: 4, H: 2},
		"in pairs":  {X: []float32{0, 0, 0, 0, 1, 1, 1, 1, 2, 0, 2, 0, 3, 3, 3, 3}, N: 8, H: 2},
	} {
		p, err := Map(t.Context(), reference.New(), e, euclidean, Options{Iterations: 300})
		fatal(t, err)
		for _, v := range p.X {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: %v", name, p.X)
				break
			}
		}
	}
	e := &eval.Embeddings{X: make([]float32, 6), N: 3, H: 2}
	if _, err := Map(t.Context(), reference.New(), e, euclidean, Options{}); err == nil || !strings.Contains(err.Error(), "at least 4") {
		t.Errorf("three rows: %v", err)
	}
	e = blobs(seeded(74), 2, 5, 3, 1)
	if _, err := Map(t.Context(), reference.New(), e, euclidean, Options{Perplexity: 5}); err == nil || !strings.Contains(err.Error(), "want 1 to 3") {
		t.Errorf("perplexity 5 of 10 rows: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Map(ctx, reference.New(), e, euclidean, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestMapWithoutAnEngineIsThatOfTheCPU(t *testing.T) {
	host, err := cpu.New(cpu.Options{})
	fatal(t, err)
	defer host.Close()
	e := blobs(seeded(75), 4, 10, 6, 0.5)
	m := metric.Metric{P: 2} // BRM
	got, err := Map(t.Context(), nil, e, m, Options{Iterations: 5})
	fatal(t, err)
	want, err := Map(t.Context(), host, e, m, Options{Iterations: 5})
	fatal(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("without an engine %+v, with one %+v", got, want)
	}
}

// blobs are classes of points around centers drawn at random.
func blobs(rng *rand.Rand, classes, each, h int, spread float64) *eval.Embeddings {
	e := &eval.Embeddings{N: classes * each, H: h}
	for c := range classes {
		center := make([]float64, h)
		for i := range center {
			center[i] = rng.NormFloat64()
		}
		for range each {
			for _, v := range center {
				e.X = append(e.X, float32(v+spread*rng.NormFloat64()))
			}
			e.Labels = append(e.Labels, c)
		}
	}
	return e
}

func ofUnitLength(e *eval.Embeddings) *eval.Embeddings {
	unit := &eval.Embeddings{N: e.N, H: e.H, Labels: e.Labels}
	for i := range e.N {
		square := 0.0
		for _, v := range e.Row(i) {
			square += float64(v) * float64(v)
		}
		for _, v := range e.Row(i) {
			unit.X = append(unit.X, float32(float64(v)/math.Sqrt(square)))
		}
	}
	return unit
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 42)) }

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

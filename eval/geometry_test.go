package eval

import (
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

func TestSpectrumInBlocksEqualsTheGramMatrix(t *testing.T) {
	e := blobs(seeded(31), 300, 9, 5, 1) // more rows than one block
	s, err := SpectralDecay(e)
	fatal(t, err)
	sum := 0.0
	for _, v := range s.SingularValues {
		sum += v * v
	}
	if want := dot(e.X, e.X); math.Abs(sum-want) > 1e-9*want || len(s.SingularValues) != 5 {
		t.Errorf("%d singular values with squares adding to %v, the matrix' add to %v", len(s.SingularValues), sum, want)
	}
	if s.Decay < 0 || s.EffectiveRank < 1 || s.EffectiveRank > 5 {
		t.Errorf("decay %v, effective rank %v", s.Decay, s.EffectiveRank)
	}
}

func TestCollapsedSpectrum(t *testing.T) {
	e := &Embeddings{N: 6, H: 3, X: make([]float32, 18), Labels: []int{0, 0, 1, 1, 2, 2}}
	s, err := SpectralDecay(e)
	fatal(t, err)
	if !math.IsInf(s.Decay, 1) || s.EffectiveRank != 0 {
		t.Errorf("all zero: decay %v, rank %v", s.Decay, s.EffectiveRank)
	}
	g, err := Pi(e)
	fatal(t, err)
	if g.Intra != 1 || g.Inter != 1 {
		t.Errorf("all zero: pi %+v, want cosine 0 everywhere", g)
	}
}

func TestPiEqualsItsDefinition(t *testing.T) {
	e := blobs(seeded(32), 5, 4, 6, 0.5)
	e.Labels[0] = 77 // a class of one row has no pairs
	g, err := Pi(e)
	fatal(t, err)
	class, distinct := Compact(e.Labels)
	intra, classes := 0.0, 0.0
	for _, rows := range members(class, len(distinct)) {
		sum, pairs := 0.0, 0.0
		for _, i := range rows {
			for _, j := range rows {
				if i != j {
					d, err := Distance(metric.Metric{Kind: metric.Cosine}, e.Row(int(i)), e.Row(int(j)))
					fatal(t, err)
					sum, pairs = sum+d, pairs+1
				}
			}
		}
		if pairs > 0 {
			intra, classes = intra+sum/pairs, classes+1
		}
	}
	if want := intra / classes; math.Abs(g.Intra-want) > 1e-12 {
		t.Errorf("pi_intra %v, want %v", g.Intra, want)
	}
}

func TestCovarianceOfKnownCoordinates(t *testing.T) {
	// x, 2x and an alternating sign that does not go with x.
	e := &Embeddings{X: []float32{1, 2, 1, 2, 4, -1, 3, 6, -1, 4, 8, 1}, N: 4, H: 3}
	cov, err := Covariance(e)
	fatal(t, err)
	// var x = 5/3; cov(x, 2x) = 10/3; var 2x = 20/3; sign: var 4/3, cov 0.
	for _, w := range []struct {
		i, j int
		want float64
	}{{0, 0, 5.0 / 3}, {0, 1, 10.0 / 3}, {1, 1, 20.0 / 3}, {2, 2, 4.0 / 3}, {0, 2, 0}, {1, 2, 0}} {
		if got := cov.At(w.i, w.j); math.Abs(got-w.want) > 1e-12 {
			t.Errorf("cov[%d][%d] = %v, want %v", w.i, w.j, got, w.want)
		}
	}
	if got, want := Decorrelation(cov), (10.0/9)/(29.0/9); math.Abs(got-want) > 1e-12 {
		t.Errorf("decorrelation %v, want %v", got, want)
	}
	if _, err := Covariance(&Embeddings{X: []float32{1}, N: 1, H: 1}); err == nil || !strings.Contains(err.Error(), "at least 2") {
		t.Errorf("one row: error %v", err)
	}
}

func TestAllPairsWhereTheyAreFew(t *testing.T) {
	e := blobs(seeded(33), 4, 5, 3, 1)
	m := metric.Metric{P: 2}
	p, err := SamplePairs(e, m, PairOptions{})
	fatal(t, err)
	if !p.AllIntra || !p.AllInter || len(p.Intra) != 4*10 || len(p.Inter) != 6*25 {
		t.Errorf("%d and %d pairs", len(p.Intra), len(p.Inter))
	}
	h, err := p.Histogram(7)
	fatal(t, err)
	intra, inter := 0, 0
	for i := range 7 {
		intra, inter = intra+h.Intra[i], inter+h.Inter[i]
	}
	if intra != len(p.Intra) || inter != len(p.Inter) || h.Edges[0] != 0 || len(h.Edges) != 8 {
		t.Errorf("histogram of %d and %d, edges %v", intra, inter, h.Edges)
	}
}

func TestSampledPairsHaveTheMeanOfAll(t *testing.T) {
	e := blobs(seeded(34), 12, 12, 4, 0.7)
	m := metric.Metric{Kind: metric.Euclidean}
	all, err := SamplePairs(e, m, PairOptions{})
	fatal(t, err)
	some, err := SamplePairs(e, m, PairOptions{Max: 700, Seed: 9})
	fatal(t, err)
	if some.AllIntra || some.AllInter || len(some.Intra) != 700 || len(some.Inter) != 700 {
		t.Fatalf("%d and %d pairs", len(some.Intra), len(some.Inter))
	}
	for _, k := range []struct{ all, some []float64 }{{all.Intra, some.Intra}, {all.Inter, some.Inter}} {
		a, s := NewSpread(k.all), NewSpread(k.some)
		if math.Abs(a.Mean-s.Mean) > 5*a.Std/math.Sqrt(700) {
			t.Errorf("mean %v of a sample, %v of all", s.Mean, a.Mean)
		}
	}
}

func TestMarginRangeOfSeparatedAndOverlappingDistances(t *testing.T) {
	p := &PairDistances{Intra: []float64{0.1, 0.1, 0.1}, Inter: []float64{0.6, 0.6, 1}}
	if g := p.MarginRange(); math.Abs(g.Margin-0.5) > 1e-12 || g.Range != 1 || math.Abs(g.Ratio-0.5) > 1e-12 {
		t.Errorf("separated: %+v", g)
	}
	if g := p.LossMarginRange(0.2); g.Ratio != 0.2 {
		t.Errorf("of a loss: %+v", g)
	}
	p.Intra, p.Inter = p.Inter, p.Intra
	if g := p.MarginRange(); g.Margin >= 0 {
		t.Errorf("reversed: %+v", g)
	}
}

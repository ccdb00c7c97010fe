package losses

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// What an engine can evaluate, by name and parameters; everything else is the host's.
func TestLossesThatAnEngineEvaluates(t *testing.T) {
	can := []string{"proxy-anchor", "proxy-nca", "normalized-softmax", "softmax", "cosface", "arcface"}
	for _, m := range testMetrics() {
		for _, name := range ofMatrices() {
			l := mustNew(t, name, Options{Metric: m, Classes: 5, Dim: 8})
			if e, _ := engineForm(l, m.Similarity()); (e != nil) != slices.Contains(can, name) {
				t.Errorf("%s on %v: on the engine is %v", name, m, e != nil)
			}
		}
		l := mustNew(t, "arcface", Options{Metric: m, Classes: 5, Dim: 8, Params: map[string]string{"centers": "2"}})
		if e, _ := engineForm(l, m.Similarity()); e != nil {
			t.Errorf("arcface with 2 centers on %v: an engine knows one row a class", m)
		}
	}
	// A loss that refuses a matrix continues doing so on the host.
	if e, _ := engineForm(&ArcFace{Scale: 1}, false); e != nil {
		t.Error("arcface on distances")
	}
}

// specOf catches what an engine is asked for.
type specOf struct {
	anchor  engine.ProxyAnchorSpec
	softmax engine.ClassSoftmaxSpec
}

func (s *specOf) ProxyAnchor(_, _, _, _ engine.Tensor, spec engine.ProxyAnchorSpec) error {
	s.anchor = spec
	return nil
}

func (s *specOf) ClassSoftmax(_, _, _, _ engine.Tensor, spec engine.ClassSoftmaxSpec) error {
	s.softmax = spec
	return nil
}

// The similarity that an engine receives is what the host's loss sees, as a
// similarity also where the loss is written in distances.
func TestAnEngineSeesTheSimilarityOfTheHost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, m := range testMetrics() {
		for _, name := range []string{"proxy-anchor", "proxy-nca", "softmax", "cosface"} {
			l := mustNew(t, name, Options{Metric: m, Classes: 5, Dim: 8})
			_, eval := engineForm(l, m.Similarity())
			var got specOf
			if err := eval(&got, nil, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			q := got.softmax.Similarity
			if name == "proxy-anchor" {
				q = got.anchor.Similarity
			}
			var view View
			if v, ok := l.(*viewed); ok {
				view = v.view
			}
			for range 10 {
				d := rng.Float64()
				want := view.Value(d)
				if !view.Similarity(m.Similarity()) {
					want = -want
				}
				if s := float64(q.A) + float64(q.B)*d + float64(q.C)*d*d; math.Abs(s-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("%s on %v: similarity of %v is %v, want %v", name, m, d, s, want)
				}
			}
		}
	}
}

// Margins of a loss that is written in distances change sign with them.
func TestMarginsOfDistancesAreThoseOfSimilarities(t *testing.T) {
	_, eval := engineForm(&ProxyAnchor{Alpha: 16, PosMargin: 1.8, NegMargin: 2.2}, false)
	var got specOf
	if err := eval(&got, nil, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if want := (engine.ProxyAnchorSpec{Similarity: engine.Quadratic{B: -1}, Alpha: 16, PosMargin: -1.8, NegMargin: -2.2}); got.anchor != want {
		t.Errorf("got %+v, want %+v", got.anchor, want)
	}
}

// Where the engine evaluates a loss its terms are counted from the labels alone.
func TestTermsAreCountedFromLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const classes = 6
	for _, name := range []string{"proxy-anchor", "proxy-nca", "normalized-softmax", "cosface", "arcface"} {
		for _, different := range []int{1, 2, classes} {
			labels := make([]int, 9)
			for i := range labels {
				labels[i] = rng.IntN(different)
			}
			l := mustNew(t, name, Options{Metric: brm, Classes: classes, Dim: 8})
			m := &Matrix{Rows: len(labels), Cols: classes, V: make([]float64, len(labels)*classes), RowLabels: labels, ColLabels: []int{0, 1, 2, 3, 4, 5}}
			for i := range m.V {
				m.V[i] = rng.Float64()
			}
			r, err := l.Eval(m, make([]float64, len(m.V)))
			if err != nil {
				t.Fatal(err)
			}
			e, _ := engineForm(l, false)
			if got := e.terms(labels, classes); got != r.Total || got != r.Active {
				t.Errorf("%s, labels %v: %d terms, the host counts %d, %d active", name, labels, got, r.Total, r.Active)
			}
		}
	}
}

// The zero value is the same on an engine as what New makes, and what Eval refuses an
// engine does not see.
func TestZeroValuesOnAnEngine(t *testing.T) {
	for _, name := range []string{"proxy-anchor", "normalized-softmax", "cosface", "arcface"} {
		l := mustNew(t, name, Options{Metric: metric.Metric{Kind: metric.Cosine}})
		var want, got specOf
		for to, l := range map[*specOf]Loss{&want: l, &got: zeroOf(inner(l))} {
			if _, eval := engineForm(l, true); eval == nil || eval(to, nil, nil, nil, nil) != nil {
				t.Fatalf("%s: not on the engine", name)
			}
		}
		if got != want {
			t.Errorf("%s: the zero value is %+v, want %+v", name, got, want)
		}
	}
	for _, l := range []Loss{&CosFace{Margin: 1}, &NormalizedSoftmax{Temperature: -1}, &ProxyAnchor{PosMargin: 1}, &ProxyAnchor{Alpha: math.NaN()}, &ArcFace{Centers: 1}} {
		if e, _ := engineForm(l, true); e != nil {
			t.Errorf("%T with %+v: on the engine", l, exported(l))
		}
	}
}

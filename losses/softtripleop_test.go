package losses_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// In a graph SoftTriple is its classification and the term on its centers, Eq. 9,
// and a heavy term draws centers of one class closer together than those of two.
func TestSoftTripleInAGraphDrawsCentersOfAClassTogether(t *testing.T) {
	for _, m := range []metric.Metric{{Kind: metric.Cosine}, {Kind: metric.BRM, P: 2}, {Kind: metric.Euclidean}, {Kind: metric.Poincare, Curvature: 0.1, Clip: 2.3}} {
		const k, tau = 3, 0.4
		x := drawRows(rand.New(rand.NewPCG(2, 6)), opRows)
		build := func(eng engine.Engine, tau string) (*opGraph, losses.Loss) {
			l, err := losses.New("soft-triple", losses.Options{Metric: m, Params: map[string]string{"centers": "3", "tau": tau}})
			if err != nil {
				t.Fatal(err)
			}
			return opOf(t, layers.NewParams(eng, 1), l, losses.OpOptions{Metric: m}), l
		}
		eng := newEngine(t)
		alone, _ := build(eng, "0")
		without, _ := alone.run(t, x, opLabels, nil)
		r, _ := build(eng, "0.4")
		with, _ := r.run(t, x, opLabels, nil)

		centers := r.ps.Get(losses.ClassRowsParam)
		apart := func(within bool) (sum float64) {
			w := read(t, eng, centers.Value)
			for a := range opClasses * k {
				for b := range a {
					if (a/k == b/k) == within {
						s := losses.AsSimilarity(m, 1).Value(m.Value(w[b*opDim:(b+1)*opDim], w[a*opDim:(a+1)*opDim]))
						sum += math.Sqrt(math.Max(0, 2+1e-5-2*s))
					}
				}
			}
			return sum
		}
		within, between := apart(true), apart(false)
		if want := without + tau/(opClasses*k*(k-1))*within; math.Abs(with-want) > 1e-5*want {
			t.Errorf("%v: %v with the term, %v without, want %v", m, with, without, want)
		}

		heavy, _ := build(eng, "1000")
		heavy.run(t, x, opLabels, nil)
		centers = heavy.ps.Get(losses.ClassRowsParam)
		for range 20 {
			heavy.run(t, x, opLabels, nil)
			if err := eng.SGD([]engine.Slot{{Param: centers.Value, Grad: heavy.g.ParamGrad(centers), Rate: 1e-3}}, engine.SGDSpec{}); err != nil {
				t.Fatal(err)
			}
		}
		if w, b := apart(true)/within, apart(false)/between; w > 0.9*b {
			t.Errorf("%v: centers of one class are %.2f times as far apart as before, those of two %.2f times", m, w, b)
		}
	}
}

// Stanford Online Products has 11,318 classes to train on. The square matrix of two
// centers of each would take 2 GB several times over.
func TestSoftTripleOnThousandsOfClassesTakesLittleMemory(t *testing.T) {
	const classes, dim, most = 11318, 512, 200e6
	m := metric.Metric{Kind: metric.Cosine}
	l, err := losses.New("soft-triple", losses.Options{Metric: m, Classes: classes, Dim: dim, Params: map[string]string{"centers": "2"}})
	if err != nil {
		t.Fatal(err)
	}
	eng := newEngine(t)
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	n, err := losses.Op(g, l, g.Input("embeddings", 32, dim), losses.OpOptions{Metric: m, Classes: classes, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	g.Backward(n.Loss, nil)
	if used := g.Usage(); used.Sum == 0 || float64(used.Arena) > most {
		t.Errorf("the graph takes %d bytes", used.Arena)
	}
}

package linear

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/metric"
)

func TestBRMGradientsByFiniteDifferences(t *testing.T) {
	p := blobs(3, 8, 4, 6)
	pairs := []Pair{{0, 3}, {0, 1}, {5, 8}, {5, 7}, {2, 11}, {2, 2}}
	metrics := []metric.Metric{euclideanMetric}
	for r := metric.Sigmoid; r <= metric.ISRU; r++ {
		metrics = append(metrics, metric.Metric{Restriction: r, Omega: .5, P: 1}, metric.Metric{Restriction: r, Omega: .5, P: 2})
	}
	for _, by := range metrics {
		for what, loss := range map[string]func(d, s []float64) float64{
			"contrastive": func(d, s []float64) float64 { return contrastive(d, s, .1, .9) },
			"relative":    func(d, s []float64) float64 { return relative(d, s, .4) },
		} {
			l := mat.NewDense(3, 4, []float64{.5, -.2, .1, .3, .2, .8, -.4, .1, .3, .1, .2, -.6})
			m, err := newMapped(nil, by, p.X, l, len(pairs))
			if err != nil {
				t.Fatal(err)
			}
			slope := make([]float64, len(pairs))
			value := func() float64 {
				d, err := m.distances(pairs)
				if err != nil {
					t.Fatal(err)
				}
				return loss(d, slope)
			}
			value()
			g, err := m.gradient(slope)
			if err != nil {
				t.Fatal(err)
			}
			gradientCheck(t, by.String()+" "+what, l, mat.NewDense(3, 4, append([]float64{}, g...)), value)
		}
	}
}

func TestBRMTrainsOnTheDistanceThatItMeasures(t *testing.T) {
	p := blobs(3, 8, 4, 7)
	for _, by := range []metric.Metric{{P: 2}, {P: 1, Restriction: metric.SoftSign}, euclideanMetric} {
		l := identity(4, 4)
		pairs := []Pair{{0, 1}, {3, 9}, {4, 4}}
		m, err := newMapped(nil, by, p.X, l, len(pairs))
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.distances(pairs)
		if err != nil {
			t.Fatal(err)
		}
		want, err := (&Result{L: l, Metric: by}).Distances(p.X, pairs)
		if err != nil {
			t.Fatal(err)
		}
		scale := 1.0
		if by.Kind == metric.Euclidean {
			scale = 2 // sqrt h: BRM Eq. 1 takes a mean over coordinates
		}
		for k := range got {
			if math.Abs(scale*got[k]-want[k]) > 1e-12 {
				t.Errorf("%v: pair %d is at %v in training, %v afterwards", by, k, got[k], want[k])
			}
		}
	}
}

func TestPenaltyKeepsLNearItsStart(t *testing.T) {
	p := blobs(3, 30, 5, 8)
	away := func(penalty float64) float64 {
		r := fit(t, BRMR{Stochastic: Stochastic{Penalty: penalty, Steps: 200, Batch: 128}}, p)
		r.L.Sub(r.L, identity(5, 5))
		return mat.Norm(r.L, 2)
	}
	if free, held := away(0), away(.1); held > free/3 {
		t.Errorf("L moved by %v without penalty, %v with one", free, held)
	}
}

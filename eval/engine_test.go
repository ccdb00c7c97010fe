package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// hostEngine computes pairwise metrics in plain float32, distances by
// |a|^2 + |b|^2 - 2a.b as a matrix product does, which is the least exact way
// that an engine may choose.
type hostEngine struct {
	// noise is a relative error added to every result.
	noise float64
}

type hostTensor struct {
	shape engine.Shape
	v     []float32
}

func (t *hostTensor) Shape() engine.Shape { return t.shape }
func (t *hostTensor) Size() int           { return len(t.v) }

func (hostEngine) New(shape ...int) (engine.Tensor, error) {
	return &hostTensor{shape, make([]float32, engine.Shape(shape).Size())}, nil
}

func (hostEngine) Write(dst engine.Tensor, src []float32) error {
	d := dst.(*hostTensor).v
	if len(d) != len(src) {
		return fmt.Errorf("write of %d numbers into %d", len(src), len(d))
	}
	copy(d, src)
	return nil
}

func (hostEngine) Read(dst []float32, src engine.Tensor) error {
	s := src.(*hostTensor).v
	if len(dst) != len(s) {
		return fmt.Errorf("read of %d numbers into %d", len(s), len(dst))
	}
	copy(dst, s)
	return nil
}

func (e hostEngine) Pairwise(d, a, b engine.Tensor, m metric.Metric) error {
	h := a.Shape()[1]
	if b.Shape()[1] != h || d.Shape()[0] != a.Shape()[0] || d.Shape()[1] != b.Shape()[0] {
		return fmt.Errorf("pairwise of %v and %v into %v", a.Shape(), b.Shape(), d.Shape())
	}
	da, db, dd := a.(*hostTensor).v, b.(*hostTensor).v, d.(*hostTensor).v
	k := b.Shape()[0]
	for i := range dd {
		x, y := da[i/k*h:][:h], db[i%k*h:][:h]
		dd[i] = pair32(m, x, y)
		if e.noise != 0 {
			dd[i] *= float32(1 + e.noise*float64(i%2))
		}
	}
	return nil
}

func pair32(m metric.Metric, x, y []float32) float32 {
	switch m.Kind {
	case metric.Dot:
		return dot32(x, y)
	case metric.SquaredEuclidean:
		return max(dot32(x, x)+dot32(y, y)-2*dot32(x, y), 0)
	}
	if m.Kind != metric.BRM {
		return float32(m.Value(x, y))
	}
	var sum float32
	for i, v := range x {
		t := math.Abs(float64(v - y[i]))
		r := float32(m.Restriction.Value(t, m.Omega))
		if m.P == 2 {
			r *= r
		}
		sum += r
	}
	return sum / float32(len(x))
}

func dot32(x, y []float32) float32 {
	var sum float32
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// testMetrics are one of each kind of formula.
func testMetrics() []metric.Metric {
	list := []metric.Metric{
		{P: 1}, {P: 2, Power: true}, {Restriction: metric.SoftSign, P: 2}, {Restriction: metric.ArcTan, P: 1},
		{Restriction: metric.TanH, P: 2}, {Restriction: metric.ISRU, Omega: 0.5, P: 2},
	}
	for _, info := range metric.Infos() {
		list = append(list, info.Metric)
	}
	return list
}

// blobs draws classes of rows around random centers.
func blobs(rng *rand.Rand, classes, each, h int, spread float64) *Embeddings {
	e := &Embeddings{N: classes * each, H: h}
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

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 42)) }

func scaled(e *Embeddings, s float64) *Embeddings {
	c := *e
	c.X = make([]float32, len(e.X))
	for i, x := range e.X {
		c.X[i] = float32(float64(x) * s)
	}
	return &c
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

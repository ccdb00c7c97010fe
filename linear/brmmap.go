package linear

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// mapped computes distances D of pairs of rows after a linear map, and the
// gradient with respect to the map. Pairs are handled as differences of rows, so
// that a batch costs two products of (pairs, d) with (d, h), on an engine where
// one is given and the map is large.
type mapped struct {
	metric metric.Metric
	x, l   *mat.Dense
	delta  *mat.Dense // (pairs, d) x_a - x_b
	image  *mat.Dense // (pairs, h) differences after the map; then the gradient there
	dist   []float64
	grad   *mat.Dense // (h, d)
	on     *onEngine
}

// smallMap is the size of L up to which the host is faster than an engine.
const smallMap = 48 * 48

func newMapped(eng Engine, metric metric.Metric, x, l *mat.Dense, pairs int) (*mapped, error) {
	h, d := l.Dims()
	m := &mapped{metric: metric, x: x, l: l, delta: mat.NewDense(pairs, d, nil), image: mat.NewDense(pairs, h, nil),
		dist: make([]float64, pairs), grad: mat.NewDense(h, d, nil)}
	if eng != nil && h*d > smallMap {
		var err error
		if m.on, err = newOnEngine(eng, pairs, h, d); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// distances returns D of the pairs, of which there are as many as announced. The
// result is valid until the next call.
func (m *mapped) distances(pairs []Pair) ([]float64, error) {
	inParts(len(pairs), func(_, lo, hi int) {
		for k := lo; k < hi; k++ {
			a, b := m.x.RawRowView(pairs[k][0]), m.x.RawRowView(pairs[k][1])
			for j, v := range a {
				m.delta.Set(k, j, v-b[j])
			}
		}
	})
	if m.on != nil {
		if err := m.on.forward(m.image, m.delta, m.l); err != nil {
			return nil, err
		}
	} else {
		m.image.Mul(m.delta, m.l.T())
	}
	inParts(len(pairs), func(_, lo, hi int) {
		for k := lo; k < hi; k++ {
			m.dist[k] = m.reduce(m.image.RawRowView(k))
		}
	})
	return m.dist, nil
}

// reduce turns a difference u into its distance, and leaves in u the derivative
// of the distance with respect to it: 0 where the distance is 0.
func (m *mapped) reduce(u []float64) float64 {
	h := float64(len(u))
	if m.metric.Kind != metric.BRM {
		sum := 0.0
		for _, v := range u {
			sum += v * v
		}
		d := math.Sqrt(sum / h)
		scale := 0.0
		if d > 0 {
			scale = 1 / (h * d)
		}
		for j := range u {
			u[j] *= scale
		}
		return d
	}
	sum := 0.0
	for j, v := range u {
		r, slope := m.restrict(math.Abs(v))
		if m.metric.P == 2 {
			sum += r * r
			slope *= r
		} else {
			sum += r
		}
		u[j] = math.Copysign(slope, v)
		if v == 0 {
			u[j] = 0
		}
	}
	d, scale := sum/h, 1/h
	if m.metric.P == 2 {
		d = math.Sqrt(d)
		scale = 0
		if d > 0 {
			scale = 1 / (h * d)
		}
	}
	for j := range u {
		u[j] *= scale
	}
	return d
}

// restrict returns R(t) and R'(t). The sigmoid needs one exponential for both.
func (m *mapped) restrict(t float64) (r, slope float64) {
	if m.metric.Restriction == metric.Sigmoid && t > 1e-3 {
		e := math.Exp(-t)
		r = (1 - e) / (1 + e)
		return r, (1 - r*r) / 2
	}
	return m.metric.Restriction.Value(t, m.metric.Omega), m.metric.Restriction.Slope(t, m.metric.Omega)
}

// gradient returns the gradient with respect to L of the pairs last measured,
// given that with respect to their distances.
func (m *mapped) gradient(slope []float64) ([]float64, error) {
	inParts(len(slope), func(_, lo, hi int) {
		for k := lo; k < hi; k++ {
			row := m.image.RawRowView(k)
			for j := range row {
				row[j] *= slope[k]
			}
		}
	})
	if m.on != nil {
		if err := m.on.backward(m.grad, m.image); err != nil {
			return nil, err
		}
	} else {
		m.grad.Mul(m.image.T(), m.delta)
	}
	return m.grad.RawMatrix().Data, nil
}

// median is the median distance of random pairs of rows.
func (m *mapped) median(seed uint64) (float64, error) {
	n, _ := m.x.Dims()
	rng := newRand(seed, 5)
	pairs := make([]Pair, len(m.dist))
	for k := range pairs {
		a := rng.IntN(n)
		pairs[k] = Pair{a, (a + 1 + rng.IntN(n-1)) % n}
	}
	d, err := m.distances(pairs)
	if err != nil {
		return 0, err
	}
	v := quantile(d, .5)
	if !(v > 0) {
		return 0, fmt.Errorf("at least half of all pairs of rows have distance 0")
	}
	return v, nil
}

// onEngine holds the tensors of a map on an engine.
type onEngine struct {
	eng                      Engine
	delta, image, slope, l   engine.Tensor
	grad                     engine.Tensor
	wide, narrow, map32, g32 []float32
}

func newOnEngine(eng Engine, pairs, h, d int) (*onEngine, error) {
	o := &onEngine{eng: eng, wide: make([]float32, pairs*d), narrow: make([]float32, pairs*h), map32: make([]float32, h*d), g32: make([]float32, h*d)}
	for _, t := range []struct {
		at         *engine.Tensor
		rows, cols int
	}{{&o.delta, pairs, d}, {&o.image, pairs, h}, {&o.slope, pairs, h}, {&o.l, h, d}, {&o.grad, h, d}} {
		v, err := eng.New(t.rows, t.cols)
		if err != nil {
			return nil, err
		}
		*t.at = v
	}
	return o, nil
}

func (o *onEngine) write(t engine.Tensor, buf []float32, x *mat.Dense) error {
	data := x.RawMatrix().Data
	inParts(len(data), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			buf[i] = float32(data[i])
		}
	})
	return o.eng.Write(t, buf)
}

func (o *onEngine) read(x *mat.Dense, buf []float32, t engine.Tensor) error {
	if err := o.eng.Read(buf, t); err != nil {
		return err
	}
	data := x.RawMatrix().Data
	inParts(len(data), func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			data[i] = float64(buf[i])
		}
	})
	return nil
}

func (o *onEngine) forward(image, delta, l *mat.Dense) error {
	if err := o.write(o.delta, o.wide, delta); err != nil {
		return err
	}
	if err := o.write(o.l, o.map32, l); err != nil {
		return err
	}
	if err := o.eng.MatMul(o.image, o.delta, o.l, false, true, false); err != nil {
		return err
	}
	return o.read(image, o.narrow, o.image)
}

func (o *onEngine) backward(grad, slope *mat.Dense) error {
	if err := o.write(o.slope, o.narrow, slope); err != nil {
		return err
	}
	if err := o.eng.MatMul(o.grad, o.slope, o.delta, true, false, false); err != nil {
		return err
	}
	return o.read(grad, o.g32, o.grad)
}

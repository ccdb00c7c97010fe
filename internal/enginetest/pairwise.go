package enginetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// metrics lists every family by its defaults, every form of BRM and more of the
// hyperbolic metrics.
func metrics() []metric.Metric {
	var list []metric.Metric
	for _, info := range metric.Infos() {
		if info.Metric.Kind != metric.BRM {
			list = append(list, info.Metric)
		}
	}
	list = append(list, metric.Metric{Kind: metric.Poincare, Curvature: 2}, metric.Metric{Kind: metric.Lorentz, Curvature: 0.3, Clip: 4})
	for r := metric.Sigmoid; r <= metric.ISRU; r++ {
		for _, omega := range []float64{1, 0.5, 30} {
			if r != metric.ISRU && omega != 1 {
				continue
			}
			m := metric.Metric{Kind: metric.BRM, Restriction: r, Omega: omega, P: 1}
			list = append(list, m.Canonical())
			m.P = 2
			list = append(list, m.Canonical())
			m.Power = true
			list = append(list, m.Canonical())
		}
	}
	return list
}

func pairShapes(rng *rand.Rand) [][3]int {
	list := [][3]int{{1, 1, 1}, {1, 1, 33}, {1, 19, 16}, {17, 1, 7}, {8, 8, 64}, {5, 9, 70}, {33, 18, 3}, {3, 4, 257}}
	for range 3 {
		list = append(list, [3]int{between(rng, 1, 20), between(rng, 1, 20), between(rng, 1, 70)})
	}
	return list
}

func (s *suite) pairwise(t *testing.T) {
	rng := s.rng(t)
	for _, m := range metrics() {
		for i, size := range pairShapes(rng) {
			scale := []float64{1, 0.05, 6}[i%3]
			s.comparePairs(t, m, scaled(rng, scale, size[0], size[2]), scaled(rng, scale, size[1], size[2]), normal(rng, size[0], size[1]))
		}
	}
}

// pairwiseScales goes as far as float32 reaches. Distances and gradients keep
// their relative precision wherever the results can be represented; where they
// cannot, they are 0, infinite or the largest finite number, but never NaN.
func (s *suite) pairwiseScales(t *testing.T) {
	rng := s.rng(t)
	for _, m := range metrics() {
		scales := []float64{1e-30, 1e-20, 1e-8, 1e-3, 30, 1e4, 1e10, 1e20, 1e30}
		if m.Kind == metric.Dot { // beyond, partial sums of both signs are infinite
			scales = []float64{1e-15, 1e-6, 1e6, 1e15}
		}
		for _, scale := range scales {
			for _, size := range [][3]int{{4, 3, 1}, {3, 5, 7}, {2, 3, 40}} {
				s.comparePairs(t, m, scaled(rng, scale, size[0], size[2]), scaled(rng, scale, size[1], size[2]), normal(rng, size[0], size[1]))
			}
		}
	}
}

// pairwiseEqual has equal rows, rows with equal coordinates, and zero rows.
func (s *suite) pairwiseEqual(t *testing.T) {
	rng := s.rng(t)
	for _, m := range metrics() {
		for _, h := range []int{1, 5, 16, 37} {
			a, b := normal(rng, 6, h), normal(rng, 5, h)
			copy(b.v[:h], a.v[:h])
			copy(b.v[h:2*h], a.v[:h])
			copy(b.v[2*h:2*h+h/2], a.v[h:])
			clear(a.v[3*h : 4*h])
			clear(b.v[4*h:])
			s.comparePairs(t, m, a, b, normal(rng, 6, 5))
			same := array{[]int{4, h}, append(append(append(append([]float32{}, a.v[:h]...), a.v[:h]...), a.v[:h]...), a.v[:h]...)}
			s.compareSelf(t, m, same, normal(rng, 4, 4))
		}
	}
}

func (s *suite) pairwiseSelf(t *testing.T) {
	rng := s.rng(t)
	for _, m := range metrics() {
		for _, size := range [][2]int{{1, 5}, {7, 16}, {20, 33}, {9, 1}} {
			s.compareSelf(t, m, normal(rng, size[0], size[1]), normal(rng, size[0], size[0]))
		}
	}
}

// comparePairs compares the matrix of two sets of rows and its gradients.
func (s *suite) comparePairs(t *testing.T, m metric.Metric, a, b, dd array) {
	t.Helper()
	what := fmt.Sprintf("%v of %v and %v, about %.2g", m, a.shape, b.shape, a.v[0])
	forward := call{what: what, out: []array{empty(dd.shape...)}, in: []array{a, b}, saturates: true, rel: s.opt.Sum, unit: valueSize(m, a, b),
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Pairwise(out[0], in[0], in[1], m) }}
	s.compare(t, forward)
	d, err := forward.on(s.ref)
	if err != nil {
		t.Error(err)
		return
	}
	sizeA, sizeB := gradientSizes(m, a, b, dd)
	backward := func(what string, unit float64, out ...array) {
		t.Helper()
		s.compare(t, call{what: what, out: out, in: []array{dd, {dd.shape, d[0]}, a, b}, rel: s.opt.Sum, unit: unit, floor: slopeFloor(m, dd),
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.PairwiseGrad(out[0], out[1], in[0], in[1], in[2], in[3], m)
			}})
	}
	backward(what+", gradient of a", sizeA, empty(a.shape...), array{})
	backward(what+", gradient of b", sizeB, array{}, empty(b.shape...))
	backward(what+", both gradients", max(sizeA, sizeB), empty(a.shape...), empty(b.shape...))
	backward(what+", no gradient", 0, array{}, array{})
}

// compareSelf compares the matrix of a set of rows with itself.
func (s *suite) compareSelf(t *testing.T, m metric.Metric, a, dd array) {
	t.Helper()
	what := fmt.Sprintf("%v of %v and itself", m, a.shape)
	forward := call{what: what, out: []array{empty(dd.shape...)}, in: []array{a}, rel: s.opt.Sum, unit: valueSize(m, a, a),
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Pairwise(out[0], in[0], in[0], m) }}
	s.compare(t, forward)
	if d, err := forward.on(s.eng); err == nil && !m.Similarity() {
		for i := range a.shape[0] {
			if v := d[0][i*(a.shape[0]+1)]; v != 0 {
				t.Errorf("%s: row %d is %v away from itself", what, i, v)
			}
		}
	}
	d, err := forward.on(s.ref)
	if err != nil {
		t.Error(err)
		return
	}
	sizeA, sizeB := gradientSizes(m, a, a, dd)
	backward := func(what string, out []array, f func(out []engine.Tensor) (da, db engine.Tensor)) {
		t.Helper()
		s.compare(t, call{what: what, out: out, in: []array{dd, {dd.shape, d[0]}, a}, rel: s.opt.Sum, unit: sizeA + sizeB,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				da, db := f(out)
				return e.PairwiseGrad(da, db, in[0], in[1], in[2], in[2], m)
			}})
	}
	one := []array{empty(a.shape...)}
	backward(what+", summed gradient", one, func(out []engine.Tensor) (da, db engine.Tensor) { return out[0], out[0] })
	backward(what+", gradient of a", one, func(out []engine.Tensor) (da, db engine.Tensor) { return out[0], nil })
	backward(what+", gradient of b", one, func(out []engine.Tensor) (da, db engine.Tensor) { return nil, out[0] })
	backward(what+", both gradients", []array{empty(a.shape...), empty(a.shape...)}, func(out []engine.Tensor) (da, db engine.Tensor) { return out[0], out[1] })
}

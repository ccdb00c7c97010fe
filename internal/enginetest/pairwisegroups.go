package enginetest

import (
	"fmt"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// pairwiseGroups has groups of one row and of more rows than a block of kernels,
// equal rows and rows of zeros within a group, and extreme scales.
func (s *suite) pairwiseGroups(t *testing.T) {
	rng := s.rng(t)
	for _, m := range metrics() {
		for i, size := range [][3]int{{1, 1, 1}, {7, 2, 33}, {3, 5, 70}, {40, 3, 16}, {2, 66, 9}, {5, 1, 20}, {2, 17, 65}} {
			groups, k, h := size[0], size[1], size[2]
			scales := []float64{[]float64{1, 0.05, 6}[i%3]}
			if i == 1 && m.Kind != metric.Dot {
				scales = append(scales, 1e-12, 1e12)
			}
			for _, scale := range scales {
				a := scaled(rng, scale, groups*k, h)
				if i%2 == 1 {
					copy(a.v[h:2*h], a.v[:h])
					clear(a.v[3*h : 4*h])
				}
				s.compareGroups(t, m, a, normal(rng, groups*k, k))
			}
		}
	}
}

// compareGroups compares the values within groups of rows, and their gradient.
func (s *suite) compareGroups(t *testing.T, m metric.Metric, a, dd array) {
	t.Helper()
	n, k, h := dd.shape[0], dd.shape[1], a.shape[1]
	what := fmt.Sprintf("%v of %v in groups of %d, about %.2g", m, a.shape, k, a.v[0])
	sizeV, sizeG, floor := 0.0, 0.0, 0.0
	for i := 0; i < n; i += k {
		rows, up := array{[]int{k, h}, a.v[i*h : (i+k)*h]}, array{[]int{k, k}, dd.v[i*k : (i+k)*k]}
		sizeA, sizeB := gradientSizes(m, rows, rows, up)
		sizeV, sizeG, floor = max(sizeV, valueSize(m, rows, rows)), max(sizeG, sizeA+sizeB), max(floor, 2*slopeFloor(m, up))
	}
	forward := call{what: what, out: []array{empty(n, k)}, in: []array{a}, rel: s.opt.Sum, unit: sizeV,
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.PairwiseGroups(out[0], in[0], m) }}
	s.compare(t, forward)
	d, err := forward.on(s.ref)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	s.compare(t, call{what: what + ", gradient", out: []array{empty(n, h)}, in: []array{dd, {dd.shape, d[0]}, a}, rel: s.opt.Sum, unit: sizeG, floor: floor,
		f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.PairwiseGroupsGrad(out[0], in[0], in[1], in[2], m)
		}})
}

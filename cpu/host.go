package cpu

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// View returns the numbers of a tensor of this engine themselves. Any later
// operation that writes the tensor changes them.
func (e *Engine) View(t engine.Tensor) ([]float32, error) {
	d, ok := t.(*Tensor)
	if !ok || d == nil {
		return nil, fmt.Errorf("cpu: view: %T is no tensor of this engine", t)
	}
	d.written()
	d.keepable = false
	return d.v, nil
}

// RowValues sets dst[i] = m(x, rows[index[i]]), where rows is row-major and as
// wide as x, as Pairwise would. It is for metrics that sum over coordinates: BRM,
// Manhattan and the Euclidean ones. Several goroutines may call it at once.
func (e *Engine) RowValues(dst, x, rows []float32, index []int32, m metric.Metric) error {
	switch h := len(x); {
	case m.Similarity() || m.Chords():
		return fmt.Errorf("cpu: row values: %v is no sum over coordinates", m)
	case h == 0 || len(rows)%h != 0 || len(dst) != len(index):
		return fmt.Errorf("cpu: row values: %d results for %d of %d numbers in rows of %d", len(dst), len(index), len(rows), h)
	}
	if err := m.Validate(); err != nil {
		return fmt.Errorf("cpu: row values: %w", err)
	}
	h := len(x)
	s := newPairSum(e.kernels, m, h)
	p := pairArgs{a: x, b: rows, n: 1, k: len(rows) / h, h: h, metric: m}
	var sum [1]float64
	var part [1]float32
	for i, j := range index {
		if j < 0 || int(j) >= p.k {
			return fmt.Errorf("cpu: row values: row %d of %d", j, p.k)
		}
		s.sum(sum[:], part[:], x, p.row(rows, int(j)))
		dst[i] = s.value(sum[0], &p, 0, int(j))
	}
	return nil
}

// CountBelow returns how many numbers of x are less than limit.
func (e *Engine) CountBelow(x []float32, limit float32) int { return e.kernels.countBelow(x, limit) }

// Between appends to dst the indices i with low <= x[i] <= high, ascending.
func (e *Engine) Between(dst []int32, x []float32, low, high float32) []int32 {
	var found [block]int32
	for from := 0; from < len(x); from += block {
		n := e.kernels.between(found[:], x[from:min(from+block, len(x))], low, high)
		for _, i := range found[:n] {
			dst = append(dst, int32(from)+i)
		}
	}
	return dst
}

// block is how many numbers Between asks its kernel for.
const block = 1024

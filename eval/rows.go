package eval

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// rowEngine is an Engine on the host that lets its numbers be seen, compares
// single rows, and has kernels to look keys up. Any Engine is enough for a search;
// one that is a rowEngine makes it faster.
type rowEngine interface {
	// View returns the numbers of a tensor themselves.
	View(t engine.Tensor) ([]float32, error)
	// RowValues sets dst[i] = m(x, rows[index[i]]), from several goroutines at once.
	// Of each coordinate sixteen or more partial sums of equal length have one share.
	RowValues(dst, x, rows []float32, index []int32, m metric.Metric) error
	finder
}

// finder looks keys up. NaN is never found.
type finder interface {
	// CountBelow returns how many keys are less than limit.
	CountBelow(keys []float32, limit float32) int
	// Between appends to dst the indices of keys in [low, high], ascending.
	Between(dst []int32, keys []float32, low, high float32) []int32
}

// plainFinder is for engines that have none.
type plainFinder struct{}

func (plainFinder) CountBelow(keys []float32, limit float32) int {
	n := 0
	for _, k := range keys {
		if k < limit {
			n++
		}
	}
	return n
}

func (plainFinder) Between(dst []int32, keys []float32, low, high float32) []int32 {
	for i, k := range keys {
		if low <= k && k <= high {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

var never = float32(math.NaN()) // a key that is never found

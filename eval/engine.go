package eval

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// Engine is what eval needs of an engine.Engine. In place of nil every function of
// this package computes on all processors of the CPU.
type Engine interface {
	New(shape ...int) (engine.Tensor, error)
	Write(dst engine.Tensor, src []float32) error
	Read(dst []float32, src engine.Tensor) error
	Pairwise(d, a, b engine.Tensor, m metric.Metric) error
}

// OrCPU returns eng and, in place of nil, an engine on all processors that lasts
// until done is called.
func OrCPU(eng Engine) (e Engine, done func(), err error) {
	if eng != nil {
		return eng, func() {}, nil
	}
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("eval: %w", err)
	}
	return host, func() { host.Close() }, nil
}

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

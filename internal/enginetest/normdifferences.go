package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/engine"
)

func normDerivatives(rng *rand.Rand) []derivative {
	var list []derivative
	for _, shape := range [][]int{{6, 3}, {2, 3, 2, 3}} {
		c := shape[1]
		list = append(list, batchNormDerivative(rng, shape))
		mean, variance := normal(rng, c), positive(rng, c)
		list = append(list, derivative{
			what: fmt.Sprintf("frozen norm %v", shape), in: []array{normal(rng, shape...), normal(rng, c), normal(rng, c)}, y: shape,
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error {
				stats, err := tensors(e, []array{mean, variance}, 0)
				if err != nil {
					return err
				}
				return e.FrozenNorm(y, in[0], in[1], in[2], stats[0], stats[1], 1e-2)
			},
			backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, in []engine.Tensor) error {
				stats, err := tensors(e, []array{mean, variance}, 0)
				if err != nil {
					return err
				}
				return e.FrozenNormGrad(grads[0], grads[1], grads[2], dy, in[0], in[1], stats[0], stats[1], 1e-2)
			},
		})
	}
	for _, spec := range []engine.RowNormSpec{
		{Scale: 2, Eps: 1e-12}, {Scale: 1, Eps: 1e-12, Smooth: true}, {Scale: 1, Eps: 0.7, Smooth: true}, {Scale: 3, Eps: 5},
	} {
		list = append(list, derivative{
			what: fmt.Sprintf("row norm %+v", spec), in: []array{normal(rng, 4, 6)}, y: []int{4, 6},
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.RowNorm(y, in[0], spec) },
			backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, in []engine.Tensor) error {
				return e.RowNormGrad(grads[0], dy, in[0], spec)
			},
		})
	}
	return list
}

// batchNormDerivative keeps the statistics of the last forward pass.
func batchNormDerivative(rng *rand.Rand, shape []int) derivative {
	c := shape[1]
	var stats []engine.Tensor // mean, invStd, running mean and variance
	return derivative{
		what: fmt.Sprintf("batch norm %v", shape), in: []array{normal(rng, shape...), normal(rng, c), normal(rng, c)}, y: shape,
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) (err error) {
			stats, err = tensors(e, slices.Repeat([]array{empty(c)}, 4), 0)
			if err != nil {
				return err
			}
			return e.BatchNorm(y, stats[0], stats[1], stats[2], stats[3], in[0], in[1], in[2], 1e-2, 0.1)
		},
		backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, in []engine.Tensor) error {
			return e.BatchNormGrad(grads[0], grads[1], grads[2], dy, in[0], in[1], stats[0], stats[1])
		},
	}
}

func pairDerivatives(rng *rand.Rand) []derivative {
	var list []derivative
	for _, m := range metrics() {
		list = append(list, derivative{
			what: fmt.Sprint(m), in: grid(rng, []int{3, 4}, []int{2, 4}), y: []int{3, 2},
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error {
				return e.Pairwise(y, in[0], in[1], m)
			},
			backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, in []engine.Tensor) error {
				return e.PairwiseGrad(grads[0], grads[1], dy, y, in[0], in[1], m)
			},
		}, derivative{
			what: fmt.Sprintf("%v, of a tensor with itself", m), in: grid(rng, []int{3, 5}), y: []int{3, 3},
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error {
				return e.Pairwise(y, in[0], in[0], m)
			},
			backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, in []engine.Tensor) error {
				return e.PairwiseGrad(grads[0], grads[0], dy, y, in[0], in[0], m)
			},
		}, derivative{
			what: fmt.Sprintf("%v, within groups", m), in: grid(rng, []int{6, 4}), y: []int{6, 3},
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error {
				return e.PairwiseGroups(y, in[0], m)
			},
			backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, in []engine.Tensor) error {
				return e.PairwiseGroupsGrad(grads[0], dy, y, in[0], m)
			},
		})
	}
	return list
}

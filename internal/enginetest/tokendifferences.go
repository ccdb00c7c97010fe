package enginetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/engine"
)

func rowDerivatives(rng *rand.Rand) []derivative {
	var list []derivative
	for _, shape := range [][]int{{4, 6}, {2, 3, 5}} {
		list = append(list, layerNormDerivative(rng, shape))
	}
	for _, form := range []engine.GELUForm{engine.GELUErf, engine.GELUTanh, engine.GELUQuick} {
		list = append(list, derivative{
			what: fmt.Sprintf("gelu, form %d", form), in: []array{normal(rng, 3, 7)}, y: []int{3, 7},
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.GELU(y, in[0], form) },
			backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, in []engine.Tensor) error {
				return e.GELUGrad(grads[0], dy, in[0], form)
			},
		})
	}
	return append(list, derivative{
		what: "softmax", in: []array{normal(rng, 3, 5)}, y: []int{3, 5},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.Softmax(y, in[0]) },
		backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, _ []engine.Tensor) error {
			return e.SoftmaxGrad(grads[0], dy, y)
		},
	}, derivative{
		what: "log softmax", in: []array{normal(rng, 3, 5)}, y: []int{3, 5},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.LogSoftmax(y, in[0]) },
		backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, _ []engine.Tensor) error {
			return e.LogSoftmaxGrad(grads[0], dy, y)
		},
	}, derivative{
		what: "linear of tokens", in: []array{normal(rng, 2, 3, 5), normal(rng, 4, 5), normal(rng, 4)}, y: []int{2, 3, 4},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error {
			return e.Linear(y, in[0], in[1], in[2])
		},
		backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, in []engine.Tensor) error {
			return e.LinearGrad(grads[0], grads[1], grads[2], dy, in[0], in[1])
		},
	})
}

// layerNormDerivative keeps the statistics of the last forward pass.
func layerNormDerivative(rng *rand.Rand, shape []int) derivative {
	d, rows := shape[len(shape)-1], shape[:len(shape)-1]
	var stats []engine.Tensor
	return derivative{
		what: fmt.Sprintf("layer norm %v", shape), in: []array{normal(rng, shape...), normal(rng, d), normal(rng, d)}, y: shape,
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) (err error) {
			stats, err = tensors(e, []array{empty(rows...), empty(rows...)}, 0)
			if err != nil {
				return err
			}
			return e.LayerNorm(y, stats[0], stats[1], in[0], in[1], in[2], 1e-2)
		},
		backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, in []engine.Tensor) error {
			return e.LayerNormGrad(grads[0], grads[1], grads[2], dy, in[0], in[1], stats[0], stats[1])
		},
	}
}

func tokenDerivatives(rng *rand.Rand) []derivative {
	var list []derivative
	for _, a := range []attentionShape{{1, 4, 1, 3}, {2, 3, 2, 2}} {
		var logSum engine.Tensor
		list = append(list, derivative{
			what: "attention, " + a.String(), in: []array{normal(rng, a.qkv()...)}, y: a.y(),
			forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) (err error) {
				if logSum, err = e.New(a.logSum()...); err != nil {
					return err
				}
				return e.Attention(y, logSum, in[0], a.spec())
			},
			backward: func(e engine.Engine, grads []engine.Tensor, dy, y engine.Tensor, in []engine.Tensor) error {
				return e.AttentionGrad(grads[0], dy, y, logSum, in[0], a.spec())
			},
		})
	}
	q := sequenceShape{2, 3, 2, 2, 1}
	return append(list, derivative{
		what: "tokens", in: []array{normal(rng, q.x()...), q.first(rng), normal(rng, q.pos()...)}, y: q.y(),
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error {
			return e.Tokens(y, in[0], in[1], in[2])
		},
		backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, _ []engine.Tensor) error {
			return e.TokensGrad(grads[0], grads[1], grads[2], dy)
		},
	}, derivative{
		what: "token", in: []array{normal(rng, 2, 3, 4)}, y: []int{2, 4},
		forward: func(e engine.Engine, y engine.Tensor, in []engine.Tensor) error { return e.Token(y, in[0], 1) },
		backward: func(e engine.Engine, grads []engine.Tensor, dy, _ engine.Tensor, _ []engine.Tensor) error {
			return e.TokenGrad(grads[0], dy, 1)
		},
	})
}

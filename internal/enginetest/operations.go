package enginetest

import (
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// operations lists one valid call of everything that an Engine computes.
func operations() []operation {
	var list []operation
	for _, part := range [][]operation{elementOperations(), productOperations(), normOperations(), poolOperations(), rowOperations(), tokenOperations(), mixOperations(), otherOperations()} {
		list = append(list, part...)
	}
	return list
}

func elementOperations() []operation {
	return []operation{
		{"zero", []operand{{name: "dst", shape: []int{2, 3}, free: 3, resized: true}}, func(e engine.Engine, t []engine.Tensor) error { return e.Zero(t[0]) }},
		{"finite", []operand{{name: "x", shape: []int{2, 3}, free: 3, resized: true}}, func(e engine.Engine, t []engine.Tensor) error { _, err := e.Finite(t[0]); return err }},
		{"write", []operand{{name: "dst", shape: []int{2, 3}, resized: true}}, func(e engine.Engine, t []engine.Tensor) error { return e.Write(t[0], make([]float32, 6)) }},
		{"read", []operand{{name: "src", shape: []int{2, 3}, resized: true}}, func(e engine.Engine, t []engine.Tensor) error { return e.Read(make([]float32, 6), t[0]) }},
		{"copy", []operand{{name: "dst", shape: []int{2, 3}, resized: true}, {name: "src", shape: []int{2, 3}, resized: true}},
			func(e engine.Engine, t []engine.Tensor) error { return e.Copy(t[0], t[1]) }},
		{"add", []operand{arg("dst", 2, 3), arg("a", 2, 3), arg("b", 2, 3)}, func(e engine.Engine, t []engine.Tensor) error { return e.Add(t[0], t[1], t[2]) }},
		{"scale", []operand{arg("dst", 2, 3), arg("a", 2, 3)}, func(e engine.Engine, t []engine.Tensor) error { return e.Scale(t[0], t[1], 2) }},
		{"relu", []operand{arg("y", 2, 3), arg("x", 2, 3)}, func(e engine.Engine, t []engine.Tensor) error { return e.ReLU(t[0], t[1]) }},
		{"relu", []operand{arg("dx", 2, 3), arg("dy", 2, 3), arg("y", 2, 3)}, func(e engine.Engine, t []engine.Tensor) error { return e.ReLUGrad(t[0], t[1], t[2]) }},
		{"relu6", []operand{arg("y", 2, 3), arg("x", 2, 3)}, func(e engine.Engine, t []engine.Tensor) error { return e.ReLU6(t[0], t[1]) }},
		{"relu6", []operand{arg("dx", 2, 3), arg("dy", 2, 3), arg("y", 2, 3)}, func(e engine.Engine, t []engine.Tensor) error { return e.ReLU6Grad(t[0], t[1], t[2]) }},
		{"concat", []operand{arg("y", 2, 5, 4, 3), arg("x0", 2, 3, 4, 3), arg("x1", 2, 2, 4, 3)}, func(e engine.Engine, t []engine.Tensor) error { return e.Concat(t[0], t[1], t[2]) }},
		{"slice", []operand{arg("x", 2, 3, 4), {name: "y", shape: []int{2, 5, 4}, free: 1 << 1}}, func(e engine.Engine, t []engine.Tensor) error { return e.Slice(t[0], t[1], 2) }},
		{"slice of a relu gradient", []operand{arg("dx", 2, 3, 4), {name: "dy", shape: []int{2, 5, 4}}, {name: "y", shape: []int{2, 5, 4}}},
			func(e engine.Engine, t []engine.Tensor) error { return e.SliceReLUGrad(t[0], t[1], t[2], 2) }},
		{"scale rows", []operand{arg("dst", 3, 4), arg("a", 3, 4), arg("s", 3)}, func(e engine.Engine, t []engine.Tensor) error { return e.ScaleRows(t[0], t[1], t[2]) }},
		{"row dots", []operand{arg("d", 3), arg("a", 3, 4), arg("b", 3, 4)}, func(e engine.Engine, t []engine.Tensor) error { return e.RowDots(t[0], t[1], t[2]) }},
	}
}

func productOperations() []operation {
	spec := engine.SquareConv(3, 1, 1)
	channels := spec
	channels.Depthwise = true
	list := []operation{
		{"linear", []operand{arg("y", 2, 4), arg("x", 2, 3), arg("w", 4, 3), opt("bias", 4)},
			func(e engine.Engine, t []engine.Tensor) error { return e.Linear(t[0], t[1], t[2], t[3]) }},
		{"linear", []operand{arg("y", 2, 5, 4), arg("x", 2, 5, 3), arg("w", 4, 3), opt("bias", 4)},
			func(e engine.Engine, t []engine.Tensor) error { return e.Linear(t[0], t[1], t[2], t[3]) }},
		{"linear", []operand{opt("dx", 2, 5, 3), opt("dw", 4, 3), opt("dbias", 4), arg("dy", 2, 5, 4), arg("x", 2, 5, 3), arg("w", 4, 3)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.LinearGrad(t[0], t[1], t[2], t[3], t[4], t[5])
			}},
		{"linear", []operand{opt("dx", 2, 3), opt("dw", 4, 3), opt("dbias", 4), arg("dy", 2, 4), arg("x", 2, 3), arg("w", 4, 3)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.LinearGrad(t[0], t[1], t[2], t[3], t[4], t[5])
			}},
		{"conv", []operand{arg("y", 2, 4, 5, 6), arg("x", 2, 3, 5, 6), arg("w", 4, 3, 3, 3), opt("scale", 4), opt("shift", 4), opt("residual", 2, 4, 5, 6)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.Conv(t[0], t[1], t[2], spec, engine.Epilogue{Scale: t[3], Shift: t[4], Residual: t[5]})
			}},
		{"conv", []operand{arg("y", 2, 3, 5, 6), arg("x", 2, 3, 5, 6), arg("w", 3, 1, 3, 3), opt("scale", 3), opt("shift", 3), opt("residual", 2, 3, 5, 6)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.Conv(t[0], t[1], t[2], channels, engine.Epilogue{Scale: t[3], Shift: t[4], Residual: t[5]})
			}},
		{"conv", []operand{arg("dx", 2, 3, 5, 6), arg("dy", 2, 3, 5, 6), arg("w", 3, 1, 3, 3)},
			func(e engine.Engine, t []engine.Tensor) error { return e.ConvGradInput(t[0], t[1], t[2], channels) }},
		{"conv", []operand{opt("dw", 3, 1, 3, 3), opt("dbias", 3), arg("dy", 2, 3, 5, 6), arg("x", 2, 3, 5, 6)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.ConvGradWeights(t[0], t[1], t[2], t[3], channels)
			}},
		{"conv", []operand{arg("dx", 2, 3, 5, 6), arg("dy", 2, 4, 5, 6), arg("w", 4, 3, 3, 3)},
			func(e engine.Engine, t []engine.Tensor) error { return e.ConvGradInput(t[0], t[1], t[2], spec) }},
		{"conv", []operand{opt("dw", 4, 3, 3, 3), opt("dbias", 4), arg("dy", 2, 4, 5, 6), arg("x", 2, 3, 5, 6)},
			func(e engine.Engine, t []engine.Tensor) error { return e.ConvGradWeights(t[0], t[1], t[2], t[3], spec) }},
	}
	for mode := range 8 {
		transA, transB, accumulate := mode&1 != 0, mode&2 != 0, mode&4 != 0
		a, b := arg("a", 2, 3), arg("b", 3, 4)
		if transA {
			a = arg("a", 3, 2)
		}
		if transB {
			b = arg("b", 4, 3)
		}
		list = append(list, operation{"matmul", []operand{arg("c", 2, 4), a, b}, func(e engine.Engine, t []engine.Tensor) error {
			return e.MatMul(t[0], t[1], t[2], transA, transB, accumulate)
		}})
	}
	return list
}

func normOperations() []operation {
	list := []operation{
		{"row norm", []operand{arg("y", 2, 3), arg("x", 2, 3)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.RowNorm(t[0], t[1], engine.RowNormSpec{Scale: 1, Eps: 1e-12})
			}},
		{"row norm", []operand{arg("dx", 2, 3), arg("dy", 2, 3), arg("x", 2, 3)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.RowNormGrad(t[0], t[1], t[2], engine.RowNormSpec{Scale: 1, Eps: 1e-12})
			}},
	}
	list = append(list,
		operation{"fold norm", []operand{arg("scale", 3), arg("shift", 3), opt("bias", 3), arg("gamma", 3), arg("beta", 3), arg("mean", 3), arg("variance", 3)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.FoldNorm(t[0], t[1], t[2], t[3], t[4], t[5], t[6], 1e-5)
			}},
		operation{"fold norm", []operand{opt("dbias", 3), opt("dgamma", 3), opt("dbeta", 3), arg("dscale", 3), arg("dshift", 3), opt("bias", 3), arg("gamma", 3), arg("mean", 3), arg("variance", 3)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.FoldNormGrad(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], 1e-5)
			}},
	)
	for _, s := range [][]int{{4, 3}, {2, 3, 4, 5}} {
		list = append(list,
			operation{"batch norm", []operand{arg("y", s...), arg("mean", 3), arg("invStd", 3), arg("running mean", 3), arg("running variance", 3), arg("x", s...), arg("gamma", 3), arg("beta", 3)},
				func(e engine.Engine, t []engine.Tensor) error {
					return e.BatchNorm(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], 1e-5, 0.1)
				}},
			operation{"batch norm", []operand{opt("dx", s...), opt("dgamma", 3), opt("dbeta", 3), arg("dy", s...), arg("x", s...), arg("gamma", 3), arg("mean", 3), arg("invStd", 3)},
				func(e engine.Engine, t []engine.Tensor) error {
					return e.BatchNormGrad(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7])
				}},
			operation{"frozen norm", []operand{arg("y", s...), arg("x", s...), arg("gamma", 3), arg("beta", 3), arg("mean", 3), arg("variance", 3)},
				func(e engine.Engine, t []engine.Tensor) error {
					return e.FrozenNorm(t[0], t[1], t[2], t[3], t[4], t[5], 1e-5)
				}},
			operation{"frozen norm", []operand{opt("dx", s...), opt("dgamma", 3), opt("dbeta", 3), arg("dy", s...), arg("x", s...), arg("gamma", 3), arg("mean", 3), arg("variance", 3)},
				func(e engine.Engine, t []engine.Tensor) error {
					return e.FrozenNormGrad(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], 1e-5)
				}},
		)
	}
	return list
}

func poolOperations() []operation {
	spec := engine.SquarePool(3, 1, 1, false)
	y, x := arg("y", 2, 3, 4, 5), arg("x", 2, 3, 4, 5)
	dy, dx := arg("dy", 2, 3, 4, 5), arg("dx", 2, 3, 4, 5)
	const images = 1<<2 | 1<<3 // height and width
	return []operation{
		{"max pool", []operand{y, x}, func(e engine.Engine, t []engine.Tensor) error { return e.MaxPool(t[0], t[1], spec) }},
		{"max pool", []operand{dx, dy, x, y}, func(e engine.Engine, t []engine.Tensor) error { return e.MaxPoolGrad(t[0], t[1], t[2], t[3], spec) }},
		{"average pool", []operand{y, x}, func(e engine.Engine, t []engine.Tensor) error { return e.AvgPool(t[0], t[1], spec) }},
		{"average pool", []operand{dx, dy}, func(e engine.Engine, t []engine.Tensor) error { return e.AvgPoolGrad(t[0], t[1], spec) }},
		{"global average", []operand{arg("y", 2, 3), {name: "x", shape: []int{2, 3, 4, 5}, free: images}},
			func(e engine.Engine, t []engine.Tensor) error { return e.GlobalAvg(t[0], t[1]) }},
		{"global average", []operand{{name: "dx", shape: []int{2, 3, 4, 5}, free: images}, arg("dy", 2, 3)},
			func(e engine.Engine, t []engine.Tensor) error { return e.GlobalAvgGrad(t[0], t[1]) }},
		{"global max", []operand{arg("y", 2, 3), {name: "x", shape: []int{2, 3, 4, 5}, free: images}},
			func(e engine.Engine, t []engine.Tensor) error { return e.GlobalMax(t[0], t[1]) }},
		{"global max", []operand{dx, arg("dy", 2, 3), x, arg("y", 2, 3)},
			func(e engine.Engine, t []engine.Tensor) error { return e.GlobalMaxGrad(t[0], t[1], t[2], t[3]) }},
	}
}

func otherOperations() []operation {
	m := metric.Metric{Kind: metric.BRM, P: 2}
	slot := func(t []engine.Tensor) []engine.Slot {
		s := engine.Slot{Param: t[0], Grad: t[1], Rate: 0.1}
		copy(s.State[:], t[2:])
		return []engine.Slot{s}
	}
	free := operand{name: "x", shape: []int{2, 3}, free: 3, resized: true}
	return []operation{
		{"pairwise", []operand{arg("d", 2, 3), arg("a", 2, 4), arg("b", 3, 4)}, func(e engine.Engine, t []engine.Tensor) error { return e.Pairwise(t[0], t[1], t[2], m) }},
		{"pairwise", []operand{opt("da", 2, 4), opt("db", 3, 4), arg("dd", 2, 3), arg("d", 2, 3), arg("a", 2, 4), arg("b", 3, 4)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.PairwiseGrad(t[0], t[1], t[2], t[3], t[4], t[5], m)
			}},
		{"pairwise groups", []operand{{name: "d", shape: []int{6, 3}}, {name: "a", shape: []int{6, 4}, free: 2}},
			func(e engine.Engine, t []engine.Tensor) error { return e.PairwiseGroups(t[0], t[1], m) }},
		{"pairwise groups", []operand{arg("da", 6, 4), arg("dd", 6, 3), arg("d", 6, 3), arg("a", 6, 4)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.PairwiseGroupsGrad(t[0], t[1], t[2], t[3], m)
			}},
		{"sum of squares", []operand{free}, func(e engine.Engine, t []engine.Tensor) error { _, err := e.SumSquares(t); return err }},
		{"clamp", []operand{free}, func(e engine.Engine, t []engine.Tensor) error { return e.Clamp(t, 1) }},
		{"sgd", []operand{arg("parameter", 2, 3), arg("gradient", 2, 3), arg("momentum", 2, 3)},
			func(e engine.Engine, t []engine.Tensor) error { return e.SGD(slot(t), engine.SGDSpec{Momentum: 0.9}) }},
		{"adamw", []operand{arg("parameter", 2, 3), arg("gradient", 2, 3), arg("first moment", 2, 3), arg("second moment", 2, 3)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.AdamW(slot(t), engine.AdamWSpec{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: 1})
			}},
		{"rmsprop", []operand{arg("parameter", 2, 3), arg("gradient", 2, 3), arg("mean square", 2, 3), arg("momentum", 2, 3)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.RMSprop(slot(t), engine.RMSpropSpec{Alpha: 0.99, Eps: 1e-8, Momentum: 0.9})
			}},
	}
}

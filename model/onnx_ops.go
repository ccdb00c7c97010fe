package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// step adds the nodes of one op and returns the name of its output, which the
// node added last has made.
func (w *onnxWriter) step(s layers.Step, in []string) string {
	name := s.Name
	switch s.Kind {
	case layers.KindAdd:
		return w.node(name, "Add", in, nil)
	case layers.KindConcat:
		return w.node(name, "Concat", in, attrs{"axis", 1})
	case layers.KindScale:
		return w.node(name, "Mul", []string{in[0], w.number(float64(s.Spec.(float32)))}, nil)
	case layers.KindReLU:
		return w.node(name, "Relu", in, nil)
	case layers.KindReLU6:
		return w.node(name, "Clip", []string{in[0], w.number(0), w.number(engine.Ceiling6)}, nil)
	case layers.KindGELU:
		return w.gelu(name, in[0], s.Spec.(engine.GELUForm))
	case layers.KindSoftmax:
		return w.node(name, "Softmax", in, attrs{"axis", -1})
	case layers.KindLogSoftmax:
		return w.node(name, "LogSoftmax", in, attrs{"axis", -1})
	case layers.KindConv:
		c := s.Spec.(engine.ConvSpec)
		how := attrs{
			"kernel_shape", []int{c.KernelH, c.KernelW}, "strides", []int{c.StrideH, c.StrideW},
			"pads", []int{c.PadH, c.PadW, c.PadH + c.EndH, c.PadW + c.EndW},
		}
		if c.Depthwise {
			how = append(how, "group", s.In[0].Shape()[1])
		}
		return w.node(name, "Conv", in, how)
	case layers.KindLinear:
		return w.linear(name, in, len(s.Out.Shape()))
	case layers.KindFrozenNorm:
		return w.node(name, "BatchNormalization", in, attrs{"epsilon", s.Spec.(float32)})
	case layers.KindLayerNorm:
		return w.node(name, "LayerNormalization", in, attrs{"axis", -1, "epsilon", s.Spec.(float32)})
	case layers.KindExpScale:
		return w.node(name, "Mul", []string{in[0], w.node(name+"/factors", "Exp", in[1:], nil)}, nil)
	case layers.KindRowNorm:
		return w.rowNorm(name, in[0], s.Spec.(engine.RowNormSpec))
	case layers.KindMaxPool:
		return w.maxPool(name, in[0], s.In[0].Shape(), s.Spec.(engine.PoolSpec))
	case layers.KindAvgPool:
		return w.avgPool(name, in[0], s.In[0].Shape(), s.Spec.(engine.PoolSpec))
	case layers.KindGlobalAvg:
		return w.global(name, "GlobalAveragePool", in)
	case layers.KindGlobalMax:
		return w.global(name, "GlobalMaxPool", in)
	case layers.KindAttention:
		return w.attention(name, in[0], s.Out.Shape(), s.Spec.(engine.AttentionSpec))
	case layers.KindTokens:
		return w.tokens(name, in, s.In[0].Shape(), s.Spec.(layers.TokensSpec))
	case layers.KindMap:
		y := w.node(name+"/channels", "Transpose", in, attrs{"perm", []int{0, 2, 1}})
		size := s.Spec.([2]int)
		return w.node(name, "Reshape", []string{y, w.integers(0, s.Out.Shape()[1], size[0], size[1])}, nil)
	case layers.KindToken:
		return w.node(name, "Gather", []string{in[0], w.index(s.Spec.(int))}, attrs{"axis", 1})
	case layers.KindMatMul:
		return w.node(name, "MatMul", in, nil)
	case layers.KindReshape:
		return w.node(name, "Reshape", []string{in[0], w.integers(s.Out.Shape()...)}, nil)
	case layers.KindScaleRows:
		shape := slices.Repeat([]int{1}, len(s.Out.Shape()))
		shape[0] = s.Out.Shape()[0]
		by := w.node(name+"/factors", "Reshape", []string{in[1], w.integers(shape...)}, nil)
		return w.node(name, "Mul", []string{in[0], by}, nil)
	case layers.KindBatchNorm:
		w.fail(fmt.Errorf("normalizes with the statistics of the batch; only networks in evaluation can be exported"))
	default:
		w.fail(fmt.Errorf("an op of kind %d has no form in ONNX", s.Kind))
	}
	return ""
}

// linear is x w^T + bias, of rows (rank 2) or of tokens (rank 3).
func (w *onnxWriter) linear(name string, in []string, rank int) string {
	if rank == 2 {
		return w.node(name, "Gemm", in, attrs{"transB", 1})
	}
	turned := w.node(name+"/transposed", "Transpose", in[1:2], attrs{"perm", []int{1, 0}})
	product := name
	if len(in) == 3 {
		product += "/product"
	}
	y := w.node(product, "MatMul", []string{in[0], turned}, nil)
	if len(in) == 3 {
		y = w.node(name, "Add", []string{y, in[2]}, nil)
	}
	return y
}

func (w *onnxWriter) gelu(name, x string, form engine.GELUForm) string {
	if form == engine.GELUQuick {
		y := w.node(name+"/scaled", "Mul", []string{x, w.number(1.702)}, nil)
		y = w.node(name+"/share", "Sigmoid", []string{y}, nil)
		return w.node(name, "Mul", []string{x, y}, nil)
	}
	var y string
	if form == engine.GELUErf {
		y = w.node(name+"/scaled", "Mul", []string{x, w.number(1 / math.Sqrt2)}, nil)
		y = w.node(name+"/erf", "Erf", []string{y}, nil)
	} else {
		y = w.node(name+"/square", "Mul", []string{x, x}, nil)
		y = w.node(name+"/cubic", "Mul", []string{y, w.number(.044715)}, nil)
		y = w.node(name+"/sum", "Add", []string{y, w.number(1)}, nil)
		y = w.node(name+"/polynomial", "Mul", []string{y, x}, nil)
		y = w.node(name+"/scaled", "Mul", []string{y, w.number(math.Sqrt(2 / math.Pi))}, nil)
		y = w.node(name+"/tanh", "Tanh", []string{y}, nil)
	}
	y = w.node(name+"/shifted", "Add", []string{y, w.number(1)}, nil)
	y = w.node(name+"/gated", "Mul", []string{x, y}, nil)
	return w.node(name, "Mul", []string{y, w.number(.5)}, nil)
}

func (w *onnxWriter) rowNorm(name, x string, spec engine.RowNormSpec) string {
	perRow := attrs{"axes", []int{1}, "keepdims", 1}
	eps := w.number(float64(spec.Eps))
	var length string
	if spec.Smooth {
		length = w.node(name+"/squares", "ReduceSumSquare", []string{x}, perRow)
		length = w.node(name+"/smoothed", "Add", []string{length, eps}, nil)
		length = w.node(name+"/length", "Sqrt", []string{length}, nil)
	} else {
		length = w.node(name+"/norm", "ReduceL2", []string{x}, perRow)
		length = w.node(name+"/length", "Max", []string{length, eps}, nil)
	}
	unit := w.node(name+"/unit", "Div", []string{x, length}, nil)
	return w.node(name, "Mul", []string{unit, w.number(float64(spec.Scale))}, nil)
}

// global pools (N, C, H, W) to (N, C).
func (w *onnxWriter) global(name, op string, in []string) string {
	return w.node(name, "Flatten", []string{w.node(name+"/map", op, in, nil)}, attrs{"axis", 1})
}

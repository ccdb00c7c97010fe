package model

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// Runtimes disagree about the windows that ceil_mode adds: where they may begin
// and what an average divides by. So it is never used: the size of the map is
// known, and padding at the end makes exactly the windows that PoolSpec means.

// windows returns the padding in ONNX's order (top, left, bottom, right) that
// makes the windows of p on (N, C, H, W) without rounding up, and how much of
// it lies beyond p's own padding.
func (w *onnxWriter) windows(shape []int, p engine.PoolSpec) (pads, beyond []int) {
	ho, wo := p.OutSize(shape[2], shape[3])
	endH, overH := endPad(shape[2], p.KernelH, p.StrideH, p.PadH, ho)
	endW, overW := endPad(shape[3], p.KernelW, p.StrideW, p.PadW, wo)
	if p.PadH >= p.KernelH || p.PadW >= p.KernelW {
		w.fail(fmt.Errorf("a %dx%d window with padding %dx%d may lie outside of the map, which ONNX does not allow", p.KernelH, p.KernelW, p.PadH, p.PadW))
	}
	return []int{p.PadH, p.PadW, endH, endW}, []int{overH, overW}
}

// endPad is the padding after a side of size cells that the last of n windows needs.
func endPad(size, kernel, stride, pad, n int) (end, beyond int) {
	end = max(0, (n-1)*stride+kernel-size-pad)
	return end, max(0, end-pad)
}

func poolAttrs(p engine.PoolSpec, pads []int) attrs {
	return attrs{"kernel_shape", []int{p.KernelH, p.KernelW}, "strides", []int{p.StrideH, p.StrideW}, "pads", pads}
}

func (w *onnxWriter) maxPool(name, x string, shape []int, p engine.PoolSpec) string {
	pads, _ := w.windows(shape, p)
	return w.node(name, "MaxPool", []string{x}, poolAttrs(p, pads))
}

func (w *onnxWriter) avgPool(name, x string, shape []int, p engine.PoolSpec) string {
	pads, beyond := w.windows(shape, p)
	if !p.CountPad {
		return w.node(name, "AveragePool", []string{x}, poolAttrs(p, pads))
	}
	if beyond[0] == 0 && beyond[1] == 0 {
		return w.node(name, "AveragePool", []string{x}, append(poolAttrs(p, pads), "count_include_pad", 1))
	}
	// The zeros that count become cells, what lies beyond them stays padding.
	zeros := w.integers(0, 0, p.PadH, p.PadW, 0, 0, p.PadH, p.PadW)
	x = w.node(name+"/padded", "Pad", []string{x, zeros}, nil)
	return w.node(name, "AveragePool", []string{x}, poolAttrs(p, []int{0, 0, beyond[0], beyond[1]}))
}

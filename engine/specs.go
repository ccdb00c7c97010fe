package engine

import "math"

// ConvSpec is the geometry of a convolution: kernel, stride and zero padding
// on both sides, each for height and width.
type ConvSpec struct {
	KernelH, KernelW int
	StrideH, StrideW int
	PadH, PadW       int
	// EndH and EndW are further rows and columns of padding at the bottom and at
	// the right alone.
	EndH, EndW int
	// Depthwise convolves each channel by a kernel of its own: w is (C, 1, kh, kw),
	// and channel c of y is that of x by kernel c.
	Depthwise bool
}

// SquareConv is a k x k convolution.
func SquareConv(kernel, stride, pad int) ConvSpec {
	return ConvSpec{KernelH: kernel, KernelW: kernel, StrideH: stride, StrideW: stride, PadH: pad, PadW: pad}
}

// SameConv is a k x k convolution of an (h, w) input whose output has ceil(size/stride)
// rows and columns, TensorFlow's padding "same": of an odd number of rows or columns of
// padding the one more is at the end.
func SameConv(kernel, stride, h, w int) ConvSpec {
	c := SquareConv(kernel, stride, 0)
	padding := func(size int) (both, end int) {
		out := (size + stride - 1) / stride
		total := max(0, (out-1)*stride+kernel-size)
		return total / 2, total % 2
	}
	c.PadH, c.EndH = padding(h)
	c.PadW, c.EndW = padding(w)
	return c
}

// OutSize returns the height and width of the output for an (h, w) input:
// floor((size + 2*pad + end - kernel)/stride) + 1, not positive if the kernel does
// not fit.
func (c ConvSpec) OutSize(h, w int) (ho, wo int) {
	return floorSteps(h+2*c.PadH+c.EndH-c.KernelH, c.StrideH) + 1, floorSteps(w+2*c.PadW+c.EndW-c.KernelW, c.StrideW) + 1
}

// Epilogue is what happens to a convolution's sum s[n][k][.][.] before it is
// stored: y = act(s*Scale[k] + Shift[k] + Residual[n][k][.][.]). A nil Scale
// means 1, a nil Shift or Residual 0; act is ReLU if asked, else the identity.
// A bias alone is a Shift.
type Epilogue struct {
	Scale, Shift Tensor // (K)
	Residual     Tensor // shape of y
	ReLU         bool
	// Ceiling, if positive, makes ReLU min(max(x, 0), Ceiling): ReLU6 has 6.
	Ceiling float32
}

// Bound is what the epilogue limits values to: 0 without ReLU, +Inf with it, or Ceiling.
func (e Epilogue) Bound() float32 {
	switch {
	case !e.ReLU:
		return 0
	case e.Ceiling > 0:
		return e.Ceiling
	}
	return float32(math.Inf(1))
}

// Ceiling6 is that of ReLU6 (Krizhevsky 2010), usual in networks for small devices.
const Ceiling6 = 6

// PoolSpec is the geometry of a pooling window.
type PoolSpec struct {
	KernelH, KernelW int
	StrideH, StrideW int
	PadH, PadW       int
	// Ceil rounds the number of windows up; a window that would start in the
	// bottom or right padding is dropped.
	Ceil bool
	// CountPad makes an average pool divide by the padded window, clipped to
	// the padded input (cells that Ceil adds beyond it never count).
	// Otherwise only real cells count.
	CountPad bool
}

// SquarePool is a k x k pooling window.
func SquarePool(kernel, stride, pad int, ceil bool) PoolSpec {
	return PoolSpec{KernelH: kernel, KernelW: kernel, StrideH: stride, StrideW: stride, PadH: pad, PadW: pad, Ceil: ceil}
}

// OutSize returns the height and width of the output for an (h, w) input.
func (p PoolSpec) OutSize(h, w int) (ho, wo int) {
	return p.windows(h, p.KernelH, p.StrideH, p.PadH), p.windows(w, p.KernelW, p.StrideW, p.PadW)
}

func (p PoolSpec) windows(size, kernel, stride, pad int) int {
	room := size + 2*pad - kernel
	if !p.Ceil {
		return floorSteps(room, stride) + 1
	}
	n := floorSteps(room+stride-1, stride) + 1
	if (n-1)*stride >= size+pad {
		n--
	}
	return n
}

// floorSteps divides rounding down, also below zero.
func floorSteps(room, stride int) int {
	if room < 0 {
		return -((-room + stride - 1) / stride)
	}
	return room / stride
}

// RowNormSpec says how a row is brought to length Scale.
type RowNormSpec struct {
	Scale float32
	Eps   float32 // positive
	// Smooth divides by sqrt(|x|^2 + Eps) instead of max(|x|, Eps).
	Smooth bool
}

// Slot is one parameter as an optimizer sees it.
type Slot struct {
	Param, Grad Tensor
	// State holds the optimizer's own tensors, of Param's shape: for SGD the
	// momentum buffer (nil without momentum), for AdamW first and second moment,
	// for RMSprop the mean square and the momentum buffer (nil without).
	State [2]Tensor
	Rate  float32 // learning rate of this step
	Decay float32 // weight decay
}

// SGDSpec is stochastic gradient descent with the conventions of PyTorch:
// g += Decay*w; v = Momentum*v + g; w -= Rate*v, or with Nesterov
// w -= Rate*(g + Momentum*v).
type SGDSpec struct {
	Momentum float32
	Nesterov bool
}

// AdamWSpec is Adam with decoupled weight decay (Loshchilov and Hutter 2019):
// w -= Rate*Decay*w; m = Beta1*m + (1-Beta1)*g; v = Beta2*v + (1-Beta2)*g^2;
// w -= Rate * (m/(1-Beta1^Step)) / (sqrt(v/(1-Beta2^Step)) + Eps).
type AdamWSpec struct {
	Beta1, Beta2, Eps float64
	Step              int // 1 at the first update
	// Coupled makes it Adam (Kingma and Ba 2015) with an L2 penalty, as PyTorch's
	// Adam has it: g += Decay*w comes first, and w is not shrunk by itself.
	Coupled bool
}

// RMSpropSpec is RMSprop (Hinton 2012) with the conventions of PyTorch:
// g += Decay*w; v = Alpha*v + (1-Alpha)*g^2; d = g/(sqrt(v) + Eps); w -= Rate*d,
// or with momentum b = Momentum*b + d; w -= Rate*b.
type RMSpropSpec struct {
	Alpha, Eps float64
	Momentum   float32
}

// GELUForm picks one of the functions in use as Gaussian error linear unit
// (Hendrycks and Gimpel 2016).
type GELUForm uint8

const (
	GELUErf   GELUForm = iota // x (1 + erf(x/sqrt 2)) / 2, exact
	GELUTanh                  // x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
	GELUQuick                 // x / (1 + exp(-1.702 x)), that of OpenAI's CLIP
	geluForms
)

// Known reports whether f is one of the forms above.
func (f GELUForm) Known() bool { return f < geluForms }

// AttentionSpec describes multi-head attention over packed tokens (B, T, 3D):
// the D queries of a token, then its D keys, then its D values, and in each of
// these head after head, of D/Heads numbers. Each head has
// y = softmax(Scale q k^T) v, the softmax over the keys (Vaswani et al. 2017,
// Eq. 1).
type AttentionSpec struct {
	Heads int
	Scale float32 // positive, as a rule 1/sqrt(D/Heads)
}

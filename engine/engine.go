package engine

import "github.com/vernier-ml/vernier/metric"

// Engine is everything heavy. Arguments come destination first. A method
// overwrites its destinations entirely, returns an error that names the
// operation when shapes do not fit, and keeps no reference to its arguments.
// Unless a comment says otherwise no destination may share memory with a
// source, and a nil gradient destination means that nobody needs it.
//
// Results do not depend on the number of threads: reductions run in a fixed
// order. An Engine may be used by one goroutine at a time.
type Engine interface {
	Memory
	Arithmetic
	Convolver
	Normalizer
	Pooler
	PairwiseKernels
	BatchMixer
	Updater
	Transformer
}

// Memory makes tensors and moves numbers between them and the host.
type Memory interface {
	Informer
	// Name says which engine this is, for logs: "cpu (avx512, 2 threads)".
	Name() string
	// New returns a zeroed tensor. Every dimension must be positive.
	New(shape ...int) (Tensor, error)
	// Write copies host numbers, row-major, into dst. Lengths must agree.
	Write(dst Tensor, src []float32) error
	// Read copies src into host memory, row-major. Lengths must agree.
	Read(dst []float32, src Tensor) error
	// Copy copies src into dst; the shapes must have the same size.
	Copy(dst, src Tensor) error
	// Zero clears dst.
	Zero(dst Tensor) error
	// Finite reports whether x holds neither NaN nor infinity.
	Finite(x Tensor) (bool, error)
	// Footprint returns the bytes that a tensor of that shape takes in an Arena,
	// a multiple of the engine's alignment. Every dimension must be positive.
	Footprint(shape ...int) (int64, error)
	// Arena returns bytes bytes of memory for tensors to lie in.
	Arena(bytes int64) (Arena, error)
}

// Arena is a piece of an engine's memory in which tensors lie where its user
// says. Two of them may lie in one place if they are used one after the other:
// the planner of a Graph makes sure of that.
type Arena interface {
	// Tensor returns the tensor of that shape whose memory begins offset bytes
	// into the arena. It holds what was there before. offset must be a sum of
	// Footprints, and offset plus the tensor's own at most the arena's size.
	Tensor(offset int64, shape ...int) (Tensor, error)
	// Close gives the memory back; its tensors must not be used any more.
	Close() error
}

// Arithmetic holds the element-wise operations, products and joins.
type Arithmetic interface {
	// Add sets dst = a + b. dst may be a or b. Shapes must be equal.
	Add(dst, a, b Tensor) error
	// Scale sets dst = s * a. dst may be a.
	Scale(dst, a Tensor, s float32) error
	// ReLU sets y = max(x, 0). NaN stays NaN. y may be x.
	ReLU(y, x Tensor) error
	// ReLUGrad sets dx = dy where y > 0, else 0. dx may be dy.
	ReLUGrad(dx, dy, y Tensor) error
	// ReLU6 sets y = min(max(x, 0), 6). NaN stays NaN. y may be x.
	ReLU6(y, x Tensor) error
	// ReLU6Grad sets dx = dy where 0 < y < 6, else 0. dx may be dy.
	ReLU6Grad(dx, dy, y Tensor) error
	// ScaleRows sets row k of dst (K, ...), all that has index k on its first axis,
	// to s[k] times that of a; s is (K). dst may be a.
	ScaleRows(dst, a, s Tensor) error
	// RowDots sets d[k] to the sum of products of the elements of rows k of a and
	// b (K, ...), summed in float64; d is (K).
	RowDots(d, a, b Tensor) error
	// MatMul sets c = op(a) op(b), or adds it to c if accumulate is set.
	// op transposes where asked: op(a) is (m, k), op(b) is (k, n), c is (m, n).
	MatMul(c, a, b Tensor, transA, transB, accumulate bool) error
	// Linear sets y (..., out) = x (..., in) w^T + bias, with w (out, in) and
	// bias (out) or nil. The leading axes, one or more, are those of x: each row
	// along the last axis is one vector.
	Linear(y, x, w, bias Tensor) error
	// LinearGrad is the gradient of Linear; any of dx, dw, dbias may be nil.
	LinearGrad(dx, dw, dbias, dy, x, w Tensor) error
	// Concat joins xs along axis 1: (N, C1, ...), (N, C2, ...) -> (N, C1+C2, ...).
	Concat(y Tensor, xs ...Tensor) error
	// Slice copies channels [from, from+C) of y (N, Ctotal, ...) into x (N, C, ...),
	// where C is x's own: the gradient of Concat with respect to one input.
	Slice(x, y Tensor, from int) error
	// SliceReLUGrad is Slice and then ReLUGrad: it sets dx to channels [from,
	// from+C) of dy where the same channels of y are above 0, else 0. dy and y
	// are (N, Ctotal, ...).
	SliceReLUGrad(dx, dy, y Tensor, from int) error
}

// Convolver holds the two-dimensional convolution (cross-correlation, as in
// every deep learning framework) and its gradients.
// x is (N, C, H, W), w (K, C, kh, kw), y (N, K, Ho, Wo); if depthwise, w is
// (C, 1, kh, kw) and K = C.
type Convolver interface {
	// Conv sets y = epilogue(x * w). y may be e.Residual.
	Conv(y, x, w Tensor, spec ConvSpec, e Epilogue) error
	// ConvGradInput sets dx from dy, without epilogue.
	ConvGradInput(dx, dy, w Tensor, spec ConvSpec) error
	// ConvGradWeights sets dw, and dbias (K) = sum of dy over N, Ho, Wo.
	// Either may be nil.
	ConvGradWeights(dw, dbias, dy, x Tensor, spec ConvSpec) error
}

// Normalizer holds batch normalization over axis 1 of (N, C) or (N, C, H, W)
// and row normalization.
type Normalizer interface {
	// BatchNorm normalizes with the statistics of the batch (biased variance):
	// y = (x - mean) * invStd * gamma + beta. It stores mean and
	// invStd = 1/sqrt(var + eps), each (C), and moves the running statistics:
	// running = (1-momentum) * running + momentum * batch, with the unbiased
	// variance (divisor n-1; n = 1 is an error).
	BatchNorm(y, mean, invStd, runningMean, runningVar, x, gamma, beta Tensor, eps, momentum float32) error
	// BatchNormGrad is its gradient; any of dx, dgamma, dbeta may be nil.
	BatchNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd Tensor) error
	// FrozenNorm normalizes with given statistics:
	// y = (x - mean) / sqrt(variance + eps) * gamma + beta.
	FrozenNorm(y, x, gamma, beta, mean, variance Tensor, eps float32) error
	// FrozenNormGrad is its gradient; any of dx, dgamma, dbeta may be nil.
	FrozenNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, variance Tensor, eps float32) error
	// FoldNorm turns FrozenNorm of a convolution's sums plus bias into an Epilogue:
	// scale = gamma / sqrt(variance + eps), shift = beta + (bias-mean) * scale, all
	// (C). A nil bias means 0.
	FoldNorm(scale, shift, bias, gamma, beta, mean, variance Tensor, eps float32) error
	// FoldNormGrad is its gradient; any of dbias, dgamma and dbeta may be nil, and
	// dscale where dgamma is:
	// dgamma = (dscale + (bias-mean) * dshift) / sqrt(variance + eps),
	// dbeta = dshift, dbias = dshift * gamma / sqrt(variance + eps).
	FoldNormGrad(dbias, dgamma, dbeta, dscale, dshift, bias, gamma, mean, variance Tensor, eps float32) error
	// RowNorm sets every row of y (B, h) to spec.Scale * x / |x|.
	RowNorm(y, x Tensor, spec RowNormSpec) error
	// RowNormGrad is its gradient.
	RowNormGrad(dx, dy, x Tensor, spec RowNormSpec) error
}

// Pooler holds windowed and global pooling of (N, C, H, W).
type Pooler interface {
	// MaxPool pads with -infinity. NaN wins over every number.
	MaxPool(y, x Tensor, spec PoolSpec) error
	// MaxPoolGrad gives dy to the first maximum of each window, in row-major
	// order; overlapping windows add up.
	MaxPoolGrad(dx, dy, x, y Tensor, spec PoolSpec) error
	// AvgPool averages each window, see PoolSpec.CountPad.
	AvgPool(y, x Tensor, spec PoolSpec) error
	// AvgPoolGrad is its gradient.
	AvgPoolGrad(dx, dy Tensor, spec PoolSpec) error
	// GlobalAvg sets y (N, C) to the mean over H and W.
	GlobalAvg(y, x Tensor) error
	// GlobalAvgGrad is its gradient.
	GlobalAvgGrad(dx, dy Tensor) error
	// GlobalMax sets y (N, C) to the maximum over H and W.
	GlobalMax(y, x Tensor) error
	// GlobalMaxGrad gives dy to the first maximum in row-major order.
	GlobalMaxGrad(dx, dy, x, y Tensor) error
}

// PairwiseKernels compute the matrix of a metric between two sets of rows.
type PairwiseKernels interface {
	// Pairwise sets d[i][j] = m(a_i, b_j), with a (n, h), b (k, h), d (n, k).
	// a and b may be the same tensor.
	Pairwise(d, a, b Tensor, m metric.Metric) error
	// PairwiseGrad sets da and db from dd = dL/dd, both (as d) (n, k). Either
	// may be nil. If a and b are one tensor, da and db may be one tensor too:
	// it then receives the sum of both gradients. What is 0 by
	// Metric.Gradient is 0 here.
	PairwiseGrad(da, db, dd, d, a, b Tensor, m metric.Metric) error
	// PairwiseGroups is Pairwise of every group of rows with itself. The rows of a
	// (n, h) lie in groups of k, one behind the other, d is (n, k), and n is a
	// multiple of k: d[i][j] = m(a_i, row j of the group of row i).
	PairwiseGroups(d, a Tensor, m metric.Metric) error
	// PairwiseGroupsGrad sets da, the gradient of both sides of all pairs, from
	// dd = dL/dd, both (as d) (n, k).
	PairwiseGroupsGrad(da, dd, d, a Tensor, m metric.Metric) error
}

// BatchMixer holds what relates the items of a batch, along axis 0, to each
// other. x has two axes or more.
type BatchMixer interface {
	// Mix sets y[i] = sum over j of op(s)[i][j] x[j], with s (N, N), x and y
	// (N, ...). op transposes if asked.
	Mix(y, s, x Tensor, trans bool) error
	// ChannelGrams sets g[c][i][j] to the scalar product of x[i][c] and x[j][c],
	// with x (N, C, ...), g (C, N, N).
	ChannelGrams(g, x Tensor) error
}

// Updater holds what an optimizer does to all parameters at once.
type Updater interface {
	// SumSquares returns the sum of squares over all of xs, in float64.
	SumSquares(xs []Tensor) (float64, error)
	// Clamp limits every element of every x to [-limit, limit]. NaN stays NaN.
	Clamp(xs []Tensor, limit float32) error
	Mover
}

// Mover holds the optimizers' updates.
type Mover interface {
	// SGD updates every slot in place, see SGDSpec.
	SGD(slots []Slot, spec SGDSpec) error
	// AdamW updates every slot in place, see AdamWSpec.
	AdamW(slots []Slot, spec AdamWSpec) error
	// RMSprop updates every slot in place, see RMSpropSpec.
	RMSprop(slots []Slot, spec RMSpropSpec) error
}

// Transformer holds what a vision transformer needs besides. "Rows" run along
// the last axis, tokens are (B, T, D).
type Transformer interface {
	// LayerNorm normalizes every row of x (..., D), of two axes or more, by its
	// own statistics (biased variance): y = (x - mean) * invStd * gamma + beta,
	// with gamma and beta (D). It stores mean and invStd = 1/sqrt(var + eps),
	// whose shape is that of x without the last axis.
	LayerNorm(y, mean, invStd, x, gamma, beta Tensor, eps float32) error
	// LayerNormGrad is its gradient; any of dx, dgamma, dbeta may be nil.
	LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd Tensor) error
	// GELU sets y = x Phi(x), or what GELUForm has for it. NaN stays NaN. y may be x.
	GELU(y, x Tensor, form GELUForm) error
	// GELUGrad is its gradient. dx may be dy.
	GELUGrad(dx, dy, x Tensor, form GELUForm) error
	// Softmax sets every row of y to exp(x) / sum exp(x), computed so that no x
	// is too large. y may be x.
	Softmax(y, x Tensor) error
	// SoftmaxGrad is its gradient from its output y. dx may be dy.
	SoftmaxGrad(dx, dy, y Tensor) error
	// LogSoftmax sets every row of y to x - log sum exp(x). y may be x.
	LogSoftmax(y, x Tensor) error
	// LogSoftmaxGrad is its gradient from its output y. dx may be dy.
	LogSoftmaxGrad(dx, dy, y Tensor) error
	// Attention sets y (B, T, D) to the scaled dot-product attention of qkv
	// (B, T, 3D), see AttentionSpec, and logSum (B, heads, T) to the logarithm of
	// the sum that each row of the softmax was divided by.
	//
	// It is one operation, not a product, a softmax and a product, because these
	// would leave B*heads*T*T weights in memory for the reverse pass. With logSum
	// the gradient computes them again, block by block, as a fused GPU kernel
	// does (Dao et al. 2022, FlashAttention).
	Attention(y, logSum, qkv Tensor, spec AttentionSpec) error
	// AttentionGrad is its gradient, from its outputs y and logSum.
	AttentionGrad(dqkv, dy, y, logSum, qkv Tensor, spec AttentionSpec) error
	// Tokens sets y (B, P+H*W, D) to the P rows of prefix (1, P, D) and behind
	// them the positions of a map x (B, D, H, W) in row-major order, plus pos
	// (1, P+H*W, D). prefix may be nil, P is then 0, and so may pos.
	Tokens(y, x, prefix, pos Tensor) error
	// TokensGrad is its gradient; any of dx, dprefix, dpos may be nil.
	TokensGrad(dx, dprefix, dpos, dy Tensor) error
	// Token sets y (B, D) to token i of x (B, T, D).
	Token(y, x Tensor, i int) error
	// TokenGrad is its gradient: dx is dy at token i, else 0.
	TokenGrad(dx, dy Tensor, i int) error
}

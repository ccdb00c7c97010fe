package cpu

import (
	"github.com/vernier-ml/vernier/metric"
)

// kernels is the table of inner loops that one variant has. Their callers
// guarantee that slices are long enough; a kernel touches nothing beyond what
// its comment says.
type kernels struct {
	name string

	// A product works on tiles of up to mr rows and nr columns, nr a multiple of
	// the vector length vec. depth is how many terms are summed at a time, deep where both
	// operands are matrices.
	mr, nr, vec, depth, deep int

	// tiles[v-1][r] multiplies r rows by v vectors of columns.
	tiles [][]tileFunc
	// across[v-1][r] does so with rows that are read where they lie; nil where a variant
	// has none.
	across [][]acrossTileFunc
	// narrow multiplies in bfloat16; nil if the machine or the variant cannot.
	narrow *narrowKernels

	// transpose sets dst[c*dstStride+r] = src[r*srcStride+c] for r < rows and
	// c < cols, and 0 for rows <= r < width.
	transpose func(dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int)

	// copyRows sets dst[r*dstStride+c] = src[r*srcStride+c] for r < rows and
	// c < cols, and 0 for cols <= c < width.
	copyRows func(dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int)

	// copyPanels sets dst[p*panelStride+r*nr+c] = src[r*srcStride+p*nr+c] for
	// r < rows, p < panels and c < nr.
	copyPanels func(dst []float32, panelStride int, src []float32, srcStride, rows, panels int)

	// fetch asks for x to be brought near, into the second-level cache.
	fetch func(x []float32)

	// gather reads one vector of a patch plan for count channels:
	// dst[i*dstStride+l] is lane l of the vector at src[i*srcStride:].
	gather func(dst []float32, dstStride int, src []float32, srcStride, count int, v *patchVector)

	// gatherTaps reads one vector of a plan for all taps and one channel:
	// dst[t*dstStride+l] is lane l of tap t.
	gatherTaps func(dst []float32, dstStride int, src []float32, taps int, runs []uint64)

	add      func(dst, a, b []float32)
	multiply func(dst, a, b []float32)
	scale    func(dst, a []float32, s float32)
	relu     func(y, x []float32)
	reluGrad func(dx, dy, y []float32)
	// boundGrad sets dx = dy where 0 < y < ceiling, else 0.
	boundGrad func(dx, dy, y []float32, ceiling float32)
	maximum   func(dst, a, b []float32) // NaN wins
	maximum3  func(dst, a, b, c []float32)
	add3      func(dst, a, b, c []float32)
	finite    func(x []float32) bool

	pool3 pool3Kernels
	// route is one cell of max pooling's windows: where x >= y, left moves to dx.
	route func(dx, left, x, y []float32)
	// depthwise sets dst[i] = start + sum over t of w[t] * src[at[t]+i], bounded to
	// [0, ceiling] unless that is 0. There is one tap t or more.
	depthwise func(dst, src []float32, at []int, w []float32, start, ceiling float32)
	// depthwiseSums sets sums[t] = sum over i of g[i] * src[at[t]+i].
	depthwiseSums func(sums, g, src []float32, at []int)
	// split sets even to x[0], x[2], ... and odd to x[1], x[3], ...; merge is its
	// inverse.
	split func(even, odd, x []float32)
	merge func(x, even, odd []float32)

	// affine sets y = (x-center)*scale + shift, plus residual if it is not nil,
	// then bounded to [0, ceiling] unless that is 0. y may be x or residual.
	affine func(y, x, residual []float32, center, scale, shift, ceiling float32)

	// Sums for normalization, in float64: of x, of (x-center)^2, of y*(x-center).
	sum     func(x []float32) float64
	spread  func(x []float32, center float32) float64
	project func(y, x []float32, center float32) float64
	// normGrad sets dx = a*dy + b*(x-center) + c.
	normGrad func(dx, dy, x []float32, a, b, center, c float32)

	// Rows of layer normalization: layerNorm sets
	// y = ((x-center)*scale + shift)*gamma + beta. layerNormSums returns the sums of
	// dy*gamma and dy*gamma*(x-center), layerNormGrad sets
	// dx = a*dy*gamma + b*(x-center) + c, and normSums adds dy*(x-center)*scale to
	// gain and dy to shift.
	layerNorm     func(y, x, gamma, beta []float32, center, scale, shift float32)
	layerNormSums func(dy, x, gamma []float32, center float32) (total, along float64)
	layerNormGrad func(dx, dy, x, gamma []float32, a, b, center, c float32)
	normSums      func(gain, shift, dy, x []float32, center, scale float32)

	// gelu sets y = x Phi(x), geluGrad dx = dy times its derivative.
	gelu     func(y, x []float32)
	geluGrad func(dx, dy, x []float32)
	// geluQuick sets y = x / (1 + exp(-1.702 x)), geluQuickGrad dx likewise.
	geluQuick     func(y, x []float32)
	geluQuickGrad func(dx, dy, x []float32)

	largest func(x []float32) float32 // NaN wins
	// exp sets y = exp(scale*(x-most)), where x <= most, and returns the sum.
	exp func(y, x []float32, scale, most float32) float64
	// softmaxGrad sets dx = y*(dy-along)*scale. dx may be dy.
	softmaxGrad func(dx, dy, y []float32, along, scale float32)

	// Losses over class rows see a + b x + c x^2 of a value x: quadratic sets y to it.
	// columnExp adds exp(x-most) to sums, where x <= most; columnGrad sets dx to the
	// derivative of share*exp(y-most) with respect to x, where y is the quadratic.
	quadratic  func(y, x []float32, a, b, c float32)
	columnExp  func(sums, x, most []float32)
	columnGrad func(dx, x, most, share []float32, a, b, c float32)

	sgd   func(w, g, v []float32, s sgdStep)
	adamW func(w, g, m, v []float32, s adamWStep)

	winograd winogradKernels

	// countBelow returns how many numbers are less than limit. between puts the
	// indices of those in [low, high] into dst, ascending, and returns how many.
	countBelow func(x []float32, limit float32) int
	between    func(dst []int32, x []float32, low, high float32) int

	pairs [curves][2]pairKernels
	// grids are those of the restrictions for which pairs takes them; nil if it
	// takes none.
	grids map[metric.Restriction]grids
}

// winogradKernels are the transforms of F(4x4, 3x3), of vec channels at a time,
// and the product between them.
type winogradKernels struct {
	tilesIn, filtersIn, gradientsIn transformFunc // from squares of 6, 3 and 4
	filtersOut                      transformFunc // to squares of 3
	// tilesOut is a transformFunc to squares of 4 that sets them to
	// max(v*ends[0] + ends[1], ends[2]), where ends are three vectors by lane, or nil.
	tilesOut func(dst []float32, pitch, dstNext int, src []float32, stride, srcNext, count int, tmp, ends []float32)
	// rows[v-1][r] multiplies r rows by v vectors of columns.
	rows [][]rowsTileFunc
}

// transformFunc transforms count squares, dstNext and srcNext apart. One side has
// them in a map of vectors, rows pitch apart, the other as 36 vectors, stride
// apart. From a map the arguments are
// (dst, stride, dstNext, src, pitch, srcNext, ...), to a map
// (dst, pitch, dstNext, src, stride, srcNext, ...). tmp holds 36 vectors.
type transformFunc func(dst []float32, dstStride, dstNext int, src []float32, srcStride, srcNext, count int, tmp []float32)

// rowsTileFunc sets the tile c, whose rows are ldc apart, to the product of the
// rows in a and a packed panel b. a has blocks of vec terms, next apart, and in
// each row r at r*vec.
type rowsTileFunc func(c []float32, ldc int, a []float32, next int, b []float32, blocks int)

// tileFunc multiplies a, whose terms are lda apart (mr in a packed panel), by k
// terms of b, ldb apart (nr in a packed panel), and sets the tile dst, whose rows
// are ldd apart, to act((sum + c)*scale + shift + residual), with c by rows ldc
// apart, scale and shift by row and residual by rows ldr apart. What is nil is
// left out; act bounds to [0, ceiling] unless that is 0; ReLU has +Inf.
type tileFunc func(dst []float32, ldd int, c []float32, ldc int, a []float32, lda int, b []float32, ldb, k int, scale, shift, residual []float32, ldr int, ceiling float32)

// acrossTileFunc multiplies rows in a, lda apart, the terms of each beside each other, by
// k terms of b, ldb apart, and sets the tile dst to the sum, or adds it.
type acrossTileFunc func(dst []float32, ldd int, add bool, a []float32, lda int, b []float32, ldb, k int)

// curve is a function of |a_i - b_i| that a distance sums: the restrictions of
// layers, in their order, and the identity of the Euclidean metrics and Manhattan.
type curve int

const (
	identity curve = iota + curve(metric.ISRU) + 1
	curves   int   = iota + int(metric.ISRU) + 1
)

// pairKernels sum one curve to the power p = 1 or 2.
type pairKernels struct {
	// sums sets s[j] = sum over c of V(|a[c] - b[j*ldb+c]|)^p for c < len(a).
	sums func(s, a, b []float32, ldb int, r curveArgs)
	// grad adds to da (one vector) and subtracts from db (len(coef) vectors)
	// sign(a-b) * coef[j] * S(|a-b|), for p = 2 times V(|a-b|), where a is one
	// vector and b len(coef) vectors. Equal coordinates add nothing.
	grad func(da, db, a, b, coef []float32, r curveArgs)
}

// curveArgs is what a curve needs to know, and what its kernels leave out.
type curveArgs struct {
	limit float32 // |a-b| is clamped to it, where R is flat or would overflow
	root  float32 // sqrt(omega) of ISRU
	// R = value*V and R' = slope*S.
	value, slope float64
	grids        grids // for kernels that look V and S up
}

// Package cpu computes on the CPU: an engine.Engine in Go and Go assembly,
// without cgo.
//
// # Variants
//
// The inner loops are a table of functions, kernels, which New chooses once:
// "avx512" (AVX-512 F, BW, DQ, VL), "avx2" (AVX2, FMA, BMI2), "neon" (arm64) or
// "portable" (plain Go, on every machine). Options.Variant picks one, else $VERNIER_CPU, else the
// first that Variants lists, the best of this machine. Nothing outside the table
// knows which one it is; a new instruction set is a new table.
//
//	kernels.go            what the kernels do
//	portable*.go          in plain Go: the oracle of the tests
//	internal/gen/         the generator of the assembly for amd64 (go generate, with avo)
//	internal/gen/neon/    that for arm64, most of whose instructions Go's assembler lacks
//	../internal/approx/   the polynomials that all variants and cuda share
//	avx512_amd64.*, avx2_amd64.*, neon_arm64.*   tables and generated code
//
// # Layout
//
// Tensors are NCHW, as layers has them, and no operation changes that. Products of
// a 1 x 1 convolution then have their columns beside each other in memory, poolings
// and element-wise passes are loops over planes, joining and slicing channels
// copies whole runs; and the transforms of Winograd, the one place where lanes
// have to be channels, transpose a few rows at a time in the first-level cache,
// for 6 % of a convolution's time. Blocks of 16 channels (nChw16c) could save no
// more than that, and would cost a transposition of the whole tensor wherever an
// operation wants planes.
//
// # Products
//
// Matrix products, linear layers, convolutions and the gradients of both are one
// thing, product: a left and a right operand that pack themselves into panels,
// and a sink that says where results go. With few rows the right operand is read
// where it lies, if its columns are neighbors there.
//
//	product.go   blocking and the split into items of work
//	dense.go     the same where both operands are matrices, which can be packed as a whole
//	thin.go      few tokens or places, of one image, by weights
//	keep.go      weights that stay packed
//	narrow.go    operands in bfloat16
//	operand.go   operands that are matrices, transposed or not
//	planes.go    operands that are the channels of images: 1 x 1 convolutions
//	patch.go     operands that are the patches of a convolution
//	sink.go      where results go, with scale, shift, residual and ReLU
//	matmul.go, conv.go, convgrad.go   the operations
//
// A convolution is w (K, C kh kw) times the patches of x (C kh kw, N Ho Wo). The
// patches never exist as a whole: packing gathers them from the images, a few
// hundred terms of a block of positions at a time. Where the lanes of a vector lie is the same
// for all channels, so a plan keeps it for each shape: mostly one or two runs of
// neighbors under a mask, padding included. With stride 1 and padding that keeps
// the size even the end of a row and the start of the next are neighbors; with
// stride 2 they are, too, once the even columns stand before the odd ones. The
// gradient of the input is the same with w transposed, once for each phase of the
// stride; that of the weights has the patches as the other operand, transposed in
// packing.
//
// The tile kernels hold 14 x 32 (AVX-512), 6 x 16 (AVX2) or 8 x 12 (NEON) sums in registers, are
// a core's limit for everything dense, and finish what the sink asks for before
// they store.
//
// An engine that only infers keeps weights packed, up to 512 MiB. Every tensor knows how often
// it was read since an operation last took it as anything but a source, so that no use can
// forget to tell (keep.go); the first gradient of weights ends the keeping.
//
// With Options.Precision BF16 the packed operands of attention, of linear layers of tokens
// and of convolutions are rounded to bfloat16, two terms to a word, of which an instruction
// of AVX-512 BF16 multiplies 16 pairs, 32 terms at a time. Everything between
// products stays float32. Winograd's and depthwise convolutions, products of rows, losses
// and distances are in float32 all the same. The portable variant rounds likewise.
//
// Convolutions of 3 x 3 with stride 1, 16 channels and 32 tiles or more go by
// Winograd's F(4x4, 3x3), forward and in both gradients, with points whose relative
// error stays below 1e-5.
//
// A depthwise convolution is no product: planes of the padded input are taken apart by
// the phase of the stride, and each tap is a multiplication of one long run of a phase
// (depthwise.go, gen/depthwise.go). So are its gradients.
//
//	winograd.go      the rule, and the transform of tiles
//	winogradconv.go, winogradgrad.go, portable_winograd.go, gen/winograd.go
//
// # Where a step goes
//
// A training step of BN-Inception (16 images of 224 pixels, frozen normalization,
// AdamW) on two cores that multiply at 390 GFLOPS and stream 45 GB/s. The floor is
// the larger of multiplications, Winograd's where it is used, at that rate, and
// bytes, everything read and written once, at the other.
//
//	                          forward        input       weights    floor of each
//	7x7 / 2  of 224 x 224      17 ms           -           22 ms        9.7 ms
//	1x1      of 56 x 56         3 ms          2 ms          3 ms        1.1 ms
//	3x3      of 56 x 56        13 ms         14 ms         23 ms        7.1 ms
//	1x1      of 28 x 28        19 ms         19 ms         26 ms       10.9 ms
//	3x3      of 28 x 28        15 ms         15 ms         28 ms        6.8 ms
//	3x3 / 2  of 28 x 28         7 ms         10 ms          8 ms        4.3 ms
//	1x1      of 14 x 14        34 ms         32 ms         40 ms       22.7 ms
//	3x3      of 14 x 14        31 ms         31 ms         38 ms       13.4 ms
//	3x3 / 2  of 14 x 14         5 ms          7 ms          6 ms        3.3 ms
//	1x1      of 7 x 7          12 ms         11 ms         13 ms        7.1 ms
//	3x3      of 7 x 7          11 ms         13 ms         11 ms        3.6 ms
//	max pool                   15 ms         27 ms                  3.3, 6.6 ms
//	average pool               10 ms         10 ms                      2.4 ms
//	join of branches            4 ms          0 ms                  3.4, 0.3 ms
//	ReLU                          -          11 ms                     11.3 ms
//	sums of gradients             -          13 ms                     15.0 ms
//	AdamW                                                  9 ms         6.7 ms
//
// 650 ms, of which 310 are the floor. Most of what is above it is memory: the
// transformed tiles of gradients of weights pass through the third-level cache,
// small maps read every filter for few tiles, and a 1 x 1 convolution of a large
// map does little with each number that it reads. Pooling is bound by calls for
// short rows.
//
// # Distances
//
// A distance sums a curve, a restriction of the boundary-restricted metric or
// the identity of the Euclidean ones, over coordinates, with vectors along the
// coordinates; a gradient is summed vector by vector of coordinates over all
// pairs. Values have an absolute error below 2e-6 and keep their relative
// precision at small distances. With AVX-512 the sigmoid, tanh and arctan are
// piecewise polynomials in registers (grid.go, gen/grid.go): a difference of
// coordinates takes 15 instructions of the two vector ports forward and 16 back,
// at p = 2 of sigmoid or tanh, and the kernels run at that limit; a product takes one. Sums that underflow or overflow, and gradients
// whose factors do, are computed again in float64 by metric.Metric. If both sides
// are one tensor, half the work is done. Cosine and dot product are matrix
// products.
//
//	pairwise.go, pairwisegrad.go, grid.go, cosine.go, portable_pairs.go, gen/pairs.go
//
// # Rows and attention
//
// Layer normalization, softmax and GELU are loops over rows or spans with vectors
// along them. Exponentials are those of the distances; GELU is x Phi(x) with the
// tail of the normal distribution as e^(-x^2/2) times a polynomial, so that it
// keeps its relative precision on the left, and gradient and value share the
// exponential.
//
// Attention takes a block of at most 128 queries of a head at a time: a product
// gives their scores, these become weights in place, and a second product the
// result, all in buffers of the worker and with the tile kernels of the large
// products. The gradient computes the weights again.
//
//	activation.go, softmax.go, layernorm.go, tokens.go, attention.go, attentiongrad.go
//	portable_rows.go, gen/lines.go, gen/gelu.go
//
// # Losses over class rows
//
// Proxy-anchor takes blocks of 16 rows and 256 columns, whose exponents stay in a
// first-level cache, and keeps the largest exponent of each column so far; the derivative
// computes the exponentials again, so that the matrix is read twice and its gradient written
// once. Softmax goes row by row. Exponents and exponentials are float32, sums and all that
// belongs to a row's own class float64. Losses and derivatives are within 2e-5 of the
// float64 of package losses, relative to 1 and to the largest derivative.
//
//	classloss.go, proxyanchor.go, classsoftmax.go, portable_classes.go, gen/classes.go
//
// # Order and memory
//
// A fixed pool of workers takes items of work in no fixed order, but what an item
// computes, and the order in which sums of several items are added, follow from
// the shapes alone: results are the same to the last bit for any number of
// threads. Variants differ from each other by rounding. Sums of normalization and
// optimizers are in float64.
//
// Packed panels, blocks and partial sums lie in buffers of the engine and its
// workers, which grow to the largest that was needed and are kept. They and large
// tensors ask for large pages.
package cpu

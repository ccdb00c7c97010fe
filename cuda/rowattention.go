package cuda

import (
	"runtime"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
)

// Attention by products of matrices: cuBLAS makes the scores of as many images as the
// workspace of convolutions has room for, a kernel turns them into weights, and cuBLAS
// multiplies those with the values. The kernels of attention.go, which store no scores,
// multiply in float32 without tensor cores.

// byProducts returns of how many images at a time attention is computed by products of
// matrices, which have to begin at multiples of 16 bytes; 0 if it is not.
func (a *args) byProducts(h kernels.Heads, t device.Type, gradient bool) (images int) {
	if a.err != nil || a.eng.opt.Precision == FP32 || h.Size*t.Size()%16 != 0 {
		return 0
	}
	if a.failed(a.eng.workspace()); a.err != nil {
		return 0
	}
	of := h
	of.Batch = 1
	room := a.eng.work.bytes - scoreArrays*alignment
	return int(min(int64(h.Batch), room/scoreBytes(of, t, gradient)))
}

// scoreArrays is how many arrays are laid out in the workspace, each at a multiple of
// the alignment.
const scoreArrays = 4

// scoreBytes is what the arrays of some images take without gaps.
func scoreBytes(h kernels.Heads, t device.Type, gradient bool) int64 {
	square := int64(h.Matrices()) * int64(h.Tokens) * int64(h.ScoreWidth()) * int64(4+t.Size())
	if gradient {
		square *= 2
	}
	return square
}

// attended is attention of some images: where the arrays lie, in the workspace and in
// the operation's tensors.
type attended struct {
	a                                *args
	t                                device.Type
	h                                kernels.Heads // of these images
	places                           device.Ptr
	scores, slopes, weights, dscores device.Ptr
	qkv, plain, logSum, dqkv         device.Ptr
}

// eachPart calls f for one part of the images after the other. x is the packed tokens,
// qkv their numbers of type t; logSum, plain (y or dy)
// and dqkv, which may be 0, are those of all images.
func (a *args) eachPart(x named, h kernels.Heads, t device.Type, images int, qkv, plain, logSum, dqkv device.Ptr, f func(attended)) {
	for from := 0; from < h.Batch && a.err == nil; from += images {
		p := attended{a: a, t: t, h: h}
		p.h.Batch = min(images, h.Batch-from)
		tokens := device.Ptr(from * h.Tokens * h.Heads * h.Size * t.Size())
		p.qkv, p.plain, p.logSum = qkv+3*tokens, plain+tokens, logSum+device.Ptr(4*from*h.Heads*h.Tokens)
		at := a.eng.work.ptr
		take := func(bytes int64) device.Ptr {
			q := at
			at += device.Ptr(aligned(bytes))
			return q
		}
		square := int64(p.h.Matrices()) * int64(h.Tokens) * int64(h.ScoreWidth())
		p.scores, p.weights = take(4*square), take(square*int64(t.Size()))
		if dqkv != 0 {
			p.dqkv = dqkv + 3*tokens
			p.slopes, p.dscores = take(4*square), take(square*int64(t.Size()))
		}
		p.places = p.addresses(x.Tensor)
		f(p)
	}
}

// places are the arrays of addresses of products that read a tensor. They do not change
// from step to step, so they are made once and kept for as long as the tensor.
type places map[placesKey]device.Ptr

type placesKey struct {
	qkv, plain, dqkv device.Ptr
	h                kernels.Heads
}

// addresses returns the arrays of addresses, kept with x.
func (p attended) addresses(x *Tensor) device.Ptr {
	a, key := p.a, placesKey{p.qkv, p.plain, p.dqkv, p.h}
	if at, ok := x.places[key]; ok || a.err != nil {
		return at
	}
	if a.failed(a.eng.attend()); a.err != nil { // a recording repeats what is made in it
		return 0
	}
	b, err := a.eng.memory.take(kernels.Places * 8 * int64(p.h.Matrices()))
	if a.failed(err); err != nil {
		return 0
	}
	runtime.AddCleanup(x, a.eng.memory.giveBack, b)
	a.launch(kernels.AttentionPlaces(p.t, p.h, b.ptr, p.qkv, p.plain, p.scores, p.weights, p.slopes, p.dscores, p.dqkv))
	if x.places == nil {
		x.places = places{}
	}
	x.places[key] = b.ptr
	return b.ptr
}

// headMatrix is one of the arrays of addresses, its type, and how far its rows are apart.
type headMatrix struct {
	place int
	typ   device.Type
	rows  int
}

// matrix returns an array of AttentionPlaces.
func (p attended) matrix(place int) headMatrix {
	d := p.h.Heads * p.h.Size
	switch place {
	case kernels.PlacePlain:
		return headMatrix{place, p.t, d}
	case kernels.PlaceScores, kernels.PlaceSlopes:
		return headMatrix{place, device.F32, p.h.ScoreWidth()}
	case kernels.PlaceWeights, kernels.PlaceDScores:
		return headMatrix{place, p.t, p.h.ScoreWidth()}
	}
	return headMatrix{place, p.t, 3 * d}
}

// multiply sets c = by op(a) op(b) for every head, with c (tokens, columns).
func (p attended) multiply(c, a, b, columns, inner int, transA, transB bool, by float32) {
	at := func(m headMatrix) device.Ptr { return p.places + device.Ptr(8*m.place*p.h.Matrices()) }
	x, y, z := p.matrix(a), p.matrix(b), p.matrix(c)
	p.a.gemm(device.Gemm{
		TransA: transA, TransB: transB, M: p.h.Tokens, N: columns, K: inner, A: at(x), B: at(y), C: at(z), LDA: x.rows, LDB: y.rows, LDC: z.rows,
		Type: p.t, Out: z.typ, Alpha: by, Precision: device.TF32, Batch: p.h.Matrices(), Addresses: true,
	})
}

// forward leaves y and logSum.
func (p attended) forward() {
	p.multiply(kernels.PlaceScores, kernels.PlaceQ, kernels.PlaceK, p.h.Tokens, p.h.Size, false, true, p.h.Scale)
	p.a.launch(kernels.AttentionWeights(p.t, p.h, p.weights, p.logSum, p.scores))
	p.multiply(kernels.PlacePlain, kernels.PlaceWeights, kernels.PlaceV, p.h.Size, p.h.Tokens, false, false, 1)
}

// backward leaves dqkv, from dy and logSum.
func (p attended) backward() {
	p.multiply(kernels.PlaceScores, kernels.PlaceQ, kernels.PlaceK, p.h.Tokens, p.h.Size, false, true, p.h.Scale)
	p.multiply(kernels.PlaceSlopes, kernels.PlacePlain, kernels.PlaceV, p.h.Tokens, p.h.Size, false, true, 1)
	p.a.launch(kernels.AttentionSlopes(p.t, p.h, p.weights, p.dscores, p.scores, p.slopes, p.logSum))
	p.multiply(kernels.PlaceDV, kernels.PlaceWeights, kernels.PlacePlain, p.h.Size, p.h.Tokens, true, false, 1)
	p.multiply(kernels.PlaceDQ, kernels.PlaceDScores, kernels.PlaceK, p.h.Size, p.h.Tokens, false, false, p.h.Scale)
	p.multiply(kernels.PlaceDK, kernels.PlaceDScores, kernels.PlaceQ, p.h.Size, p.h.Tokens, true, false, p.h.Scale)
}

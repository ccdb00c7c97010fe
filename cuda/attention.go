package cuda

import (
	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// heads checks packed tokens and returns the geometry and D.
func (a *args) heads(qkv named, spec engine.AttentionSpec) (h kernels.Heads, d int) {
	a.check(spec.Heads > 0, "%d heads, want 1 or more", spec.Heads)
	a.check(spec.Scale > 0, "the scale is %v, want more than 0", spec.Scale)
	if a.err != nil {
		return h, 0
	}
	a.check(qkv.shape[2]%(3*spec.Heads) == 0, "%v, want a last axis of 3*%d heads", qkv, spec.Heads)
	d = qkv.shape[2] / 3
	h = kernels.Heads{Batch: qkv.shape[0], Tokens: qkv.shape[1], Heads: spec.Heads, Size: d / spec.Heads, Scale: spec.Scale}
	a.check(h.Size <= kernels.MaxHead, "heads of %d numbers, the GPU engine takes %d at most", h.Size, kernels.MaxHead)
	return h, d
}

// flash reports whether attention is computed by kernels that multiply on tensor cores: in
// bfloat16, which no GPU without them stores, and with the heads of all usual transformers.
func (a *args) flash(h kernels.Heads, t device.Type) bool {
	return a.err == nil && a.eng.opt.Precision == BF16 && t == device.BF16 && h.Size == kernels.FlashHead
}

// Attention is multi-head attention over packed tokens.
func (e *Engine) Attention(y, logSum, qkv engine.Tensor, spec engine.AttentionSpec) error {
	a := e.args("attention")
	in := a.of("qkv", qkv, -1, -1, -1)
	h, d := a.heads(in, spec)
	out, sums := a.of("y", y, h.Batch, h.Tokens, d), a.of("logSum", logSum, h.Batch, h.Heads, h.Tokens)
	if a.apart(out, in); a.err != nil {
		return a.err
	}
	t := common(in, out)
	p := a.in(in, t)
	to, logs := a.out(out, t), a.out(sums, device.F32)
	if a.flash(h, t) {
		a.launch(kernels.Flash(h, to, logs, p))
	} else if images := a.byProducts(h, t, false); images > 0 {
		a.eachPart(in, h, t, images, p, to, logs, 0, attended.forward)
	} else {
		a.launch(kernels.Attention(t, h, to, logs, p))
	}
	return a.done()
}

// AttentionGrad is the gradient of Attention.
func (e *Engine) AttentionGrad(dqkv, dy, y, logSum, qkv engine.Tensor, spec engine.AttentionSpec) error {
	a := e.args("attention gradient")
	in := a.of("qkv", qkv, -1, -1, -1)
	h, d := a.heads(in, spec)
	up, out := a.of("dy", dy, h.Batch, h.Tokens, d), a.of("y", y, h.Batch, h.Tokens, d)
	sums, to := a.of("logSum", logSum, h.Batch, h.Heads, h.Tokens), a.of("dqkv", dqkv, h.Batch, h.Tokens, 3*d)
	if a.apart(to, in, up, out); a.err != nil {
		return a.err
	}
	t := common(in, up, out, to)
	g, s, p, q := a.in(up, t), a.in(sums, device.F32), a.in(in, t), a.out(to, t)
	if a.flash(h, t) {
		a.launch(kernels.FlashGrad(h, q, a.floats(h.Batch*h.Heads*h.Tokens), g, a.in(out, t), s, p)...)
	} else if images := a.byProducts(h, t, true); images > 0 {
		a.eachPart(in, h, t, images, p, g, s, q, attended.backward)
	} else {
		a.launch(kernels.AttentionGrad(t, h, q, a.floats(h.Batch*h.Heads*h.Tokens), g, a.in(out, t), s, p)...)
	}
	return a.done()
}

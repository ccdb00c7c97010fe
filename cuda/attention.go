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
	a.launch(kernels.Attention(t, h, a.out(out, t), a.out(sums, device.F32), p))
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
	delta := a.floats(h.Batch * h.Heads * h.Tokens)
	g, o, s, p := a.in(up, t), a.in(out, t), a.in(sums, device.F32), a.in(in, t)
	a.launch(kernels.AttentionGrad(t, h, a.out(to, t), delta, g, o, s, p)...)
	return a.done()
}

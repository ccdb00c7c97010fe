package kernels

// Heads is the geometry of attention: batch images of tokens tokens, heads of
// size numbers each, at most MostHead.
type Heads struct {
	Batch, Tokens, Heads, Size int
	Scale                      float32
}

// MostHead is the largest head that the fused kernels take.
const MostHead = 64

func (h Heads) grid() [3]int { return [3]int{tiles(h.Tokens, 32), h.Heads, h.Batch} }

// Attention sets y (batch, tokens, d) and logSum (batch, heads, tokens) float32
// from qkv (batch, tokens, 3d), d = heads*size.
func Attention(t Type, h Heads, y, logSum, qkv Ptr) Launch {
	return launch("attention_"+t.String(), h.grid(), h.Tokens, h.Heads, h.Size, h.Scale, y, logSum, qkv)
}

// AttentionGrad returns the launches of the gradient, in order. delta has room for
// (batch, heads, tokens) float32.
func AttentionGrad(t Type, h Heads, dqkv, delta, dy, y, logSum, qkv Ptr) []Launch {
	n := int64(h.Batch) * int64(h.Heads) * int64(h.Tokens)
	return []Launch{
		launch("attention_delta_"+t.String(), [3]int{int(min((n+127)/128, mostBlocks)), 1, 1}, n, h.Tokens, h.Heads, h.Size, delta, dy, y),
		launch("attention_dq_"+t.String(), h.grid(), h.Tokens, h.Heads, h.Size, h.Scale, dqkv, dy, logSum, delta, qkv),
		launch("attention_dkv_"+t.String(), h.grid(), h.Tokens, h.Heads, h.Size, h.Scale, dqkv, dy, logSum, delta, qkv),
	}
}

package kernels

// Heads is the geometry of attention: batch images of tokens tokens, heads of
// size numbers each, at most MaxHead.
type Heads struct {
	Batch, Tokens, Heads, Size int
	Scale                      float32
}

// MaxHead is the largest head that there are kernels for.
const MaxHead = 256

func (h Heads) wide() bool { return h.Size > 64 }

func (h Heads) grid() [3]int {
	tile := 32
	if h.wide() {
		tile = 8
	}
	return [3]int{tiles(h.Tokens, tile), h.Heads, h.Batch}
}

func (h Heads) name(of string, t Type) string {
	if h.wide() {
		of += "_wide"
	}
	return of + "_" + t.String()
}

// Attention sets y (batch, tokens, d) and logSum (batch, heads, tokens) float32
// from qkv (batch, tokens, 3d), d = heads*size.
func Attention(t Type, h Heads, y, logSum, qkv Ptr) Launch {
	return launch(h.name("attention", t), h.grid(), h.Tokens, h.Heads, h.Size, h.Scale, y, logSum, qkv)
}

// AttentionGrad returns the launches of the gradient, in order. delta has room for
// (batch, heads, tokens) float32.
func AttentionGrad(t Type, h Heads, dqkv, delta, dy, y, logSum, qkv Ptr) []Launch {
	n := int64(h.Batch) * int64(h.Heads) * int64(h.Tokens)
	return []Launch{
		launch(h.name("attention_delta", t), [3]int{int(min((n+127)/128, maxBlocks)), 1, 1}, n, h.Tokens, h.Heads, h.Size, delta, dy, y),
		launch(h.name("attention_dq", t), h.grid(), h.Tokens, h.Heads, h.Size, h.Scale, dqkv, dy, logSum, delta, qkv),
		launch(h.name("attention_dkv", t), h.grid(), h.Tokens, h.Heads, h.Size, h.Scale, dqkv, dy, logSum, delta, qkv),
	}
}

package kernels

// FlashHead is the size of the heads that Flash is for.
const FlashHead = 64

func (h Heads) flashGrid() [3]int { return [3]int{tiles(h.Tokens, 64), h.Heads, h.Batch} }

// Flash is Attention in bfloat16 on tensor cores, for heads of FlashHead numbers. Arrays
// begin at multiples of 16 bytes.
func Flash(h Heads, y, logSum, qkv Ptr) Launch {
	return launch("flash_attention", h.flashGrid(), h.Tokens, h.Heads, h.Scale, y, logSum, qkv)
}

// FlashGrad returns the launches of the gradient, in order, as AttentionGrad does.
func FlashGrad(h Heads, dqkv, delta, dy, y, logSum, qkv Ptr) []Launch {
	return []Launch{
		launch("flash_dq", h.flashGrid(), h.Tokens, h.Heads, h.Scale, dqkv, delta, dy, y, logSum, qkv),
		launch("flash_dkv", h.flashGrid(), h.Tokens, h.Heads, h.Scale, dqkv, delta, dy, logSum, qkv),
	}
}

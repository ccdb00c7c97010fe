package backbone

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// transformer is a vision transformer (Dosovitskiy et al. 2021) as timm lays it
// out and names it: normalization first, class token, learned positions.
type transformer struct {
	patch, dim, depth, heads, hidden int
	pictures                         Preprocessing
}

// newViTS16 returns ViT-S/16: timm's vit_small_patch16_224, and DeiT-S and DINO
// ViT-S/16 with pixels=imagenet.
func newViTS16(o options) (Backbone, error) {
	t := &transformer{patch: 16, dim: 384, depth: 12, heads: 6, hidden: 1536, pictures: o.pictures(224, 256, "half")}
	t.pictures.Bicubic = true
	return t, nil
}

// vitEps is that of timm's layer normalization.
const vitEps = 1e-6

// Forward returns the normalized tokens (B, 1+T, 384).
func (t *transformer) Forward(g *layers.Graph, x *layers.Node, mode Mode) *layers.Node {
	see := func(name string, n *layers.Node) *layers.Node {
		if mode.Observe != nil && n != nil {
			g.Keep(n)
			mode.Observe(name, n)
		}
		return n
	}
	blocks := t.Blocks()
	first, end := mode.part(blocks)
	for _, name := range blocks[first:end] {
		switch name {
		case "patch_embed":
			x = g.ConvModule("patch_embed.proj", x, t.dim, engine.SquareConv(t.patch, t.patch, 0), true)
		case "tokens":
			x = g.TokensModule("tokens", x, "cls_token", "pos_embed")
		case "norm":
			x = g.LayerNormModule("norm", x, vitEps)
		default:
			attention := g.SelfAttentionModule(name+".attn", g.LayerNormModule(name+".norm1", x, vitEps), t.heads)
			x = g.Add(x, see(name+".attn", attention))
			mlp := g.MLPModule(name+".mlp", g.LayerNormModule(name+".norm2", x, vitEps), t.hidden)
			x = g.Add(x, see(name+".mlp", mlp))
		}
		x = see(name, x)
	}
	return x
}

// CheckSize refuses sides that do not divide into patches: the convolution
// would drop the rest of the picture without a word.
func (t *transformer) CheckSize(side int) error {
	if side%t.patch != 0 {
		return fmt.Errorf("%d pixels do not divide into patches of %d", side, t.patch)
	}
	return nil
}

func (t *transformer) Channels() int { return t.dim }

func (t *transformer) Tokens() bool { return true }

func (t *transformer) Blocks() []string {
	names := []string{"patch_embed", "tokens"}
	for i := range t.depth {
		names = append(names, fmt.Sprintf("blocks.%d", i))
	}
	return append(names, "norm")
}

func (t *transformer) Preprocessing() Preprocessing { return t.pictures }

func (t *transformer) Ignored() []string { return []string{"head.*", "pre_logits.*"} }

// Fit resamples the position embedding (1, 1+n*n, D) for another number of
// patches as timm does when it loads a file: the class token's row stays, the
// grid of the others is interpolated bicubically (kernel of a = -0.75, corners
// not aligned, no antialiasing).
func (t *transformer) Fit(name string, values []float32, have, want []int) ([]float32, bool) {
	if name != "pos_embed" || len(have) != 3 || len(want) != 3 || have[0] != 1 || want[0] != 1 || have[2] != want[2] {
		return nil, false
	}
	from, to := squareRoot(have[1]-1), squareRoot(want[1]-1)
	if from == 0 || to == 0 || len(values) != have[1]*have[2] {
		return nil, false
	}
	d := have[2]
	out := append(make([]float32, 0, want[1]*d), values[:d]...)
	return append(out, resampleGrid(values[d:], from, to, d)...), true
}

// squareRoot returns n such that n*n = k, or 0.
func squareRoot(k int) int {
	n := 1
	for n*n < k {
		n++
	}
	if n*n != k {
		return 0
	}
	return n
}

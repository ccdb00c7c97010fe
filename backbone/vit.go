package backbone

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

// transformer is a vision transformer (Dosovitskiy et al. 2021) with timm's names of
// parameters: normalization first, class token, learned positions. All families are this
// one description.
type transformer struct {
	patch int
	vitSize
	layerScale bool // DINOv2
	registers  int  // tokens between class token and places
	normPre    bool // a normalization before the first block, and patches without a bias: CLIP
	projection int  // features of a projection behind the last normalization; 0 for none
	grid       int  // side of the table of positions; 0 for that of the pictures
	positions  Positions
	eps        float32 // of layer normalization
	gelu       engine.GELUForm
	pictures   Preprocessing
}

// vitSize is what differs between sizes of one family.
type vitSize struct{ dim, depth, heads, hidden int }

// vitSizes are those of all families, by the letter in a network's name.
func vitSizes() map[string]vitSize {
	return map[string]vitSize{
		"t": {192, 12, 3, 768}, "s": {384, 12, 6, 1536}, "b": {768, 12, 12, 3072}, "l": {1024, 24, 16, 4096},
	}
}

// vitFamily is a family: the sizes and patches it has, and what its networks have in common.
type vitFamily struct {
	name, suffix string
	members      string // size and patch, as in "b16 b32", between name and suffix
	make         func(size string, patch int) transformer
	// resize is the shorter side of a picture of which 224 pixels are cut out.
	resize int
	pixels string
}

// vitFamilies is the table of vision transformers. A grid is that of the public files where
// a family resamples their positions in each pass; the others bring them to the pictures
// when a file is read.
func vitFamilies() []vitFamily {
	plain := func(string, int) transformer { return transformer{positions: PositionsAntialias, eps: 1e-6} }
	dino := func(_ string, patch int) transformer {
		return transformer{grid: 224 / patch, positions: PositionsOffset, eps: 1e-6}
	}
	dinov2 := func(string, int) transformer {
		return transformer{grid: 518 / 14, positions: PositionsOffset, eps: 1e-6, layerScale: true}
	}
	registers := func(string, int) transformer {
		return transformer{grid: 518 / 14, positions: PositionsAntialias, eps: 1e-6, layerScale: true, registers: 4}
	}
	clip := func(form engine.GELUForm) func(string, int) transformer {
		return func(size string, _ int) transformer {
			width := map[string]int{"b": 512, "l": 768}[size]
			return transformer{normPre: true, projection: width, positions: PositionsAntialias, eps: 1e-5, gelu: form}
		}
	}
	return []vitFamily{
		{"vit", "", "t8 t14 t16 t32 s8 s14 s16 s32 b8 b14 b16 b32 l8 l14 l16 l32", plain, 248, "half"},
		{"dino", "", "s16 s8 b16 b8", dino, 256, "imagenet"},
		{"dinov2", "", "s14 b14 l14", dinov2, 256, "imagenet"},
		{"dinov2", "reg4", "s14 b14 l14", registers, 256, "imagenet"},
		{"clip", "", "b32 b16 l14", clip(engine.GELUQuick), 224, "clip"},
		{"openclip", "", "b32 b16 l14", clip(engine.GELUErf), 224, "clip"},
	}
}

// transformers are the rows of the table of backbones for vitFamilies.
func transformers() []entry {
	var rows []entry
	for _, f := range vitFamilies() {
		takes := []string{optEps, optGELU, optPositions, optGrid}
		if f.pixels == "clip" {
			takes = append(takes, optProjection)
		}
		for _, m := range strings.Fields(f.members) {
			rows = append(rows, entry{f.name + m + f.suffix, func(o options) (Backbone, error) { return f.network(m, o) }, takes})
		}
	}
	return rows
}

// pattern is how help writes the names of a family: "clip{b32,b16,l14}".
func (f vitFamily) pattern() string {
	return f.name + "{" + strings.Join(strings.Fields(f.members), ",") + "}" + f.suffix
}

// network returns a member of a family.
func (f vitFamily) network(member string, o options) (Backbone, error) {
	size := member[:1]
	patch, err := strconv.Atoi(member[1:])
	if err != nil {
		return nil, err
	}
	t := f.make(size, patch)
	t.patch, t.vitSize = patch, vitSizes()[size]
	t.pictures = o.pictures(224, f.resize, f.pixels)
	t.pictures.Bicubic = true
	o.vit.apply(&t)
	return &t, nil
}

// vitOptions are the options of vision transformers; nil and 0 stand for the family's.
type vitOptions struct {
	eps          float32
	gelu         *engine.GELUForm
	positions    Positions
	grid         *int
	noProjection bool
}

func (o vitOptions) apply(t *transformer) {
	if o.eps > 0 {
		t.eps = o.eps
	}
	if o.gelu != nil {
		t.gelu = *o.gelu
	}
	if o.positions != "" {
		t.positions = o.positions
	}
	if o.grid != nil {
		t.grid = *o.grid
	}
	if o.noProjection {
		t.projection = 0
	}
}

// Forward returns the normalized tokens (B, 1+R+T, Channels): the class token, registers,
// and the places of the picture.
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
	blocks = blocks[first:end]
	for i := 0; i < len(blocks); i++ {
		name := blocks[i]
		switch name {
		case "patch_embed":
			x = g.ConvModule("patch_embed.proj", x, t.dim, engine.SquareConv(t.patch, t.patch, 0), !t.normPre)
		case "tokens":
			x = g.TokensModule("tokens", x, t.tokenizer())
		case "norm_pre", "norm":
			x = g.LayerNormModule(name, x, t.eps)
		case "head":
			x = t.project(g, x)
		default: // all of the numbered blocks
			n := i
			for n < len(blocks) && strings.HasPrefix(blocks[n], numberedBlock) {
				n++
			}
			x = mode.chain(g, x, n-i, func(j int, x *layers.Node) *layers.Node {
				return see(blocks[i+j], t.block(g, blocks[i+j], x, mode, see))
			})
			i = n - 1
			continue
		}
		x = see(name, x)
	}
	return x
}

// numberedBlock begins the names of attention and MLP.
const numberedBlock = "blocks."

// block adds attention and MLP.
func (t *transformer) block(g *layers.Graph, name string, x *layers.Node, mode Mode, see func(string, *layers.Node) *layers.Node) *layers.Node {
	b := layers.TransformerBlock{
		Heads: t.heads, Hidden: t.hidden, Eps: t.eps, GELU: t.gelu, LayerScale: t.layerScale,
		DropPath: mode.DropPath * t.share(name), LoRA: mode.LoRA,
	}
	if mode.Observe != nil {
		b.Observe = func(part string, n *layers.Node) { see(name+"."+part, n) }
	}
	return g.TransformerBlockModule(name, x, b)
}

// share is how far a block lies from the first to the last, 0 to 1.
func (t *transformer) share(block string) float64 {
	i, err := strconv.Atoi(strings.TrimPrefix(block, numberedBlock))
	if err != nil || t.depth < 2 {
		return 0
	}
	return float64(i) / float64(t.depth-1)
}

// project adds CLIP's projection, which has no bias, of each token.
func (t *transformer) project(g *layers.Graph, x *layers.Node) *layers.Node {
	w := g.Param("head.weight", layers.Weight, layers.Normal(0.02), t.projection, t.dim)
	return g.Linear("head", x, w, nil)
}

func (t *transformer) tokenizer() layers.Tokenizer {
	return layers.Tokenizer{
		Class: "cls_token", Position: "pos_embed", Stored: t.grid * t.grid, Registers: "reg_token", N: t.registers,
		Mix: func(h, w int) []float32 {
			if h == t.grid && w == t.grid {
				return nil
			}
			return t.positions.matrix(t.grid, h, w)
		},
	}
}

// CheckSize refuses sides that do not divide into patches: the convolution
// would drop the rest of the picture without a word.
func (t *transformer) CheckSize(side int) error {
	if side%t.patch != 0 {
		return fmt.Errorf("%d pixels do not divide into patches of %d", side, t.patch)
	}
	return nil
}

func (t *transformer) Channels() int {
	if t.projection > 0 {
		return t.projection
	}
	return t.dim
}

func (t *transformer) Tokens() bool { return true }

func (t *transformer) Blocks() []string {
	names := []string{"patch_embed", "tokens"}
	if t.normPre {
		names = append(names, "norm_pre")
	}
	for i := range t.depth {
		names = append(names, fmt.Sprintf("%s%d", numberedBlock, i))
	}
	names = append(names, "norm")
	if t.projection > 0 {
		names = append(names, "head")
	}
	return names
}

func (t *transformer) Preprocessing() Preprocessing { return t.pictures }

// Ignored are classifiers. Beside CLIP's projection timm has a bias of zeros.
func (t *transformer) Ignored() []string {
	if t.projection > 0 {
		return []string{"head.bias"}
	}
	return []string{"head.*", "pre_logits.*"}
}

// Fit brings the table of positions to another number of places, as the network does it
// (Positions): the class token's row stays. A table without such a row, which timm has
// where the class token takes no position (no_embed_class), gets one of zeros.
func (t *transformer) Fit(name string, values []float32, have, want []int) ([]float32, bool) {
	if name != "pos_embed" || len(have) != 3 || len(want) != 3 || have[0] != 1 || want[0] != 1 || have[2] != want[2] || len(values) != have[1]*have[2] {
		return nil, false
	}
	d := have[2]
	class, grid := values[:d], values[d:]
	if squareRoot(have[1]) > 0 { // one more is then no square
		class, grid = make([]float32, d), values
	}
	from, to := squareRoot(len(grid)/d), squareRoot(want[1]-1)
	if from == 0 || to == 0 {
		return nil, false
	}
	if from != to {
		grid = t.positions.resampleGrid(grid, from, to, to, d)
	}
	return slices.Concat(class, grid), true
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

package layers

import "github.com/vernier-ml/vernier/engine"

// TransformerBlock describes a block of a vision transformer, which normalizes first
// (Dosovitskiy et al. 2021, Eq. 2 and 3).
type TransformerBlock struct {
	Heads  int // of the attention
	Hidden int // features of the middle of the MLP
	Eps    float32
	GELU   engine.GELUForm
	// LayerScale multiplies what attention and MLP give by vectors that are trained,
	// ls1.gamma and ls2.gamma (Touvron et al. 2021, CaiT, Eq. 2).
	LayerScale bool
	// LoRA changes the layers qkv, where queries, keys and values have matrices of their own,
	// and proj of the attention.
	LoRA LoRA
	// DropPath is the probability with which an image skips the attention, and again the
	// MLP, in training; 0 in evaluation. See Graph.DropPath.
	DropPath float64
	// Observe, if not nil, is called with what attention ("attn") and MLP ("mlp") give,
	// scaled where LayerScale is set, before it is added.
	Observe func(part string, n *Node)
}

// tokenDeviation is the deviation of a vision transformer's initial weights.
const tokenDeviation = 0.02

// layerScaleStart is where the factors of LayerScale begin.
const layerScaleStart = 1e-5

// TransformerBlockModule adds x + name.attn(name.norm1(x)), and to that
// name.mlp(name.norm2(...)), of tokens x (B, T, D).
func (g *Graph) TransformerBlockModule(name string, x *Node, b TransformerBlock) *Node {
	scale := func(part string) string {
		if !b.LayerScale {
			return ""
		}
		return name + part
	}
	// add adds a branch to x, in one op with its last product where nothing comes between.
	add := func(part string, x *Node, branch func(residual *Node) *Node) *Node {
		if b.Observe == nil && b.DropPath == 0 && g.accumulates() {
			return branch(x)
		}
		y := branch(nil)
		if b.Observe != nil {
			b.Observe(part, y)
		}
		return g.Add(x, g.DropPath(name+"."+part+".path", y, b.DropPath))
	}
	x = add("attn", x, func(residual *Node) *Node {
		return g.selfAttention(name+".attn", scale(".ls1.gamma"), g.LayerNormModule(name+".norm1", x, b.Eps), residual, b.Heads, b.LoRA)
	})
	return add("mlp", x, func(residual *Node) *Node {
		return g.mlp(name+".mlp", scale(".ls2.gamma"), g.LayerNormModule(name+".norm2", x, b.Eps), residual, b.Hidden, b.GELU)
	})
}

// SelfAttentionModule adds multi-head self-attention of tokens x (B, T, D):
// name.qkv, the attention, name.proj.
func (g *Graph) SelfAttentionModule(name string, x *Node, heads int) *Node {
	return g.selfAttention(name, "", x, nil, heads, LoRA{})
}

func (g *Graph) selfAttention(name, scale string, x, residual *Node, heads int, l LoRA) *Node {
	if g.bad(name, x) {
		return nil
	}
	d := x.Shape()[len(x.Shape())-1]
	qkv := g.lowRank(name+".qkv", "", x, g.TokenLinearModule(name+".qkv", x, 3*d), 3, l)
	y := g.Attention(name, qkv, heads)
	return g.lowRank(name+".proj", scale, y, g.tokenLinear(name+".proj", scale, y, residual, d), 1, l)
}

// mlp adds name.fc1 to hidden features, a GELU, and name.fc2 back to the features of x.
func (g *Graph) mlp(name, scale string, x, residual *Node, hidden int, form engine.GELUForm) *Node {
	if g.bad(name, x) {
		return nil
	}
	d := x.Shape()[len(x.Shape())-1]
	y := g.GELU(name+".act", g.TokenLinearModule(name+".fc1", x, hidden), form)
	return g.tokenLinear(name+".fc2", scale, y, residual, d)
}

// ScaledLinearModule is TokenLinearModule with its output times a vector of the name scale,
// LayerScale.
func (g *Graph) ScaledLinearModule(name, scale string, x *Node, out int) *Node {
	return g.tokenLinear(name, scale, x, nil, out)
}

// tokenLinear is TokenLinearModule with its output times a vector of the name scale, unless
// that is empty. The rows of weights and bias are multiplied in place of the output: they
// are fewer, and the output need not be kept for the gradient of the vector. residual, unless
// it is nil, is added.
func (g *Graph) tokenLinear(name, scale string, x, residual *Node, out int) *Node {
	if g.bad(name, x) {
		return nil
	}
	in := x.Shape()[len(x.Shape())-1]
	w := g.Param(name+".weight", Weight, Normal(tokenDeviation), out, in)
	b := g.Param(name+".bias", Bias, Constant(0), out)
	if scale != "" {
		by := g.Param(scale, NormGain, Constant(layerScaleStart), out)
		w, b = g.ScaleRows(name+".scaled weight", w, by), g.ScaleRows(name+".scaled bias", b, by)
	}
	return g.linear(name, x, w, b, residual)
}

// Tokenizer describes how the tokens of a vision transformer are made of a map.
type Tokenizer struct {
	// Class and Position name the class token (1, 1, D) and the table of positions, of
	// 1 + Stored rows, the class token's first.
	Class, Position string
	// Stored is the number of places in the table; 0 for those of the map.
	Stored int
	// Registers are tokens (1, N, D) of that name between the class token and those of the
	// map, which have no position; N is 0 for none (Darcet et al. 2024).
	Registers string
	N         int
	// Mix returns the rows (H*W, Stored) in which the table's places become those of a map,
	// row-major; nil where they are the same. It is asked where Stored is not 0.
	Mix func(h, w int) []float32
}

// TokensModule adds the tokens of a map x (B, D, H, W): the class token, registers, and
// the places of the map, (B, 1+N+H*W, D), with their positions.
func (g *Graph) TokensModule(name string, x *Node, t Tokenizer) *Node {
	if g.bad(name, x) {
		return nil
	}
	s := x.Shape()
	if len(s) != 4 {
		return g.Tokens(name, x, nil, nil) // says what is wrong
	}
	places, stored := s[2]*s[3], t.Stored
	var mix []float32
	if stored == 0 {
		stored = places
	} else {
		mix = t.Mix(s[2], s[3])
	}
	prefix := g.Param(t.Class, Weight, Normal(1e-6), 1, 1, s[1])
	pos := g.Param(t.Position, Weight, Normal(tokenDeviation), 1, 1+stored, s[1])
	if t.N > 0 {
		prefix = g.Concat(name+".prefix", prefix, g.Param(t.Registers, Weight, Normal(1e-6), 1, t.N, s[1]))
	}
	if mix != nil || t.N > 0 {
		pos = g.MixRows(name+".positions", pos, besideClass(mix, t.N, places, stored))
	}
	return g.Tokens(name, x, prefix, pos)
}

// besideClass adds the row and the column of the class token, and empty rows of registers,
// to rows (places, stored); nil stands for the identity.
func besideClass(mix []float32, registers, places, stored int) []float32 {
	width := 1 + stored
	m := make([]float32, (1+registers+places)*width)
	m[0] = 1
	for i := range places {
		row := m[(1+registers+i)*width+1:][:stored]
		if mix == nil {
			row[i] = 1
		} else {
			copy(row, mix[i*stored:])
		}
	}
	return m
}

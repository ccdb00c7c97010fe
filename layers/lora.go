package layers

import "fmt"

// LoRA describes a change of low rank that is trained in place of the weights of linear
// layers (Hu et al. 2022): for each layer y = W x + b, matrices A (Rank, in) and B (out, Rank)
// with y = W x + b + Alpha/Rank B A x. B starts at 0, so that nothing changes at first, and A
// uniform within 1/sqrt(in). The zero value is none.
type LoRA struct {
	Rank int `json:"rank"`
	// Alpha is the numerator of the factor; 0 stands for 2 Rank.
	Alpha float64 `json:"alpha"`
}

// Suffixes of the names of A and B, behind that of the layer.
const (
	LoRAA = ".lora_A"
	LoRAB = ".lora_B"
)

// Factor is Alpha/Rank.
func (l LoRA) Factor() float64 {
	if l.Alpha == 0 {
		return 2
	}
	return l.Alpha / float64(l.Rank)
}

// Spread returns B as it stands beside A where the outputs of a layer are parts, one behind the
// other, with matrices of their own: b holds (out, rank), row-major, of which the first
// out/parts rows are the first part's. The result (out, parts*rank) has each part in columns of
// its own, times Factor, and 0 elsewhere, so that its product with A (parts*rank, in) is what
// the weights change by.
func (l LoRA) Spread(b []float32, parts int) []float32 {
	out, width := len(b)/l.Rank, parts*l.Rank
	spread, factor := make([]float32, out*width), float32(l.Factor())
	for i := range out {
		at := i*width + i*parts/out*l.Rank
		for k, v := range b[i*l.Rank : (i+1)*l.Rank] {
			spread[at+k] = factor * v
		}
	}
	return spread
}

// lowRank adds the change of low rank to y, which the linear layer of that name makes of tokens
// x (B, T, in) in parts of equal size. Its rows are multiplied by the vector of the name scale
// as those of the layer, unless that is empty.
func (g *Graph) lowRank(name, scale string, x, y *Node, parts int, l LoRA) *Node {
	if l.Rank == 0 || g.bad(name, x, y) {
		return y
	}
	in, out := x.Shape()[len(x.Shape())-1], y.Shape()[len(y.Shape())-1]
	a := g.Param(name+LoRAA, LowRank, UniformFanIn(in), parts*l.Rank, in)
	b := g.spread(name+LoRAB, g.Param(name+LoRAB, LowRank, Constant(0), out, l.Rank), parts, float32(l.Factor()))
	if scale != "" {
		b = g.ScaleRows(name+".scaled"+LoRAB, b, g.Param(scale, NormGain, Constant(layerScaleStart), out))
	}
	low := g.Linear(name+LoRAA+" x", x, a, nil)
	if g.accumulates() {
		return g.linear(name+" + lora", low, b, nil, y)
	}
	return g.Add(y, g.Linear(name+LoRAB+" x", low, b, nil))
}

// spread adds what LoRA.Spread makes of b (out, rank).
func (g *Graph) spread(name string, b *Node, parts int, factor float32) *Node {
	if parts == 1 {
		return g.Scale(name+" scaled", b, factor)
	}
	if g.bad(name, b) {
		return nil
	}
	out := b.Shape()[0]
	columns := make([]*Node, parts)
	for i := range columns {
		rows := make([]float32, out)
		for k := i * out / parts; k < (i+1)*out/parts; k++ {
			rows[k] = factor
		}
		of := g.constant(fmt.Sprintf("%s rows %d", name, i), rows)
		columns[i] = g.ScaleRows(fmt.Sprintf("%s part %d", name, i), b, of)
	}
	return g.Concat(name+" spread", columns...)
}

// constant adds an input that holds v, of one axis.
func (g *Graph) constant(name string, v []float32) *Node {
	n := g.Input(name, len(v))
	if n == nil {
		return nil
	}
	if err := g.eng.Write(g.Value(n), v); err != nil {
		return g.fail("input "+name, err)
	}
	return n
}

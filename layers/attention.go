package layers

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// Attention adds multi-head attention among the tokens of each image: qkv
// (B, T, 3D) holds queries, keys and values as AttentionSpec says, the result
// is (B, T, D). Scores are scaled by 1/sqrt(D/heads).
func (g *Graph) Attention(name string, qkv *Node, heads int) *Node {
	if g.bad(name, qkv) {
		return nil
	}
	s := qkv.Shape()
	if len(s) != 3 || heads < 1 || s[2]%(3*heads) != 0 {
		return g.fail(name, fmt.Errorf("attention of %d heads needs (B, T, 3D) with D a multiple of the heads, got %v", heads, s))
	}
	d := s[2] / 3
	spec := engine.AttentionSpec{Heads: heads, Scale: float32(1 / math.Sqrt(float64(d/heads)))}
	var y, logSum *Node
	product := 2 * s[0] * s[1] * s[1] * d // of scores, or of sums weighted by them
	out := g.as(KindAttention, spec).flops(2*product).applyMulti(name, [][]int{{s[0], s[1], d}, {s[0], heads, s[1]}}, []*Node{qkv}, func(out, in []engine.Tensor) error {
		return g.eng.Attention(out[0], out[1], in[0], spec)
	}, func(dy *Node) []*Node {
		return []*Node{g.does("attention grad").flops(4*product).apply(name+" grad", s, []*Node{dy, y, logSum, qkv}, func(dqkv engine.Tensor, in []engine.Tensor) error {
			return g.eng.AttentionGrad(dqkv, in[0], in[1], in[2], in[3], spec)
		}, nil)}
	})
	y, logSum = out[0], out[1]
	return y
}

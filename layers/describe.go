package layers

import "fmt"

// Kind says which of the package's forward ops a Step is.
type Kind uint8

// The kinds, with the type of their Spec and their inputs. Optional inputs are
// in brackets.
const (
	KindNone       Kind = iota // gradients, losses and fused ops, which are not described
	KindAdd                    // nil; a, b
	KindConcat                 // nil; the parts
	KindScale                  // float32, the factor; x
	KindReLU                   // nil; x
	KindReLU6                  // nil; x
	KindGELU                   // GELUForm; x
	KindSoftmax                // nil; x
	KindLogSoftmax             // nil; x
	KindConv                   // ConvSpec; x, weights, [bias]
	KindLinear                 // nil; x, weights, [bias]
	KindBatchNorm              // float32, epsilon; x, gamma, beta, mean, variance; uses the batch's statistics
	KindFrozenNorm             // float32, epsilon; x, gamma, beta, mean, variance
	KindLayerNorm              // float32, epsilon; x, gamma, beta
	KindRowNorm                // RowNormSpec; x
	KindMaxPool                // PoolSpec; x
	KindAvgPool                // PoolSpec; x
	KindGlobalAvg              // nil; x
	KindGlobalMax              // nil; x
	KindAttention              // AttentionSpec; packed queries, keys and values
	KindTokens                 // TokensSpec; x, [prefix], [position]
	KindMap                    // [2]int, height and width; tokens
	KindToken                  // int, the token; x
	KindMatMul                 // nil; a, b
	KindReshape                // nil; x
	KindScaleRows              // nil; x, the factors
	KindPairwise               // Metric; a, [b]
	KindExpScale               // nil; x, logarithms of its factors
	KindHostOp                 // of a program's own, which Steps cannot describe
)

// kindNames are what an Observer reads.
var kindNames = map[Kind]string{
	KindAdd: "add", KindConcat: "concat", KindScale: "scale", KindReLU: "relu", KindReLU6: "relu6", KindGELU: "gelu", KindSoftmax: "softmax",
	KindLogSoftmax: "log softmax", KindConv: "conv", KindLinear: "linear", KindBatchNorm: "batch norm", KindFrozenNorm: "frozen norm",
	KindLayerNorm: "layer norm", KindRowNorm: "row norm", KindMaxPool: "max pool", KindAvgPool: "average pool",
	KindGlobalAvg: "global average", KindGlobalMax: "global max", KindAttention: "attention", KindTokens: "tokens", KindMap: "map",
	KindToken: "token", KindMatMul: "matmul", KindReshape: "reshape", KindScaleRows: "scale rows", KindPairwise: "pairwise",
	KindExpScale: "exp scale", KindHostOp: "host op",
}

// String names a kind, as in "layer norm".
func (k Kind) String() string { return kindNames[k] }

// TokensSpec says which of its optional inputs a KindTokens step has.
type TokensSpec struct{ Prefix, Position bool }

// Step is a forward op of a graph as data, for writing a network in another
// system's form.
type Step struct {
	Name string // that of the graph, not necessarily unique
	Kind Kind
	Spec any
	In   []*Node // inputs of the graph, parameters, or outputs of earlier steps
	Out  *Node
}

// Steps returns the ops that out depends on, in an order in which they can be
// computed. Ops that cannot be described (gradients, losses, further outputs
// of an op) are an error.
func (g *Graph) Steps(out *Node) ([]Step, error) {
	if g.err != nil {
		return nil, g.err
	}
	if out == nil {
		return nil, fmt.Errorf("layers: steps to a node that is missing")
	}
	wanted := map[*Node]bool{out: true}
	for i := len(g.ops) - 1; i >= 0; i-- { // consumers come after what they use
		if o := g.ops[i]; wanted[o.node] {
			for _, n := range o.in {
				wanted[n] = true
			}
		}
	}
	var steps []Step
	for _, o := range g.ops {
		if !wanted[o.node] {
			continue
		}
		if o.kind == KindHostOp {
			return nil, fmt.Errorf("node %q is an op of the program's own (HostOp), which has no description", o.name)
		}
		if o.kind == KindNone {
			return nil, fmt.Errorf("node %q is a gradient, a loss, a further output or several layers in one (see Unfused), which has no description", o.name)
		}
		steps = append(steps, Step{o.name, o.kind, o.spec, o.in, o.node})
	}
	return steps, nil
}

// ParamOf returns the parameter behind a node of the graph, or nil.
func (g *Graph) ParamOf(n *Node) *Param {
	for name, used := range g.used {
		if used == n {
			return g.params.Get(name)
		}
	}
	return nil
}

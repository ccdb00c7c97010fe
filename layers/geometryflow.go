package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// GeometryFlow adds the geometry flow layer of Li et al. 2023 ("Geometry
// flow-based deep Riemannian metric learning", Eq. 14), which pulls the items of
// a batch towards their neighbors:
//
//	out_j = (s_j + lambda sum over l of w_jl s_l) / (1 + lambda sum over l of w_jl)
//
// s (N, ...) is what a convolution and its activation made of x (N, C, ...).
// The weights come from x alone (Eq. 11 and 12, A1 to A4): w_jl = 1 - eps R_jl
// where x_j and x_l are neighbors, else 0, and R_jl is the angle between the
// tangent spaces of their neighborhoods, summed over channels, divided by their
// distance. FlowSpec says what of this can be chosen.
//
// The weights are constants for the gradient (Eq. 15) unless FlowSpec.Full, so
// that in reverse the gradient is multiplied by the transposed matrix. Of size N^2
// there are Gram matrices of the channels, (C, N, N), and nothing larger. Lambda 0 and a batch
// of one are exactly the identity and add nothing.
//
// What comes out for an item depends on the items beside it.
func (g *Graph) GeometryFlow(name string, x, s *Node, spec FlowSpec) *Node {
	if g.bad(name, x, s) {
		return nil
	}
	if err := spec.Validate(); err != nil {
		return g.fail(name, err)
	}
	shape := x.Shape()
	if len(shape) < 2 || len(s.Shape()) < 2 || shape[0] != s.Shape()[0] {
		return g.fail(name, fmt.Errorf("%s %v and %s %v are not two batches of one size", g.nameOf(x), shape, g.nameOf(s), s.Shape()))
	}
	n, channels := shape[0], shape[1]
	if spec.Lambda == 0 || n == 1 {
		return s
	}
	f := &flow{spec: spec, stats: FlowStats{Name: name}, n: n, channels: channels, numbers: shape.TotalSize() / n,
		host: make([]float32, channels*n*n)}
	g.flows = append(g.flows, f)
	from := g.mix(name+" differences", g.differences(name, n), x)
	if from == nil {
		return nil
	}
	if !spec.Full {
		delete(g.needs, from) // the weights are constants
	}
	return g.mix(name, g.flowMatrix(f, g.channelGrams(name+" grams", from)), s)
}

// channelGrams adds the Gram matrices (C, N, N) of the channels of x.
func (g *Graph) channelGrams(name string, x *Node) *Node {
	n, channels := x.Shape()[0], x.Shape()[1]
	return g.does("channel grams").flops(2*n*x.Shape().TotalSize()).apply(name, []int{channels, n, n}, []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.ChannelGrams(y, in[0])
	}, func(dy *Node) []*Node { return []*Node{g.channelGramsGrad(name+" grad", dy, x)} })
}

// flowMatrix adds the matrix of Eq. 14 from Gram matrices.
func (g *Graph) flowMatrix(f *flow, grams *Node) *Node {
	name := f.stats.Name + " weights"
	shape := []int{f.n, f.n}
	return g.does("flow weights").apply(name, shape, []*Node{grams}, func(y engine.Tensor, in []engine.Tensor) error {
		if err := g.eng.Read(f.host, in[0]); err != nil {
			return err
		}
		m, err := f.matrix(f.host)
		if err != nil {
			return err
		}
		return g.eng.Write(y, m)
	}, func(dy *Node) []*Node {
		dm := make([]float32, f.n*f.n)
		return []*Node{g.does("flow weights grad").apply(name+" grad", grams.Shape(), []*Node{dy, grams}, func(dx engine.Tensor, in []engine.Tensor) error {
			if err := g.eng.Read(dm, in[0]); err != nil {
				return err
			}
			if err := g.eng.Read(f.host, in[1]); err != nil {
				return err
			}
			return g.eng.Write(dx, f.gradient(f.host, dm))
		}, nil)}
	})
}

// mix adds m (N, N) times s (N, ...) over axis 0.
func (g *Graph) mix(name string, m, s *Node) *Node {
	if g.bad(name, m, s) {
		return nil
	}
	product := 2 * s.Shape()[0] * s.Shape().TotalSize()
	return g.does("mix").flops(product).apply(name, s.Shape(), []*Node{m, s}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.Mix(y, in[0], in[1], false)
	}, func(dy *Node) []*Node {
		d := make([]*Node, 2)
		if g.needs[m] {
			d[0] = g.itemProducts(name+" grad 0", dy, s)
		}
		if g.needs[s] {
			d[1] = g.does("mix").flops(product).apply(name+" grad 1", s.Shape(), []*Node{m, dy}, func(dx engine.Tensor, in []engine.Tensor) error {
				return g.eng.Mix(dx, in[0], in[1], true)
			}, nil)
		}
		return d
	})
}

// differences is the matrix that takes the first item off every item. Distances
// and covariances stay what they are, but Gram matrices then hold the spread of
// a batch instead of its place, which float32 needs; and unlike differences to
// the mean, those of equal items stay equal to the last bit.
func (g *Graph) differences(name string, n int) *Node {
	m := g.Input(name+" reference", n, n)
	if m == nil {
		return nil
	}
	host := make([]float32, n*n)
	for i := 1; i < n; i++ {
		host[i*n], host[i*n+i] = -1, 1
	}
	if err := g.eng.Write(g.Value(m), host); err != nil {
		return g.fail(name, err)
	}
	return m
}

// FlowStats says what a geometry flow layer found in the latest batch.
type FlowStats struct {
	Name string `json:"name"` // of the layer
	// Neighbors is the mean number of other images within Delta of an image.
	Neighbors float64 `json:"neighbours"`
	// Weight is the mean w over all pairs of neighbors, 0 if there are none.
	Weight float64 `json:"weight"`
	// Mixed is the mean share that other images have in an output: 0 is the
	// identity.
	Mixed float64 `json:"mixed"`
}

// Flows returns what every geometry flow layer of the graph found in the latest
// Run, in the order in which they were added.
func (g *Graph) Flows() []FlowStats {
	var list []FlowStats
	for _, f := range g.flows {
		list = append(list, f.stats)
	}
	return list
}

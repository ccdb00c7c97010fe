package layers

import "fmt"

// HostLoss adds a scalar, of shape (1), that f computes on the host from a
// small matrix d: f gets the values of d, row-major, returns the scalar and
// overwrites grad with its derivative. It is the meeting point of engine and
// losses: of all that a step computes only d and its gradient travel.
func (g *Graph) HostLoss(name string, d *Node, f func(values, grad []float64) (float64, error)) *Node {
	if g.bad(name, d) {
		return nil
	}
	n := d.Shape().TotalSize()
	host := make([]float32, n)
	values, grad := make([]float64, n), make([]float64, n)
	scalar := make([]float32, 1)
	run := func(out, in []Tensor) error {
		if err := g.eng.Read(host, in[0]); err != nil {
			return err
		}
		for i, v := range host {
			values[i] = float64(v)
		}
		value, err := f(values, grad)
		if err != nil {
			return err
		}
		scalar[0] = float32(value)
		for i, v := range grad {
			host[i] = float32(v)
		}
		if err := g.eng.Write(out[1], host); err != nil {
			return err
		}
		return g.eng.Write(out[0], scalar)
	}
	var dd *Node
	out := g.applyMulti(name, [][]int{{1}, d.Shape()}, []*Node{d}, run, func(dl *Node) []*Node {
		if dl == g.one {
			return []*Node{dd}
		}
		seed := make([]float32, 1)
		return []*Node{g.apply(name+" grad", d.Shape(), []*Node{dd, dl}, func(out Tensor, in []Tensor) error {
			if err := g.eng.Read(seed, in[1]); err != nil {
				return err
			}
			return g.eng.Scale(out, in[0], seed[0])
		}, nil)}
	})
	if out[0] == nil {
		return nil
	}
	dd = out[1]
	return out[0]
}

// Scalar reads the value of a node of one element after a Run.
func (g *Graph) Scalar(n *Node) (float64, error) {
	v := g.Value(n)
	if v == nil || v.Size() != 1 {
		return 0, fmt.Errorf("layers: %s holds no scalar", g.nameOf(n))
	}
	var host [1]float32
	if err := g.eng.Read(host[:], v); err != nil {
		return 0, err
	}
	return float64(host[0]), nil
}

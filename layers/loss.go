package layers

import (
	"fmt"

	"github.com/vernier-ml/vernier/engine"
)

// HostLoss adds a scalar, of shape (1), that f computes on the host from small
// tensors: f gets the values of each input, row-major, returns the scalar and
// overwrites the gradient of each input with its derivative; gradients of
// inputs that need none are nil. It is the meeting point of engine and losses:
// of all that a step computes only such a matrix and its gradient travel.
func (g *Graph) HostLoss(name string, f func(values, grads [][]float64) (float64, error), in ...*Node) *Node {
	if g.bad(name, in...) {
		return nil
	}
	h := hostLoss{g: g, eng: g.eng, f: f, values: make([][]float64, len(in)), grads: make([][]float64, len(in))}
	shapes := [][]int{{1}}
	for i, n := range in {
		size := n.Shape().TotalSize()
		h.values[i] = make([]float64, size)
		if g.needs[n] {
			h.grads[i] = make([]float64, size)
		}
		h.host = make([]float32, max(size, len(h.host)))
		shapes = append(shapes, g.wanted(n))
	}
	var out []*Node
	out = g.doesLoss("host loss").applyMulti(name, shapes, in, h.run, func(dl *Node) []*Node {
		if dl == g.one {
			return out[1:]
		}
		d := make([]*Node, len(in))
		for i, n := range in {
			if g.needs[n] {
				d[i] = g.timesScalar(fmt.Sprintf("%s grad %d", name, i), out[1+i], dl)
			}
		}
		return d
	})
	return out[0]
}

// BeforeHost sets what later runs call before a HostLoss waits for its inputs, when a
// device is still at work on what comes before; nil for nothing.
func (g *Graph) BeforeHost(f func() error) { g.before = f }

// hostLoss holds the host's copies of what an op reads and writes.
type hostLoss struct {
	g             *Graph
	eng           engine.Engine
	f             func(values, grads [][]float64) (float64, error)
	values, grads [][]float64
	host          []float32
}

func (h *hostLoss) run(out, in []engine.Tensor) error {
	if h.g.before != nil {
		if err := h.g.before(); err != nil {
			return err
		}
	}
	o, value := h.g.observer, 0.
	if err := engine.Observe(o, &lossDownload, func() error { return h.read(in) }); err != nil {
		return err
	}
	err := engine.Observe(o, &lossCompute, func() (err error) {
		value, err = h.f(h.values, h.grads)
		return err
	})
	if err != nil {
		return err
	}
	return engine.Observe(o, &lossUpload, func() error { return h.write(out, value) })
}

// read brings the inputs to the host.
func (h *hostLoss) read(in []engine.Tensor) error {
	for i, t := range in {
		host := h.host[:len(h.values[i])]
		if err := h.eng.Read(host, t); err != nil {
			return err
		}
		for j, v := range host {
			h.values[i][j] = float64(v)
		}
	}
	return nil
}

// write brings the loss and the gradients of the inputs to the engine.
func (h *hostLoss) write(out []engine.Tensor, value float64) error {
	for i, grad := range h.grads {
		if grad == nil {
			continue
		}
		host := h.host[:len(grad)]
		for j, v := range grad {
			host[j] = float32(v)
		}
		if err := h.eng.Write(out[1+i], host); err != nil {
			return err
		}
	}
	h.host[0] = float32(value)
	return h.eng.Write(out[0], h.host[:1])
}

// LossOf adds a scalar, of shape (1), that f computes from x, and with it dx, the derivative
// with respect to x, which is nil where nobody needs it. f is free to use the engine and the
// host.
func (g *Graph) LossOf(name string, x *Node, f func(loss, dx, x engine.Tensor) error) *Node {
	if g.bad(name, x) {
		return nil
	}
	var out []*Node
	out = g.doesLoss("loss by rows").applyMulti(name, [][]int{{1}, g.wanted(x)}, []*Node{x}, func(out, in []engine.Tensor) error {
		return f(out[0], out[1], in[0])
	}, func(dl *Node) []*Node {
		if dl == g.one {
			return []*Node{out[1]}
		}
		return []*Node{g.timesScalar(name+" grad", out[1], dl)}
	})
	return out[0]
}

// timesScalar adds x times a scalar of shape (1). It has no gradient.
func (g *Graph) timesScalar(name string, x, scalar *Node) *Node {
	var s [1]float32
	return g.does("scale").apply(name, x.Shape(), []*Node{x, scalar}, func(out engine.Tensor, in []engine.Tensor) error {
		if err := g.eng.Read(s[:], in[1]); err != nil {
			return err
		}
		return g.eng.Scale(out, in[0], s[0])
	}, nil)
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

// ClassLoss adds a scalar, of shape (1), that f computes on the engine, and with it
// dd, the derivative with respect to d (B, C), which is nil where nobody needs it.
// labels (B) take no gradient.
func (g *Graph) ClassLoss(name string, d, labels *Node, f func(loss, dd, d, labels engine.Tensor) error) *Node {
	if g.bad(name, d, labels) {
		return nil
	}
	if rows, of := d.Shape(), labels.Shape(); len(rows) != 2 || len(of) != 1 || rows[0] != of[0] {
		return g.fail(name, fmt.Errorf("values of shape %v with labels of shape %v", rows, of))
	}
	var out []*Node
	out = g.doesLoss("class loss").applyMulti(name, [][]int{{1}, g.wanted(d)}, []*Node{d, labels}, func(out, in []engine.Tensor) error {
		return f(out[0], out[1], in[0], in[1])
	}, func(dl *Node) []*Node {
		if dl == g.one {
			return []*Node{out[1], nil}
		}
		return []*Node{g.timesScalar(name+" grad", out[1], dl), nil}
	})
	return out[0]
}

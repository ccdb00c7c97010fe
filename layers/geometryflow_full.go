package layers

import "github.com/vernier-ml/vernier/engine"

// The nodes of a gradient that runs through the weights of a geometry flow layer.
// They are rarely wanted, so they are put together of what engines have.

// itemProducts adds the (N, N) scalar products of the items of a and those of b.
// It has no gradient.
func (g *Graph) itemProducts(name string, a, b *Node) *Node {
	n := a.Shape()[0]
	rows := []int{n, a.Shape().TotalSize() / n}
	flat := func(what string, x *Node) *Node {
		return g.does("copy").apply(name+what, rows, []*Node{x}, func(y engine.Tensor, in []engine.Tensor) error { return g.eng.Copy(y, in[0]) }, nil)
	}
	return g.does("product").flops(2*n*n*rows[1]).apply(name, []int{n, n}, []*Node{flat(" a", a), flat(" b", b)}, func(y engine.Tensor, in []engine.Tensor) error {
		return g.eng.MatMul(y, in[0], in[1], false, true, false)
	}, nil)
}

// channelGramsGrad adds the gradient of Gram matrices d (C, N, N) with respect to
// x (N, C, ...): in each channel (d + d') x. It has no gradient.
func (g *Graph) channelGramsGrad(name string, d, x *Node) *Node {
	shape := x.Shape()
	n, channels := shape[0], shape[1]
	size := shape.TotalSize() / (n * channels)
	one := append([]int{n, 1}, shape[2:]...)
	// Of every channel its own result, which Concat joins; the others are used again.
	shapes := [][]int{shape, {n, n}, one, {n, size}, {n, size}}
	for range channels {
		shapes = append(shapes, one)
	}
	return g.does("channel grams grad").flops(2*n*shape.TotalSize()).applyMulti(name, shapes, []*Node{d, x}, func(out, in []engine.Tensor) error {
		m, slice, flat, product := out[1], out[2], out[3], out[4]
		host := make([]float32, channels*n*n)
		if err := g.eng.Read(host, in[0]); err != nil {
			return err
		}
		both := make([]float32, n*n)
		for c := range channels {
			part := host[c*n*n : (c+1)*n*n]
			for i := range n {
				for j := range n {
					both[i*n+j] = part[i*n+j] + part[j*n+i]
				}
			}
			if err := g.eng.Write(m, both); err != nil {
				return err
			}
			if err := g.eng.Slice(slice, in[1], c); err != nil {
				return err
			}
			if err := g.eng.Copy(flat, slice); err != nil {
				return err
			}
			if err := g.eng.MatMul(product, m, flat, false, false, false); err != nil {
				return err
			}
			if err := g.eng.Copy(out[5+c], product); err != nil {
				return err
			}
		}
		return g.eng.Concat(out[0], out[5:]...)
	}, nil)[0]
}

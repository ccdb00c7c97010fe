package layers

// Fixed adds an input that holds one value everywhere. It takes no gradient and
// is no parameter: what a specification says needs no place in a file.
func (g *Graph) Fixed(name string, value float32, shape ...int) *Node {
	n := g.Input(name, shape...)
	if n == nil {
		return nil
	}
	host := make([]float32, n.Shape().TotalSize())
	for i := range host {
		host[i] = value
	}
	if err := g.eng.Write(g.Value(n), host); err != nil {
		return g.fail("input "+name, err)
	}
	return n
}

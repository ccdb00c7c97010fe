package cpu

// Workspace returns the bytes of the buffers that operations have needed in
// between so far, and of the weights that are kept packed.
func (e *Engine) Workspace() int64 { return e.keeper.held() + e.buffers() }

func (e *Engine) buffers() int64 {
	s := &e.scratch
	n := cap(s.left) + cap(s.right) + cap(s.parts) + cap(s.first) + cap(s.second) + cap(s.third)
	for i := range s.workers {
		w := &s.workers[i]
		n += cap(w.left) + cap(w.right) + cap(w.block) + cap(w.wide) + cap(w.rows)
	}
	bytes := 4 * int64(n)
	for _, a := range e.alone {
		bytes += a.buffers()
	}
	return bytes
}

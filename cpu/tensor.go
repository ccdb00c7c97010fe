package cpu

import "github.com/vernier-ml/vernier/engine"

// Tensor is numbers in the host's memory, row-major.
type Tensor struct {
	shape engine.Shape
	v     []float32
	// keepable says that nothing but operations that are given this Tensor writes its
	// memory: it lies in no arena, and nobody has a view of it.
	keepable bool
	reads    int    // products that read it as weights since it was written last
	packed   *packs // what was kept of it; may be nil
}

// Shape returns the logical shape, which is that in memory.
func (t *Tensor) Shape() engine.Shape { return t.shape }

// Size is the number of elements.
func (t *Tensor) Size() int { return len(t.v) }

// written drops what was kept of t.
func (t *Tensor) written() {
	t.reads = 0
	if t.packed != nil {
		t.packed.drop()
	}
}

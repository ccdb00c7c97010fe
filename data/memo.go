package data

import (
	"sync/atomic"

	"github.com/vernier-ml/vernier/data/pixels"
)

// memo keeps prepared images in memory until a budget is used up. Images that
// came too late for it are prepared again every time; nothing is thrown out, so
// a set larger than the budget still profits in proportion.
type memo struct {
	images []atomic.Pointer[pixels.RGB]
	used   atomic.Int64
	limit  int64
	full   atomic.Bool // an image was turned away
}

func newMemo(items int, limit int64) *memo {
	c := &memo{images: make([]atomic.Pointer[pixels.RGB], items), limit: limit}
	c.full.Store(limit <= 0)
	return c
}

func (c *memo) get(i int) *pixels.RGB { return c.images[i].Load() }

func (c *memo) put(i int, m *pixels.RGB) {
	size := int64(3 * m.W * m.H)
	if c.used.Load()+size > c.limit {
		c.full.Store(true)
		return
	}
	if c.used.Add(size) > c.limit {
		c.used.Add(-size)
		c.full.Store(true)
		return
	}
	if cap(m.Pix) > 3*m.W*m.H { // a view would keep the whole image alive
		m = m.Clone()
	}
	if !c.images[i].CompareAndSwap(nil, m) {
		c.used.Add(-size)
	}
}

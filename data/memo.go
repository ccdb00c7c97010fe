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

// Cached returns the bytes of decoded pictures that the loader keeps, and of all
// its pictures if they are as large as those on average: what it will keep in
// the end is that, up to LoaderOptions.CacheBytes.
func (l *Loader) Cached() (now, end int64) {
	if l.memo == nil {
		return 0, 0
	}
	count := int64(0)
	for i := range l.memo.images {
		if l.memo.get(i) != nil {
			count++
		}
	}
	if now = l.memo.used.Load(); count == 0 {
		return now, 0
	}
	return now, min(max(l.memo.limit, 0), now/count*int64(len(l.memo.images)))
}

// InFlight returns the most bytes of batches of n items that are prepared or in
// use at one time.
func (l *Loader) InFlight(n int) int64 {
	width, batches := 4, l.o.Prefetch+2
	if l.o.Pixels {
		width, batches = 1, batches+2 // one is sent ahead of its step, one may not be settled
	}
	return int64(width) * int64(batches) * int64(n) * int64(l.size())
}

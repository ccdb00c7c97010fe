package data

import "slices"

// Batch is what a step of training or evaluation works on.
type Batch struct {
	Images []float32 // (B, 3, H, W), or features (B, C, H, W), or rows (B, D, 1, 1)
	Pixels []uint8   // (B, H, W, 3), R, G, B beside each other: in place of Images if asked for
	Labels []int     // (B)
	Items  []int     // (B) indices into the set
	Shape  [4]int    // B, 3 or C, H, W
	// Next is where to continue after this batch.
	Next Position

	loader *Loader
}

// Recycle gives the memory of Images or Pixels back; the batch must not be used after
// it. Forgetting it costs nothing but garbage.
func (b *Batch) Recycle() {
	l := b.loader
	if l == nil {
		return
	}
	b.loader = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free, l.unused = keep(l.free, b.Images, l.o.Prefetch+2), keep(l.unused, b.Pixels, l.o.Prefetch+2)
	b.Images, b.Pixels = nil, nil
}

// keep adds x to a list, unless that has max elements.
func keep[T any](list [][]T, x []T, most int) [][]T {
	if x == nil || len(list) >= most {
		return list
	}
	return append(list, x)
}

// take removes a slice of n from a list, or makes one.
func take[T any](list [][]T, n int) ([][]T, []T) {
	for i, x := range list {
		if cap(x) >= n {
			return slices.Delete(list, i, i+1), x[:n]
		}
	}
	return list, make([]T, n)
}

// buffers gives a batch memory for n items.
func (l *Loader) buffers(b *Batch, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.o.Pixels {
		l.unused, b.Pixels = take(l.unused, n*l.size())
	} else {
		l.free, b.Images = take(l.free, n*l.size())
	}
}

// cell is where an item of a batch goes: its numbers, or its pixels.
type cell struct {
	images []float32
	pixels []uint8
}

// cell returns the part of the batch for slot, size values long.
func (b *Batch) cell(slot, size int) (c cell) {
	from, to := slot*size, (slot+1)*size
	if b.Pixels != nil {
		c.pixels = b.Pixels[from:to]
	} else {
		c.images = b.Images[from:to]
	}
	return c
}

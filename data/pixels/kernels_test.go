package pixels

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// The vector kernels and their portable twins give the same bytes, and write
// nothing else.
func TestVectorResizeEqualsPortable(t *testing.T) {
	if !vectorized() {
		t.Skip("no vector kernels on this machine")
	}
	r := rand.New(rand.NewPCG(8, 42))
	for range 300 {
		w, h := 1+r.IntN(60), 1+r.IntN(30)
		if r.IntN(4) == 0 {
			w = 1 + r.IntN(6)
		}
		src := noisy(w+3, h+2, r.Uint64()).Crop(r.IntN(4), r.IntN(3), w, h)
		f := Filter(r.IntN(2))
		out := 1 + r.IntN(90)
		from := r.IntN(out)
		across := newTaps(w, out, from, 1+r.IntN(out-from), f)
		want := NewRGB(len(across.first), h)
		horizontalRows(want, src, 0, h, across, 0, want.W)
		if got := horizontal(src, across); !bytes.Equal(got.Pix, want.Pix) {
			t.Fatalf("%d x %d to width %d from %d, %v: rows differ", w, h, out, from, f)
		}
		down := newTaps(h, out, from, len(across.first), f)
		lo, _ := down.span()
		got := vertical(src.Crop(0, lo, w, h-lo), down, lo)
		for y, first := range down.first {
			row := make([]uint8, 3*w)
			offsets := make([]int, down.count[y])
			for k := range offsets {
				offsets[k] = (first + k) * src.Stride
			}
			columnsOf(row, src.Pix, offsets, down.weights[y*down.width:])
			if !bytes.Equal(got.Row(y), row) {
				t.Fatalf("%d x %d to height %d from %d, %v: row %d differs", w, h, out, from, f, y)
			}
		}
	}
}

// An image that ends where its memory does is read to its last byte and not
// further: the mapped file of a prepared set may end there.
func TestVectorResizeStaysInsideItsImage(t *testing.T) {
	mapped, unmap, err := mapAnonymous(1)
	if err != nil {
		t.Skip(err)
	}
	defer unmap()
	size := len(mapped)
	for _, s := range [][2]int{{5, 4}, {17, 4}, {33, 9}, {4, 4}} {
		w, h := s[0], s[1]
		for _, out := range [][2]int{{40, 30}, {3, 3}, {w, 11}, {12, h}} {
			m := &RGB{W: w, H: h, Stride: 3 * w, Pix: mapped[size-3*w*h:]}
			Resample(m, out[0], out[1], 0, 0, out[0], out[1], Bilinear)
			Resample(m, out[0], out[1], 0, 0, out[0], out[1], Bicubic)
		}
	}
}

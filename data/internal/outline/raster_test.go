package outline

import "testing"

// A square of known place must be covered exactly.
func TestRasterizerCoversASquareExactly(t *testing.T) {
	r := NewRasterizer(4)
	dst := make([]uint8, 16)
	corner := func(x, y int64) point {
		return point{x * OnePixel / 4, y * OnePixel / 4}
	}
	a, b, c, d := corner(2, 4), corner(10, 4), corner(10, 12), corner(2, 12)
	for range 2 { // twice the same contour unites
		r.edge(a, b)
		r.edge(b, c)
		r.edge(c, d)
		r.edge(d, a)
	}
	r.fill(dst)
	want := []uint8{0, 0, 0, 0, 128, 255, 128, 0, 128, 255, 128, 0, 0, 0, 0, 0}
	for i := range want {
		if dst[i] != want[i] {
			t.Fatalf("coverage %v, want %v", dst, want)
		}
	}
}

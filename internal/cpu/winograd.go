package cpu

// Winograd's F(4x4, 3x3) for convolutions of 3 x 3 with stride 1 (Lavin and Gray
// 2016, Fast algorithms for convolutional neural networks): a tile of 4 x 4
// results is A^T ((G w G^T) * (B^T x B)) A, with 36 multiplications instead of
// 144, which for all tiles and channels are 36 matrix products.
//
// The lanes of the transforms are channels, so that maps of any size will do.

const (
	taps36  = 36
	apartBy = 5 // vectors between the 36, so that they share no cache sets
)

// usesWinograd is the measured rule: the transforms cost about as much as 16
// channels of products on either side, the filters are transformed once for all
// tiles, of which it takes 32, and tiles half outside the map gain nothing.
func (c *convShape) usesWinograd() bool {
	tiles := c.images * ceilDiv(c.rows, 4) * ceilDiv(c.cols, 4)
	return c.KernelH == 3 && c.KernelW == 3 && c.StrideH == 1 && c.StrideW == 1 && c.PadH <= 2 && c.PadW <= 2 &&
		min(c.in, c.out) >= 16 && tiles >= 32 && 2*c.images*c.rows*c.cols >= 16*tiles
}

// tileGrid is how maps are cut into tiles: lines, down of them an image, of
// across tiles.
type tileGrid struct{ images, down, across int }

func newTileGrid(images, rows, cols int) tileGrid {
	return tileGrid{images, ceilDiv(rows, 4), ceilDiv(cols, 4)}
}

func (g tileGrid) lines() int { return g.images * g.down }

// segments calls do for the parts of lines [line, end) that lie in one image:
// rows [from, to) of its tiles, whose first is tile at of those lines.
func (g tileGrid) segments(line, end int, do func(image, from, to, at int)) {
	for at := 0; line < end; {
		image, from := line/g.down, line%g.down
		to := min(g.down, from+end-line)
		do(image, from, to, at)
		line += to - from
		at += (to - from) * g.across
	}
}

// tileSource is a tensor whose tiles are transformed: squares of size x size
// cells, 4 apart, the first pad cells before the map.
type tileSource struct {
	featureMaps
	tileGrid   tileGrid
	size       int
	padY, padX int
	f          transformFunc
}

// transform transforms a vector of channels of the tiles in lines [line, end).
// The 36 vectors of tile t are dst[i*stride + t*next:].
func (t *tileSource) transform(kr *kernels, s *workerScratch, dst []float32, stride, next, line, end, channel int) {
	over, across := t.size-4, t.tileGrid.across
	pitch := (4*across + over) * kr.vec
	t.tileGrid.segments(line, end, func(image, from, to, at int) {
		height := 4*(to-from) + over
		buf := grow(&s.rows, height*pitch+taps36*kr.vec)
		for r := range height {
			t.row(kr, buf[r*pitch:(r+1)*pitch], image, channel, 4*from-t.padY+r, t.padX)
		}
		for r := range to - from {
			t.f(dst[(at+r*across)*next:], stride, next, buf[4*r*pitch:], pitch, 4*kr.vec, across, buf[height*pitch:])
		}
	})
}

package cpu

// Winograd's convolutions with stride 1 (Lavin and Gray 2016, Fast algorithms for
// convolutional neural networks): a tile of results is
// A^T ((G w) * (B^T x)), with as many multiplications as it has points, which for
// all tiles and channels are as many matrix products. Kernels of 3 x 3 take
// F(4x4, 3x3), squares of 36 points instead of 144 multiplications; kernels of one
// row or column take tiles along it, see lineForm.
//
// The lanes of the transforms are channels, so that maps of any size will do.

// apartBy is how many vectors lie between the points, so that they share no cache
// sets.
const apartBy = 5

// winogradForm is what Winograd's algorithms differ in.
type winogradForm interface {
	points() int
	// taps is the number of weights of a filter and a channel.
	taps() int
	// grid is how maps of rows x cols results are cut into tiles.
	grid(images, rows, cols int) tileGrid
	// source reads the tiles of maps that padY and padX cells are missing before.
	source(maps featureMaps, grid tileGrid, padY, padX int) tileSource
	// gradientSource reads the tiles of the gradients of results.
	gradientSource(maps featureMaps, grid tileGrid) tileSource
	// filters transforms the filters of a vector of results, src (channels, taps):
	// point i of channel c is dst[i*stride+c*next:].
	filters(kr *kernels, dst []float32, stride, next int, src []float32, channels int, tmp []float32)
	// filtersBack is the way back.
	filtersBack(kr *kernels, dst []float32, src []float32, stride, next, channels int, tmp []float32)
	// store brings sums of the tiles of lines [from, to) of an image, point i of tile
	// t in sums[i*stride+t*kr.nr:], for results from channel on back into maps.
	store(kr *kernels, s *workerScratch, w *winograd, sums []float32, stride, channel, vectors, image, from, to int)
}

// tileSource is a tensor whose tiles are transformed.
type tileSource interface {
	// transform transforms a vector of channels of the tiles in lines [line, end).
	// The points of tile t are dst[i*stride + t*next:].
	transform(kr *kernels, s *workerScratch, dst []float32, stride, next, line, end, channel int)
}

// winogradForm returns how to compute a convolution of Winograd's, or nil. It is
// the measured rule: the transforms cost about as much as 16 channels of products
// on either side, the filters are transformed once for all tiles, of which it
// takes 32, and tiles half outside the map gain nothing.
func (c *convShape) winogradForm() winogradForm {
	if c.StrideH != 1 || c.StrideW != 1 || min(c.in, c.out) < 16 || c.PadH >= c.KernelH || c.PadW >= c.KernelW {
		return nil
	}
	if c.KernelH == 3 && c.KernelW == 3 {
		f := squareForm{}
		g := f.grid(c.images, c.rows, c.cols)
		if tiles := g.lines() * g.across; tiles < 32 || 2*c.images*c.rows*c.cols < 16*tiles {
			return nil
		}
		return f
	}
	var f *lineForm
	length := c.cols
	if c.KernelH == 1 {
		f = lineForms[c.KernelW]
	} else if c.KernelW == 1 {
		f, length = columnForms[c.KernelH], c.rows
	}
	if f == nil {
		return nil
	}
	g := f.grid(c.images, c.rows, c.cols)
	if g.lines()*g.across < 32 || 2*length*f.taps() < 3*f.points()*g.across {
		return nil
	}
	return f
}

// tileGrid is how maps are cut into tiles: lines, down of them an image, of
// across tiles.
type tileGrid struct{ images, down, across int }

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

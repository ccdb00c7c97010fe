package outline

import (
	"slices"

	"golang.org/x/image/font/sfnt"
)

// The Rasterizer of the glyph set works in whole numbers only, so that it draws
// the same pixels on every machine: floating-point code may be contracted to
// fused multiply-adds on some and not on others.
const (
	pixelBits  = 16 // a coordinate is in 1/65536 pixel
	OnePixel   = 1 << pixelBits
	subLines   = 16 // sample lines a pixel row
	quadPieces = 8  // straight pieces a curve
)

// Pose is how a glyph is placed: turned by an angle, scaled, moved.
type Pose struct {
	Sin, Cos int64 // of the angle, in 1/2^30; positive turns clockwise
	Scale    int64 // 1/65536
	DX, DY   int64 // 1/65536 pixel
}

// Upright is the pose without any change.
var Upright = Pose{Cos: 1 << 30, Scale: OnePixel}

// crossing is where an outline passes a sample line, and in which direction.
type crossing struct {
	x    int64
	wind int
}

// Rasterizer draws outlines into a square gray image. Reusable, not concurrent.
type Rasterizer struct {
	size    int
	lines   [][]crossing // size*subLines
	cover   []int64      // (size) one pixel row
	evenOdd bool         // what is enclosed twice is outside
}

// NewRasterizer draws into size x size pixels.
func NewRasterizer(size int) *Rasterizer {
	return &Rasterizer{size: size, lines: make([][]crossing, size*subLines), cover: make([]int64, size)}
}

// point is a position in pixels, 1/65536 each.
type point struct{ x, y int64 }

// Draw fills dst (size, size) with the coverage 0..255 of an outline given in
// 1/64 font units (y down, 2048 units an em), turned and scaled about (cx, cy),
// which comes to lie in the middle of the image. emPixels is the size of an em.
// Overlapping contours unite (non-zero winding).
func (r *Rasterizer) Draw(dst []uint8, outline sfnt.Segments, cx, cy int64, emPixels int64, p Pose) {
	r.reset()
	middle := int64(r.size) * OnePixel / 2
	place := func(x, y int64) point {
		x, y = x-cx, y-cy
		// 18 + 30 bits, back to 34, times 17 + 6: within 63.
		u := (x*p.Cos - y*p.Sin) >> 14
		v := (x*p.Sin + y*p.Cos) >> 14
		const down = 6 + 16 + 16 + 11 - pixelBits // 1/64, turn, scale, 2048
		return point{(u*p.Scale*emPixels)>>down + middle + p.DX, (v*p.Scale*emPixels)>>down + middle + p.DY}
	}
	var start, pen point
	for _, s := range outline {
		a := place(int64(s.Args[0].X), int64(s.Args[0].Y))
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			r.edge(pen, start)
			start, pen = a, a
		case sfnt.SegmentOpLineTo:
			r.edge(pen, a)
			pen = a
		case sfnt.SegmentOpQuadTo:
			b := place(int64(s.Args[1].X), int64(s.Args[1].Y))
			r.quad(pen, a, b)
			pen = b
		}
	}
	r.edge(pen, start)
	r.fill(dst)
}

// reset forgets the edges.
func (r *Rasterizer) reset() {
	for i := range r.lines {
		r.lines[i] = r.lines[i][:0]
	}
}

// quad adds the curve from a to c with control point b.
func (r *Rasterizer) quad(a, b, c point) {
	from := a
	for i := int64(1); i <= quadPieces; i++ {
		j := quadPieces - i
		wa, wb, wc := j*j, 2*i*j, i*i
		to := point{
			(wa*a.x + wb*b.x + wc*c.x) / (quadPieces * quadPieces),
			(wa*a.y + wb*b.y + wc*c.y) / (quadPieces * quadPieces),
		}
		r.edge(from, to)
		from = to
	}
}

// edge notes where the segment a-b passes the sample lines. Line k lies at
// (k + 1/2)/subLines pixels; a segment owns its upper end and not its lower.
func (r *Rasterizer) edge(a, b point) {
	wind := 1
	if a.y > b.y {
		a, b, wind = b, a, -1
	}
	if a.y == b.y {
		return
	}
	const step = OnePixel / subLines
	first := max((a.y+step/2-1)>>12, 0) // the smallest k with k*step + step/2 >= a.y
	for k := first; k < int64(len(r.lines)); k++ {
		y := k*step + step/2
		if y >= b.y {
			return
		}
		x := a.x + (b.x-a.x)*(y-a.y)/(b.y-a.y)
		r.lines[k] = append(r.lines[k], crossing{x, wind})
	}
}

// fill turns the crossings into coverage.
func (r *Rasterizer) fill(dst []uint8) {
	limit := int64(r.size) * OnePixel
	for y := range r.size {
		clear(r.cover)
		for _, line := range r.lines[y*subLines : (y+1)*subLines] {
			slices.SortFunc(line, func(a, b crossing) int {
				if a.x != b.x {
					return int(a.x - b.x)
				}
				return a.wind - b.wind
			})
			wind := 0
			for i, c := range line {
				if wind != 0 && !(r.evenOdd && wind%2 == 0) {
					r.span(max(line[i-1].x, 0), min(c.x, limit))
				}
				wind += c.wind
			}
		}
		const full = subLines * OnePixel
		for x, c := range r.cover {
			dst[y*r.size+x] = uint8((c*255 + full/2) / full)
		}
	}
}

// span adds the part of one sample line from x0 to x1.
func (r *Rasterizer) span(x0, x1 int64) {
	for x0 < x1 {
		cell := x0 >> pixelBits
		end := min((cell+1)<<pixelBits, x1)
		r.cover[cell] += end - x0
		x0 = end
	}
}

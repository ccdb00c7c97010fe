package outline

import (
	"math"
	"slices"
)

// strokeOutlines returns areas whose union, by non-zero winding, is what a pen
// of the style's width draws along lines: a box for every straight piece, and
// what fills the gaps at joins and ends. All turn the same way.
func (s svgStyle) strokeOutlines(lines []outline) []outline {
	var b brush
	b.half, b.style = s.width/2, s
	for _, l := range lines {
		points := slices.Compact(slices.Clone(l.points))
		if l.closed && len(points) > 1 && points[0] == points[len(points)-1] {
			points = points[:len(points)-1]
		}
		switch {
		case len(points) == 1:
			b.dot(points[0])
		case s.dashes != nil:
			for _, dash := range dashed(points, l.closed, s.dashes) {
				b.line(dash, false)
			}
		default:
			b.line(points, l.closed)
		}
	}
	return b.areas
}

type brush struct {
	half  float64
	style svgStyle
	areas []outline
}

// area adds a polygon, turned the usual way.
func (b *brush) area(points ...vec) {
	twice := 0.
	for i, p := range points {
		twice += p.cross(points[(i+1)%len(points)])
	}
	if twice < 0 {
		slices.Reverse(points)
	}
	b.areas = append(b.areas, outline{points, true})
}

// dot is a line without length: only its caps show.
func (b *brush) dot(p vec) {
	switch b.style.cap {
	case "round":
		b.areas = append(b.areas, ellipse(p, vec{b.half, b.half})...)
	case "square":
		b.areas = append(b.areas, rectangle(p.x-b.half, p.y-b.half, 2*b.half, 2*b.half, 0, 0)...)
	}
}

// line draws along at least two points, of which no two neighbors are equal.
func (b *brush) line(p []vec, closed bool) {
	n := len(p)
	if n < 2 {
		b.dot(p[0])
		return
	}
	last := n - 1
	if closed && n > 2 {
		last = n
	}
	for i := range last {
		from, to := p[i], p[(i+1)%n]
		along := to.sub(from).times(1 / to.sub(from).length())
		across := vec{-along.y, along.x}.times(b.half)
		if last < n && b.style.cap == "square" {
			if i == 0 {
				from = from.sub(along.times(b.half))
			}
			if i == last-1 {
				to = to.add(along.times(b.half))
			}
		}
		b.area(from.add(across), to.add(across), to.sub(across), from.sub(across))
		if i+1 < last || last == n {
			b.join(p[i], p[(i+1)%n], p[(i+2)%n])
		}
	}
	if last < n && b.style.cap == "round" {
		b.dot(p[0])
		b.dot(p[n-1])
	}
}

// join fills the gap outside the corner at b.
func (b *brush) join(from, at, to vec) {
	d1, d2 := at.sub(from), to.sub(at)
	d1, d2 = d1.times(1/d1.length()), d2.times(1/d2.length())
	turn, cos := d1.cross(d2), d1.dot(d2)
	const smooth = 0.95 // a bend of less than 18 degrees
	if b.style.join == "round" && cos < smooth {
		b.areas = append(b.areas, ellipse(at, vec{b.half, b.half})...)
		return
	}
	side := -b.half
	if turn < 0 {
		side = b.half
	}
	n1, n2 := vec{-d1.y, d1.x}.times(side), vec{-d2.y, d2.x}.times(side)
	// A miter is 1/sin of half the inner angle as long as the pen is wide.
	if sinHalf := math.Sqrt(max((1+cos)/2, 0)); b.style.join != "bevel" && sinHalf > 1e-6 && (cos >= smooth || 1/sinHalf <= b.style.miter) {
		tip := n1.add(n2)
		tip = tip.times(b.half / sinHalf / tip.length())
		b.area(at, at.add(n1), at.add(tip), at.add(n2))
		return
	}
	b.area(at, at.add(n1), at.add(n2))
}

// dashed cuts a line into the pieces that a pattern shows.
func dashed(p []vec, closed bool, pattern []float64) (pieces [][]vec) {
	if closed {
		p = append(slices.Clone(p), p[0])
	}
	k, left := 0, pattern[0]
	piece := []vec{p[0]}
	for i := 1; i < len(p); i++ {
		from := p[i-1]
		for {
			rest := p[i].sub(from).length()
			if rest <= left {
				left -= rest
				if k%2 == 0 && rest > 0 {
					piece = append(piece, p[i])
				}
				break
			}
			from = lerp(from, p[i], left/rest)
			if k%2 == 0 {
				pieces = append(pieces, append(piece, from))
			}
			k = (k + 1) % len(pattern)
			left = pattern[k]
			piece = []vec{from}
		}
	}
	if k%2 == 0 {
		pieces = append(pieces, piece)
	}
	for i := range pieces {
		pieces[i] = slices.Compact(pieces[i])
	}
	return pieces
}

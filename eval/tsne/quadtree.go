package tsne

import "math"

// quadtree holds points of a plane for the method of Barnes and Hut: a cell
// that is far away acts like its points in their center of mass.
type quadtree struct {
	cells []quadcell
}

// quadcell is a square. A leaf holds points that are all at one place.
type quadcell struct {
	x, y, half   float64 // middle and half the side
	massX, massY float64 // center of mass
	count        int
	child        [4]int32 // 0 for none; the root is nobody's child
	leaf         bool
}

// smallestHalf is the half side of a cell, as a share of the root's, within
// which points count as being at one place.
const smallestHalf = 1e-12

// newQuadtree sorts points (N, 2) into cells.
func newQuadtree(points []float64) *quadtree {
	lowX, highX, lowY, highY := points[0], points[0], points[1], points[1]
	for i := 0; i < len(points); i += 2 {
		lowX, highX = min(lowX, points[i]), max(highX, points[i])
		lowY, highY = min(lowY, points[i+1]), max(highY, points[i+1])
	}
	half := max(highX-lowX, highY-lowY)/2*(1+1e-9) + math.SmallestNonzeroFloat64
	t := &quadtree{cells: make([]quadcell, 1, len(points))}
	t.cells[0] = quadcell{x: (lowX + highX) / 2, y: (lowY + highY) / 2, half: half, leaf: true}
	for i := 0; i < len(points); i += 2 {
		t.insert(points[i], points[i+1], 1, smallestHalf*half)
	}
	return t
}

// insert adds a number of points at one place.
func (t *quadtree) insert(x, y float64, count int, smallest float64) {
	for at := int32(0); ; {
		c := &t.cells[at]
		before := float64(c.count)
		oldX, oldY, old := c.massX, c.massY, c.count
		c.count += count
		c.massX = (c.massX*before + x*float64(count)) / float64(c.count)
		c.massY = (c.massY*before + y*float64(count)) / float64(c.count)
		if c.leaf {
			if old == 0 || oldX == x && oldY == y || c.half <= smallest {
				if old > 0 && oldX == x && oldY == y {
					c.massX, c.massY = x, y // free of rounding
				}
				return
			}
			c.leaf = false
			child := t.child(at, oldX, oldY)
			d := &t.cells[child]
			d.massX, d.massY, d.count = oldX, oldY, old
		}
		at = t.child(at, x, y)
	}
}

// child returns the quarter of a cell that holds a place, and makes it if need be.
func (t *quadtree) child(at int32, x, y float64) int32 {
	c := &t.cells[at]
	quarter, half := 0, c.half/2
	cx, cy := c.x-half, c.y-half
	if x > c.x {
		quarter, cx = 1, c.x+half
	}
	if y > c.y {
		quarter, cy = quarter+2, c.y+half
	}
	if c.child[quarter] == 0 {
		c.child[quarter] = int32(len(t.cells))
		t.cells = append(t.cells, quadcell{x: cx, y: cy, half: half, leaf: true})
	}
	return t.cells[at].child[quarter]
}

// repulsion sums, over all other points, w = 1/(1+d^2) and w^2 times the
// difference to them (van der Maaten 2014, Eq. 6). Cells whose side is less
// than theta times their distance count as one place. stack is room to work in.
func (t *quadtree) repulsion(x, y, theta float64, stack []int32) (fx, fy, z float64, _ []int32) {
	stack = append(stack[:0], 0)
	for len(stack) > 0 {
		c := &t.cells[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		dx, dy := x-c.massX, y-c.massY
		d2 := dx*dx + dy*dy
		if c.leaf || 4*c.half*c.half < theta*theta*d2 {
			n := float64(c.count)
			if d2 == 0 {
				n-- // the point itself
			}
			w := 1 / (1 + d2)
			z += n * w
			fx += n * w * w * dx
			fy += n * w * w * dy
			continue
		}
		for _, child := range c.child {
			if child != 0 {
				stack = append(stack, child)
			}
		}
	}
	return fx, fy, z, stack
}

package kernels

// Chords is a metric of metric.Metric.Chords between prepared rows, in float64.
// Root is that of the curvature, Most and Grow are metric.Metric.Radii; all are 0
// for the signal-to-noise metric.
type Chords struct {
	Groups           int // see Pairs
	N, K, H          int // of the rows x (N, H) and y (K, H)
	Root, Most, Grow float64
}

// ChordRows prepares rows as metric.Metric.ChordRow does: y (rows, h) and sizes
// (rows) are float64, x float32.
func ChordRows(rows, h int, y, sizes, x Ptr, toUnit bool) Launch {
	return launch("chord_rows", perRow(rows), h, y, sizes, x, toUnit)
}

// inLine is a grid of as many blocks as there are tiles of all groups, all along its
// first axis, which has room for them.
func (c Chords) inLine(rows, columns int) [3]int {
	return [3]int{max(1, c.Groups) * rows * columns, 1, 1}
}

// Value sets d (N, K), float32.
func (c Chords) Value(d, x, y, sizesX, sizesY Ptr) Launch {
	return launch("chords", c.inLine(tiles(c.N, 16), tiles(c.K, 16)), c.N, c.K, c.H, d, x, y, sizesX, sizesY, c.Root, c.Most, c.Grow)
}

// Sides say which side of a metric some rows are.
type Sides int

const (
	SideA Sides = 1 + iota
	SideB
	BothSides // x and y are one matrix, whose gradient is the sum of both sides'
)

// Slopes sets along and apart (N, K), float64, from the derivatives dd, which are
// (N, K) if x is the metric's first side, else (K, N).
func (c Chords) Slopes(along, apart, x, y, sizesX, sizesY, dd Ptr, sides Sides) Launch {
	return launch("chord_slopes", c.inLine(tiles(c.N, 16), tiles(c.K, 16)), c.N, c.K, c.H, along, apart, x, y, sizesX, sizesY, dd, int(sides), c.Root, c.Most, c.Grow)
}

// Grad sets dx (N, H), float32, from along and apart.
func (c Chords) Grad(dx, along, apart, x, y Ptr) Launch {
	return launch("chord_grad", c.inLine(tiles(c.N, 16), tiles(c.H, 64)), c.N, c.K, c.H, dx, along, apart, x, y)
}

package kernels

import "strconv"

// Pairs is a metric between rows a (n, h) and b (k, h) as the pairwise kernels
// see it: (by * sum of R(|a-b|)^p), and its root if Rooted. Of more Groups than one,
// all of N and K rows, each is compared within itself; they lie one behind the other
// in all arrays.
type Pairs struct {
	Groups  int // 0 is 1
	N, K, H int
	// R is sigmoid, softsign, arctan, tanh or isru, or linear for Manhattan (P = 1)
	// and the Euclidean metrics (P = 2).
	R      string
	P      int // 1 or 2
	By     float32
	Rooted bool
	Omega  float32 // of isru
}

// Split is how a sum over pairs or coordinates is cut, so that the device is busy:
// into Parts, of Per summands each, which are added in their order.
type Split struct{ Parts, Per int }

// depth is how many summands a block takes at a time, and leastPart how many are
// worth a part.
const (
	depth     = 16
	leastPart = 2 * depth
)

// split cuts a sum of n terms if blocks are fewer than twice the device's
// multiprocessors, on each of which two run at a time: all parts run at once, for one
// more than there is room for would double the time. It depends on the shape and on the device alone.
func split(blocks, n, processors int) Split {
	want := 1
	if blocks > 0 {
		want = max(1, min(2*processors/blocks, n/leastPart))
	}
	per := max(depth, tiles(tiles(n, want), depth)*depth)
	return Split{Parts: max(1, tiles(n, per)), Per: per}
}

// grid has tiles for each group in turn along its first axis, which has room for them.
func (p Pairs) grid(columns, rows int) [3]int { return [3]int{max(1, p.Groups) * columns, rows, 1} }

// values and gradient are the grids of the kernels and what they compute.
func (p Pairs) values() (grid [3]int, n int64) {
	return p.grid(tiles(p.K, 64), tiles(p.N, 64)), int64(max(1, p.Groups)) * int64(p.N) * int64(p.K)
}

func (p Pairs) gradient(rows int) (grid [3]int, n int64) {
	return p.grid(tiles(p.H, 64), tiles(rows, 64)), int64(max(1, p.Groups)) * int64(rows) * int64(p.H)
}

// SplitValue is how Value is cut on a device, and how many numbers its parts take.
func (p Pairs) SplitValue(processors int) (s Split, scratch int64) {
	grid, n := p.values()
	s = split(grid[0]*grid[1], p.H, processors)
	return s, s.scratch(n)
}

// SplitA and SplitB are the same for GradA and GradB; GradBoth is cut as GradA is.
func (p Pairs) SplitA(processors int) (s Split, scratch int64) {
	grid, n := p.gradient(p.N)
	s = split(grid[0]*grid[1], p.K, processors)
	return s, s.scratch(n)
}

// SplitB is how GradB is cut.
func (p Pairs) SplitB(processors int) (s Split, scratch int64) {
	p.N, p.K = p.K, p.N
	return p.SplitA(processors)
}

func (s Split) scratch(n int64) int64 {
	if s.Parts == 1 {
		return 0
	}
	return int64(s.Parts) * n
}

func (p Pairs) name(of string) string { return of + "_" + p.R + "_p" + strconv.Itoa(p.P) }

// Value sets d (n, k). unit, of P = 2 alone, is a power of two near the largest
// coordinate, and at most 1 unless R is linear: in this unit squares stay in
// range. 0 is none. part is room for what SplitValue says.
func (p Pairs) Value(s Split, d, part, a, b, unit Ptr) []Launch {
	grid, n := p.values()
	grid[2] = s.Parts
	cut, to := s.Parts > 1, d
	if cut {
		to = part
	}
	list := []Launch{launch(p.name("pairs"), grid, p.N, p.K, p.H, to, a, b, p.By, p.Rooted, p.Omega, unit, s.Per, n, cut)}
	if cut {
		list = append(list, launch("pairs_finish", flat(n), n, s.Parts, d, part, p.By, p.Rooted, unit))
	}
	return list
}

// Slopes sets c (n, k), what each pair's chain of derivatives is multiplied by,
// from dd = dL/dd and d. For P = 2 it holds the 2 of the square's derivative
// where the root does not take it away.
func (p Pairs) Slopes(c, dd, d Ptr) Launch {
	by := p.By
	if p.P == 2 && !p.Rooted {
		by *= 2
	}
	n := int64(max(1, p.Groups)) * int64(p.N) * int64(p.K)
	return launch("pair_slopes", flat(n), n, c, dd, d, by, p.P == 2 && p.Rooted)
}

// What a gradient of pairs multiplies by, as pairs.h has it: the coefficients of the
// pairs, those of the pairs turned around, or both.
const (
	plain = iota
	flipped
	bothSides
)

// GradA sets da (n, h) from c as Slopes left it. part is room for
// what SplitA says.
func (p Pairs) GradA(s Split, da, part, c, a, b Ptr) []Launch {
	return p.grad(s, plain, da, part, c, a, b)
}

// GradB sets db (k, h). part is room for what SplitB says.
func (p Pairs) GradB(s Split, db, part, c, a, b Ptr) []Launch {
	p.N, p.K = p.K, p.N
	return p.grad(s, flipped, db, part, c, b, a)
}

// GradBoth sets da to what GradA and GradB add up to, of rows a with themselves.
func (p Pairs) GradBoth(s Split, da, part, c, a Ptr) []Launch {
	return p.grad(s, bothSides, da, part, c, a, a)
}

func (p Pairs) grad(s Split, side int, da, part, c, a, b Ptr) []Launch {
	grid, n := p.gradient(p.N)
	grid[2] = s.Parts
	cut, to := s.Parts > 1, da
	if cut {
		to = part
	}
	list := []Launch{launch(p.name("pairs_grad"), grid, p.N, p.K, p.H, to, c, a, b, p.Omega, side, s.Per, n)}
	if cut {
		list = append(list, launch("add_parts", flat(n), n, s.Parts, da, part))
	}
	return list
}

// MaxMagnitude raises the uint32 at bits, 0 at first, to the bits of the largest
// magnitude in x.
func MaxMagnitude(n int64, bits, x Ptr) Launch { return launch("max_magnitude", flat(n), n, bits, x) }

// UnitOf sets the float32 at unit to the power of two below the magnitude at
// bits, or to 1 if that is less and capped is set.
func UnitOf(unit, bits Ptr, capped bool) Launch {
	return launch("unit_of", [3]int{1, 1, 1}, unit, bits, capped)
}

// ClipCosine limits n cosines to [-1, 1].
func ClipCosine(n int64, d Ptr) Launch { return launch("clip_cosine", flat(n), n, d) }

// CosineDX is cosine's gradient for the rows of one side: u (rows, h) are its unit
// rows and sizes their lengths (UnitRows), g (rows, h) the product of dd with
// the other side's unit rows, dd and d the (n, k) matrices, read by columns if
// flipped (rows is then k and others n). So many groups lie one behind the other.
func CosineDX(groups, rows, others, h int, dx, g, u, sizes, dd, d Ptr, flipped, accumulate bool) Launch {
	return launch("cosine_dx", perRow(groups*rows), h, others, dx, g, u, sizes, dd, d, flipped, rows, accumulate)
}

package kernels

import "strconv"

// Pairs is a metric between rows a (n, h) and b (k, h) as the pairwise kernels
// see it: (by * sum of R(|a-b|)^p), and its root if Rooted. Of more Groups than one,
// all of N and K rows, each is compared within itself; they lie one behind the other
// in all arrays.
type Pairs struct {
	Groups  int // 0 is 1
	N, K, H int
	// R is sigmoid, softsign, arctan, tanh or isru, or linear, with P = 2, for
	// the Euclidean metrics.
	R      string
	P      int // 1 or 2
	By     float32
	Rooted bool
	Omega  float32 // of isru
}

// grid has tiles for each group in turn along its first axis, which has room for them.
func (p Pairs) grid(columns, rows int) [3]int { return [3]int{max(1, p.Groups) * columns, rows, 1} }

func (p Pairs) name(of string) string { return of + "_" + p.R + "_p" + strconv.Itoa(p.P) }

// Value sets d (n, k). unit, of P = 2 alone, is a power of two near the largest
// coordinate, and at most 1 unless R is linear: in this unit squares stay in
// range. 0 is none.
func (p Pairs) Value(d, a, b, unit Ptr) Launch {
	return launch(p.name("pairs"), p.grid(tiles(p.K, 64), tiles(p.N, 64)), p.N, p.K, p.H, d, a, b, p.By, p.Rooted, p.Omega, unit)
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

// GradA sets da (n, h), or adds to it, from c as Slopes left it.
func (p Pairs) GradA(da, c, a, b Ptr, accumulate bool) Launch {
	return launch(p.name("pairs_grad"), p.grid(tiles(p.H, 64), tiles(p.N, 64)), p.N, p.K, p.H, da, c, a, b, p.Omega, false, accumulate)
}

// GradB sets db (k, h), or adds to it.
func (p Pairs) GradB(db, c, a, b Ptr, accumulate bool) Launch {
	return launch(p.name("pairs_grad"), p.grid(tiles(p.H, 64), tiles(p.K, 64)), p.K, p.N, p.H, db, c, b, a, p.Omega, true, accumulate)
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

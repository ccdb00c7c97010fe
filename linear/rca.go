package linear

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// RCA is relevant component analysis (Bar-Hillel et al. 2005): M is the inverse
// of the covariance within chunks, groups of rows known to belong together.
type RCA struct {
	// Dim is the number of directions; 0 keeps all. With fewer, those of the
	// smallest ratio of within-chunk to total covariance come first (section
	// 3.2 of the paper), and are whitened.
	Dim int
}

// Name returns "rca".
func (RCA) Name() string { return "rca" }

// Fit needs chunks, or labels, whose classes are then the chunks. Rows of chunk
// -1 or unknown label take no part. If the rows within chunks do not span all
// columns, the metric has their rank, with a note.
func (c RCA) Fit(_ context.Context, p *Problem) (*Result, error) {
	return fitting(c.Name(), p, func() (*Result, error) {
		chunks := p.Chunks
		if chunks == nil {
			chunks = p.Labels
		}
		if chunks == nil {
			return nil, fmt.Errorf("chunks or labels are needed")
		}
		_, d := p.X.Dims()
		inner, err := innerCovariance(p.X, chunks)
		if err != nil {
			return nil, err
		}
		if c.Dim <= 0 || c.Dim >= d {
			l, rank, err := inverseFactor(inner)
			if err != nil {
				return nil, fmt.Errorf("rows within chunks: %w", err)
			}
			r := closed(l)
			noteRank(r, "covariance within chunks", rank, d)
			return r, nil
		}
		rows, _ := byClass(chunks)
		return c.reduced(selectRows(p.X, rows), inner)
	})
}

// reduced projects to Dim directions first; x are the rows in chunks.
func (c RCA) reduced(x *mat.Dense, inner *mat.SymDense) (*Result, error) {
	n, d := x.Dims()
	_, total := centeredScatter(x, allRows(n))
	total.ScaleSym(1/float64(n-1), total)
	ratio, v, err := generalized(inner, total)
	if err != nil {
		return nil, err
	}
	rank := len(ratio)
	if c.Dim > rank {
		return nil, fmt.Errorf("%d directions asked for, the rows have rank %d", c.Dim, rank)
	}
	a := mat.DenseCopyOf(v.Slice(0, d, rank-c.Dim, rank)) // smallest ratios
	white, innerRank, err := inverseFactor(congruent(a, inner))
	if err != nil {
		return nil, fmt.Errorf("rows within chunks: %w", err)
	}
	var l mat.Dense
	l.Mul(white, a.T())
	fixSigns(&l)
	r := closed(&l)
	noteRank(r, "covariance within chunks", innerRank, c.Dim)
	return r, nil
}

// innerCovariance is the covariance of chunked rows around the means of their
// chunks; the divisor is the number of chunked rows. Chunk numbers may be any.
func innerCovariance(x *mat.Dense, chunks []int) (*mat.SymDense, error) {
	_, d := x.Dims()
	rows, groups := byClass(chunks)
	s := mat.NewSymDense(d, nil)
	together := false
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		together = true
		_, sg := centeredScatter(x, g)
		s.AddSym(s, sg)
	}
	if !together {
		return nil, fmt.Errorf("no chunk has two rows")
	}
	trace := mat.Trace(s)
	s.ScaleSym(1/float64(len(rows)), s)
	if trace == 0 || math.IsNaN(trace) {
		return nil, fmt.Errorf("rows do not differ within any chunk")
	}
	return s, nil
}

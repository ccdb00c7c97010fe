package linear

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// LDA is Fisher's linear discriminant analysis (1936; Rao 1948 for more
// classes): the directions of largest scatter between class means over scatter
// within classes, scaled so that the pooled within-class covariance (divisor
// n-C) is the identity.
type LDA struct {
	// Dim is the number of directions; 0 means min(C-1, d).
	Dim int
}

// Name returns "lda".
func (LDA) Name() string { return "lda" }

// Fit needs labels of at least two classes.
func (l LDA) Fit(_ context.Context, p *Problem) (*Result, error) {
	return fitting(l.Name(), p, func() (*Result, error) {
		x, labels, err := p.known(2)
		if err != nil {
			return nil, err
		}
		rows, classes := byClass(labels)
		_, d := x.Dims()
		n, c := len(rows), len(classes)
		_, between := centeredScatter(x, rows)
		within := mat.NewSymDense(d, nil)
		for _, rows := range classes {
			_, s := centeredScatter(x, rows)
			within.AddSym(within, s)
		}
		subSym(between, between, within)
		if n > c {
			within.ScaleSym(1/float64(n-c), within)
		}
		between.ScaleSym(1/float64(max(c-1, 1)), between)
		mu, v, err := generalized(between, within)
		if err != nil {
			return nil, fmt.Errorf("rows within classes: %w", err)
		}
		h := min(c-1, len(mu))
		if l.Dim > 0 {
			if l.Dim > h {
				return nil, fmt.Errorf("%d directions asked for, %d classes of rank %d have %d", l.Dim, c, len(mu), h)
			}
			h = l.Dim
		}
		out := mat.DenseCopyOf(v.Slice(0, d, 0, h).T())
		fixSigns(out)
		r := closed(out)
		r.Eigenvalues = mu
		noteRank(r, "within-class scatter", len(mu), d)
		return r, nil
	})
}

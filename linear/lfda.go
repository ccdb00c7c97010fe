package linear

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Embedding says how LFDA scales its directions.
type Embedding string

// The embeddings of LFDA.
const (
	// Weighted scales each direction by the root of its eigenvalue.
	Weighted Embedding = "weighted"
	// Plain leaves them at v^T S_w v = 1.
	Plain Embedding = "plain"
	// Orthonormalized makes them an orthonormal basis.
	Orthonormalized Embedding = "orthonormalized"
)

// LFDA is local Fisher discriminant analysis (Sugiyama 2007): LDA in which a
// pair of one class counts by its affinity exp(-d_ij^2/(s_i s_j)), s_i being the
// distance of row i to its K-th nearest neighbor in its class, so that a class
// of several clusters is not pulled together.
type LFDA struct {
	// Dim is the number of directions; 0 keeps all.
	Dim int
	// K of the local scale; 0 means 7. A class of K rows or fewer uses its
	// farthest.
	K int
	// Embedding is Weighted if empty.
	Embedding Embedding
}

// Name returns "lfda".
func (LFDA) Name() string { return "lfda" }

// Fit needs labels of at least two classes.
func (f LFDA) Fit(ctx context.Context, p *Problem) (*Result, error) {
	return fitting(f.Name(), p, func() (*Result, error) {
		x, labels, err := p.known(2)
		if err != nil {
			return nil, err
		}
		between, within, err := f.scatters(ctx, x, labels)
		if err != nil {
			return nil, err
		}
		mu, v, err := generalized(between, within)
		if err != nil {
			return nil, fmt.Errorf("rows within classes: %w", err)
		}
		d, rank := v.Dims()
		h := rank
		if f.Dim > 0 {
			h = min(f.Dim, rank)
		}
		l, err := f.embed(mat.DenseCopyOf(v.Slice(0, d, 0, h)), mu)
		if err != nil {
			return nil, err
		}
		fixSigns(l)
		r := closed(l)
		r.Eigenvalues = mu
		noteRank(r, "local within-class scatter", rank, d)
		return r, nil
	})
}

// scatters are Sugiyama's S_b and S_w, S = X^T (diag(W 1) - W) X with
// W_w = A/n_c within classes and W_b = A (1/n - 1/n_c) within, 1/n between.
func (f LFDA) scatters(ctx context.Context, x *mat.Dense, labels []int) (between, within *mat.SymDense, err error) {
	rows, classes := byClass(labels)
	_, d := x.Dims()
	n := float64(len(rows))
	// Weights 1/n between classes: all pairs less those inside classes.
	_, between = centeredScatter(x, rows)
	within = mat.NewSymDense(d, nil)
	for _, c := range classes {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		m := float64(len(c))
		_, inside := centeredScatter(x, c)
		inside.ScaleSym(-m/n, inside)
		between.AddSym(between, inside)
		if len(c) < 2 {
			continue
		}
		local := f.localScatter(selectRows(x, c))
		var part mat.SymDense
		part.ScaleSym(1/n-1/m, local)
		between.AddSym(between, &part)
		local.ScaleSym(1/m, local)
		within.AddSym(within, local)
	}
	return between, within, nil
}

// localScatter is X^T (diag(A 1) - A) X of the rows of a class, a row of A at a
// time.
func (f LFDA) localScatter(x *mat.Dense) *mat.SymDense {
	n, d := x.Dims()
	k := f.K
	if k <= 0 {
		k = 7
	}
	k = min(k, n-1)
	scale := make([]float64, n)
	dist := make([]float64, n)
	for i := range n {
		squaredTo(dist, x, i)
		dist[i] = 0 // first, whatever the rounding
		slices.Sort(dist)
		scale[i] = math.Sqrt(dist[k])
	}
	q := mat.NewDense(n, d, nil)
	for i := range n {
		squaredTo(dist, x, i)
		xi, qi := x.RawRowView(i), q.RawRowView(i)
		for j := range n {
			s := scale[i] * scale[j]
			if j == i || s == 0 {
				continue
			}
			a := math.Exp(-dist[j] / s)
			for c, v := range x.RawRowView(j) {
				qi[c] += a * (xi[c] - v)
			}
		}
	}
	var s mat.Dense
	s.Mul(x.T(), q)
	return symmetrized(&s)
}

func (f LFDA) embed(v *mat.Dense, mu []float64) (*mat.Dense, error) {
	d, h := v.Dims()
	switch f.Embedding {
	case Plain:
	case Weighted, "":
		for j := range h {
			s := math.Sqrt(max(mu[j], 0))
			for i := range d {
				v.Set(i, j, s*v.At(i, j))
			}
		}
	case Orthonormalized:
		var qr mat.QR
		qr.Factorize(v)
		var q mat.Dense
		qr.QTo(&q)
		v = mat.DenseCopyOf(q.Slice(0, d, 0, h))
	default:
		return nil, fmt.Errorf("embedding %q, want %s, %s or %s", f.Embedding, Weighted, Plain, Orthonormalized)
	}
	return mat.DenseCopyOf(v.T()), nil
}

// squaredTo sets dst[j] = |x_i - x_j|^2.
func squaredTo(dst []float64, x *mat.Dense, i int) {
	xi := x.RawRowView(i)
	for j := range dst {
		dst[j] = squared(xi, x.RawRowView(j))
	}
}

package linear

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/eval"
)

// laplacian adds to q (n, h) the pair's part of the weighted graph Laplacian of
// z: w (z_a - z_b) in row a, its negative in row b. Then z^T q is the sum over
// pairs of w (z_a - z_b)(z_a - z_b)^T, without a matrix per pair (Laplacian
// trick; O(pairs h + n h^2) time and O(n h) memory).
func laplacian(q, z *mat.Dense, pairs []Pair, w func(k int) float64) {
	_, h := z.Dims()
	for k, p := range pairs {
		c := w(k)
		if c == 0 {
			continue
		}
		za, zb := z.RawRowView(p[0])[:h], z.RawRowView(p[1])[:h]
		qa, qb := q.RawRowView(p[0])[:h], q.RawRowView(p[1])[:h]
		for j := range h {
			v := c * (za[j] - zb[j])
			qa[j] += v
			qb[j] -= v
		}
	}
}

// scatterOf returns the sum over pairs of (x_a - x_b)(x_a - x_b)^T.
func scatterOf(x *mat.Dense, pairs []Pair) *mat.SymDense {
	n, d := x.Dims()
	q := mat.NewDense(n, d, nil)
	laplacian(q, x, pairs, func(int) float64 { return 1 })
	var s mat.Dense
	s.Mul(x.T(), q)
	return symmetrized(&s)
}

// squaredPairs sets dst[k] = |z_a - z_b|^2.
func squaredPairs(dst []float64, z *mat.Dense, pairs []Pair) []float64 {
	if dst == nil {
		dst = make([]float64, len(pairs))
	}
	for k, p := range pairs {
		dst[k] = squared(z.RawRowView(p[0]), z.RawRowView(p[1]))
	}
	return dst
}

func squared(a, b []float64) float64 {
	b = b[:len(a)]
	s := 0.0
	for i, v := range a {
		d := v - b[i]
		s += d * d
	}
	return s
}

// mean returns the mean of rows and the centered scatter sum (x-m)(x-m)^T of the
// given rows.
func centeredScatter(x *mat.Dense, rows []int) (mean []float64, s *mat.SymDense) {
	_, d := x.Dims()
	mean = make([]float64, d)
	for _, i := range rows {
		for j, v := range x.RawRowView(i) {
			mean[j] += v / float64(len(rows))
		}
	}
	c := mat.NewDense(len(rows), d, nil)
	for k, i := range rows {
		row := c.RawRowView(k)
		for j, v := range x.RawRowView(i) {
			row[j] = v - mean[j]
		}
	}
	s = mat.NewSymDense(d, nil)
	s.SymOuterK(1, c.T())
	return mean, s
}

func allRows(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// transform returns x l^T, (n, h).
func transform(x, l *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	h, _ := l.Dims()
	z := mat.NewDense(n, h, nil)
	z.Mul(x, l.T())
	return z
}

// quantile of numbers in any order, see eval.Quantile.
func quantile(x []float64, q float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return eval.Quantile(s, q)
}

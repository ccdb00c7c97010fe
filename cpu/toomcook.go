package cpu

import "math"

// toomCook returns the matrices A^T (m, n), G (n, r) and B^T (n, n) of F(m, r)
// with n = m + r - 1 points, of which all but the last, infinity, are given:
// A^T ((G w) * (B^T x)) are the m results of r taps w on n cells x (Toom 1963;
// Lavin and Gray 2016, section 4). Rows of B^T and columns of A^T are scaled by powers
// of 2 to norms near 1, which keeps the products of a point in the range of the
// others and rounds nothing.
func toomCook(points []float64, m, r int) (at, g, bt [][]float64) {
	n := m + r - 1
	at, g, bt = zeros(m, n), zeros(n, r), zeros(n, n)
	for i, p := range points {
		lagrange := 1.0
		others := []float64{1} // coefficients of the product of x - q
		for j, q := range points {
			if j != i {
				lagrange *= p - q
				others = timesRoot(others, q)
			}
		}
		for k := range m {
			at[k][i] = math.Pow(p, float64(k))
		}
		for k := range r {
			g[i][k] = math.Pow(p, float64(k)) / lagrange
		}
		copy(bt[i], others)
	}
	at[m-1][n-1], g[n-1][r-1] = 1, 1
	all := []float64{1}
	for _, p := range points {
		all = timesRoot(all, p)
	}
	copy(bt[n-1], all)
	for i := range n {
		in, out := 0.0, 0.0
		for _, x := range bt[i] {
			in += x * x
		}
		for k := range m {
			out += at[k][i] * at[k][i]
		}
		in, out = math.Exp2(math.Round(math.Log2(in)/2)), math.Exp2(math.Round(math.Log2(out)/2))
		for k := range n {
			bt[i][k] /= in
		}
		for k := range m {
			at[k][i] /= out
		}
		for k := range r {
			g[i][k] *= in * out
		}
	}
	return at, g, bt
}

// timesRoot multiplies a polynomial, lowest power first, by x - root.
func timesRoot(p []float64, root float64) []float64 {
	out := make([]float64, len(p)+1)
	for i, c := range p {
		out[i+1] += c
		out[i] -= root * c
	}
	return out
}

func zeros(rows, cols int) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, cols)
	}
	return m
}

func transposed(m [][]float64) [][]float64 {
	t := zeros(len(m[0]), len(m))
	for r := range m {
		for c, x := range m[r] {
			t[c][r] = x
		}
	}
	return t
}

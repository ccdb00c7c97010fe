package cpu

// fewRows is how many rows a side of a pairing may have for products row by row: to
// pack operands would take longer than to multiply them.
const fewRows = 16

// dots sets d[i][j] to the scalar product of row i of a (n, h) and row j of b (k, h).
func (e *Engine) dots(p *pairArgs, a, b []float32) {
	if max(p.n, p.k) > fewRows {
		e.matmul(p.d, a, b, p.n, p.k, p.h, false, true, false)
		return
	}
	for i := range p.n {
		for j := range p.k {
			p.d[i*p.k+j] = float32(e.kernels.project(p.row(a, i), p.row(b, j), 0))
		}
	}
}

// mixRows sets row i of y (n, h) to the sum over j of s[i][j] times row j of x (k, h),
// or of s[j][i] if asked, or adds to it.
func (e *Engine) mixRows(y, s, x []float32, n, k, h int, trans, accumulate bool) {
	if max(n, k) > fewRows {
		e.matmul(y, s, x, n, h, k, trans, false, accumulate)
		return
	}
	for i := range n {
		to := y[i*h : (i+1)*h]
		if !accumulate {
			clear(to)
		}
		for j := range k {
			at := i*k + j
			if trans {
				at = j*n + i
			}
			e.kernels.normGrad(to, x[j*h:(j+1)*h], to, s[at], 1, 0, 0)
		}
	}
}

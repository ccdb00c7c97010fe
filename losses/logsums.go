package losses

import "math"

// logSums holds log(1 + sum of exp x) for many columns at once, filled row by
// row in three passes: see every x, add every x, then scale the returned
// exponentials to derivatives. Exponents of any size are safe.
type logSums struct {
	top, sum, scale []float64
}

// reset prepares n empty sums. An empty sum has the value log 1 = 0.
func (l *logSums) reset(n int) {
	l.top = grow(l.top, n)
	l.sum = grow(l.sum, n)
	l.scale = grow(l.scale, n)
	for j := range n {
		l.top[j] = math.Inf(-1)
	}
	clear(l.sum)
}

// see takes note of an exponent.
func (l *logSums) see(j int, x float64) {
	if x > l.top[j] {
		l.top[j] = x
	}
}

// add adds exp(x - shift) to the sum of column j and returns it. The shift is
// the largest of the column's exponents and 0, the exponent of the one.
func (l *logSums) add(j int, x float64) float64 {
	if l.top[j] > 0 {
		x -= l.top[j]
	}
	e := math.Exp(x)
	l.sum[j] += e
	return e
}

// used counts the columns that saw an exponent.
func (l *logSums) used() int {
	n := 0
	for _, top := range l.top {
		if !math.IsInf(top, -1) {
			n++
		}
	}
	return n
}

// finish returns the sum of all columns' values and sets scale[j] to what
// turns the result of add into weight times the derivative.
func (l *logSums) finish(weight float64) float64 {
	value := 0.0
	for j, top := range l.top {
		if top > 0 {
			one := math.Exp(-top)
			value += top + math.Log(one+l.sum[j])
			l.scale[j] = weight / (one + l.sum[j])
		} else {
			value += math.Log1p(l.sum[j])
			l.scale[j] = weight / (1 + l.sum[j])
		}
	}
	return value
}

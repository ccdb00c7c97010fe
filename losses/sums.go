package losses

import (
	"math"
	"runtime"
	"sync"
)

// sum adds up in order.
func sum(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total
}

// logSumExp returns log(sum exp x) and turns x into the softmax of x, its
// gradient. Of nothing it is -infinity.
func logSumExp(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for k, v := range x {
		x[k] = math.Exp(v - top)
		sum += x[k]
	}
	inverse := 1 / sum
	for k := range x {
		x[k] *= inverse
	}
	return top + math.Log(sum)
}

// softplus returns log(1 + exp x) and its derivative 1/(1 + exp -x), without
// overflow. At -infinity both are 0.
func softplus(x float64) (value, slope float64) {
	e := math.Exp(-math.Abs(x))
	if x > 0 {
		return x + math.Log1p(e), 1 / (1 + e)
	}
	return math.Log1p(e), e / (1 + e)
}

// crossEntropy returns -log softmax(logits)[target] and turns logits into its
// gradient.
func crossEntropy(logits []float64, target int) float64 {
	own := logits[target]
	value := logSumExp(logits) - own
	logits[target]--
	return max(value, 0)
}

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

// norm is |x|, without overflow of its square.
func norm(x []float64) float64 {
	top := 0.0
	for _, v := range x {
		top = math.Max(top, math.Abs(v))
	}
	if top == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range x {
		sum += (v / top) * (v / top)
	}
	return top * math.Sqrt(sum)
}

// minShare is how many matrix entries are worth a goroutine of their own.
const minShare = 1 << 16

// spread calls fn for parts of 0..n-1, at once where the work, of the given
// number of matrix entries, is worth it. Parts are numbered from 0 and fewer than
// parts(). What fn does for an index must not depend on the part that it is in:
// then neither does the result on the number of processors.
func spread(n, work int, fn func(part, from, to int)) {
	count := max(1, min(parts(), n, work/minShare))
	if count == 1 {
		fn(0, 0, n)
		return
	}
	var wait sync.WaitGroup
	for part := range count {
		wait.Go(func() { fn(part, part*n/count, (part+1)*n/count) })
	}
	wait.Wait()
}

// parts is the most parts that spread makes.
func parts() int { return runtime.GOMAXPROCS(0) }

// grow returns a slice of length n, s itself where it has room. Its content is
// unspecified.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

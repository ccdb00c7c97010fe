package cpu

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"github.com/vernier-ml/vernier/engine"
)

// Blocks of proxy-anchor: the logits of anchorRows rows and anchorColumns columns stay in
// a first-level cache. Partial sums follow them, so that they are part of the result.
const (
	anchorRows    = 16
	anchorColumns = 256
)

// ProxyAnchor is the loss of Kim et al. The batch is read twice: once for the sums of each
// column, which keep the largest exponent so far, and once for the derivative.
// Exponentials are float32; sums of anchorRows of them are added in float64.
func (e *Engine) ProxyAnchor(loss, dd, d, labels engine.Tensor, spec engine.ProxyAnchorSpec) error {
	g := args{op: "proxy-anchor"}
	c := g.classLoss(loss, dd, d, labels)
	if g.err != nil {
		return g.err
	}
	alpha := float64(spec.Alpha)
	a := anchor{
		classLoss: c, engine: e, bad: new(atomic.Bool),
		pull: times(spec.Similarity, -alpha, float64(spec.PosMargin)), push: times(spec.Similarity, alpha, float64(spec.NegMargin)),
	}
	buf := grow(&e.scratch.first, 2*c.columns)
	a.most, a.share = buf[:c.columns], buf[c.columns:]
	total := a.others()
	own, grads := a.own()
	if a.bad.Load() {
		total = math.NaN()
	}
	if c.dd != nil {
		a.derivative(grads)
	}
	c.set(own + total/float64(c.columns))
	return nil
}

// anchor is one evaluation of the loss.
type anchor struct {
	classLoss
	engine *Engine
	// The exponents of rows of a proxy's own class and of others.
	pull, push quadraticOf
	// Of each column, over rows of other classes: the largest exponent, and what its
	// exponential has as derivative of the loss.
	most, share []float32
	bad         *atomic.Bool // a value is not finite
}

// others returns the sum over columns of log(1 + sum of exp(push)).
func (a *anchor) others() float64 {
	blocks := ceilDiv(a.columns, anchorColumns)
	parts := make([]float64, blocks)
	a.engine.pool.run(blocks, func(worker, i int) {
		from := i * anchorColumns
		parts[i] = a.block(worker, from, min(from+anchorColumns, a.columns))
	})
	total := 0.0
	for _, v := range parts {
		total += v
	}
	return total
}

// block sums up columns from to to-1 and sets their most and share.
func (a *anchor) block(worker, from, to int) float64 {
	k, width := a.engine.kernels, to-from
	buf := grow(&a.engine.scratch.workers[worker].rows, (anchorRows+2)*width)
	logits, next, part := buf[2*width:], buf[:width], buf[width:2*width]
	most, sums := a.most[from:to], make([]float64, width)
	for j := range most {
		most[j] = -math.MaxFloat32
	}
	for first := 0; first < a.rows; first += anchorRows {
		last := min(first+anchorRows, a.rows)
		copy(next, most)
		for i := first; i < last; i++ {
			x, l := a.row(a.d, i)[from:to], logits[(i-first)*width:(i-first+1)*width]
			if !k.finite(x) {
				a.bad.Store(true)
			}
			a.push.set(k, l, x)
			if j := a.classLoss.own[i] - from; j >= 0 && j < width {
				l[j] = float32(math.Inf(-1))
			}
			k.maximum(next, next, l)
		}
		clear(part)
		for i := range last - first {
			k.columnExp(part, logits[i*width:(i+1)*width], next)
		}
		for j, m := range next {
			if m != most[j] {
				sums[j] *= math.Exp(float64(most[j]) - float64(m))
				most[j] = m
			}
			sums[j] += float64(part[j])
		}
	}
	total := 0.0
	for j, sum := range sums {
		value, share := logOnePlus(float64(most[j]), sum)
		total += value
		a.share[from+j] = float32(share / float64(a.columns))
	}
	return total
}

// logOnePlus returns log(1 + sum*exp(most)) and its derivative with respect to sum.
func logOnePlus(most, sum float64) (value, slope float64) {
	if sum == 0 {
		return 0, 0
	}
	m := max(most, 0)
	e := math.Exp(most - m)
	if m == 0 {
		return math.Log1p(sum * e), e / (1 + sum*e)
	}
	total := math.Exp(-m) + sum*e
	return m + math.Log(total), e / total
}

// own returns the mean over classes with rows of log(1 + sum of exp(pull)), and its
// derivative with respect to the value of each row with its own class.
func (a *anchor) own() (mean float64, grads []float32) {
	order := make([]int, a.rows)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(a.classLoss.own[i], a.classLoss.own[j]), cmp.Compare(i, j))
	})
	grads = make([]float32, a.rows)
	classes := 0
	for from := 0; from < a.rows; classes++ {
		class, to := a.classLoss.own[order[from]], from+1
		for to < a.rows && a.classLoss.own[order[to]] == class {
			to++
		}
		mean += a.class(class, order[from:to], grads)
		from = to
	}
	for i, g := range grads {
		grads[i] = g / float32(classes)
	}
	return mean / float64(classes), grads
}

// class returns log(1 + sum of exp(pull)) over the rows of a class and sets their grads.
func (a *anchor) class(class int, rows []int, grads []float32) float64 {
	at := func(i int) (y, slope float64) { return a.pull.at(a.d[i*a.columns+class]) }
	most, sum := math.Inf(-1), 0.0
	for _, i := range rows {
		y, _ := at(i)
		most = max(most, y)
	}
	for _, i := range rows {
		y, _ := at(i)
		sum += math.Exp(y - most)
	}
	value, share := logOnePlus(most, sum)
	for _, i := range rows {
		y, slope := at(i)
		grads[i] = float32(math.Exp(y-most) * share * slope)
	}
	return value
}

// derivative sets dd; own are its elements of rows and their own classes.
func (a *anchor) derivative(own []float32) {
	k := a.engine.kernels
	b := [3]float32{float32(a.push.a), float32(a.push.b), float32(a.push.c)}
	a.engine.pool.run(ceilDiv(a.rows, anchorRows), func(_, item int) {
		first, last := item*anchorRows, min((item+1)*anchorRows, a.rows)
		for from := 0; from < a.columns; from += 4 * anchorColumns {
			to := min(from+4*anchorColumns, a.columns)
			for i := first; i < last; i++ {
				k.columnGrad(a.row(a.dd, i)[from:to], a.row(a.d, i)[from:to], a.most[from:to], a.share[from:to], b[0], b[1], b[2])
			}
		}
		for i := first; i < last; i++ {
			a.dd[i*a.columns+a.classLoss.own[i]] = own[i]
		}
	})
}

package cpu

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

var _ engine.ClassLosses = (*Engine)(nil)

// classLoss are the checked arguments of a loss over class rows.
type classLoss struct {
	rows, columns int
	d, dd         []float32 // (rows, columns); dd is nil where nobody wants the derivative
	loss          []float32
	own           []int // column of the class of each row
}

func (g *args) classLoss(loss, dd, d, labels engine.Tensor) (c classLoss) {
	in, out, of, grad := g.get("d", d, 2), g.get("loss", loss, 1), g.get("labels", labels, 1), g.maybe("dd", dd, 2)
	if g.err != nil {
		return c
	}
	c = classLoss{rows: in.shape[0], columns: in.shape[1], d: in.v, dd: grad.v, loss: out.v}
	g.want(out, in, 1)
	g.want(of, in, c.rows)
	g.want(grad, in, c.rows, c.columns)
	g.apart(grad, in, of)
	g.apart(out, in, of, grad)
	if c.columns > engine.MaxClasses {
		g.fail("%v has more than %d columns", in, engine.MaxClasses)
	}
	if g.err != nil {
		return c
	}
	c.own = make([]int, c.rows)
	for i, label := range of.v {
		if c.own[i] = int(label); !(label >= 0 && label < float32(c.columns)) || float32(c.own[i]) != label {
			g.fail("labels[%d] is %v, want a whole number from 0 to %d", i, label, c.columns-1)
			return c
		}
	}
	return c
}

func (c *classLoss) row(x []float32, i int) []float32 { return x[i*c.columns : (i+1)*c.columns] }

// set stores the loss. Where it is not finite, the derivative is not either.
func (c *classLoss) set(loss float64) {
	if c.loss[0] = float32(loss); c.loss[0]-c.loss[0] == 0 {
		return
	}
	for i := range c.dd {
		c.dd[i] = float32(math.NaN())
	}
}

// quadraticOf is an engine.Quadratic in float64.
type quadraticOf struct{ a, b, c float64 }

// times returns by*(q - less).
func times(q engine.Quadratic, by, less float64) quadraticOf {
	return quadraticOf{by * (float64(q.A) - less), by * float64(q.B), by * float64(q.C)}
}

func (q quadraticOf) at(x float32) (y, slope float64) {
	v := float64(x)
	return (q.c*v+q.b)*v + q.a, 2*q.c*v + q.b
}

// set sets y to the quadratic of x.
func (q quadraticOf) set(k *kernels, y, x []float32) {
	k.quadratic(y, x, float32(q.a), float32(q.b), float32(q.c))
}

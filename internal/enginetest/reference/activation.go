package reference

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// gelu returns the unit and its derivative.
func gelu(x float64, form engine.GELUForm) (value, slope float64) {
	if form == engine.GELUErf {
		share := math.Erfc(-x/math.Sqrt2) / 2 // Phi(x), also where it is tiny
		return x * share, share + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
	}
	if form == engine.GELUQuick {
		share := 1 / (1 + math.Exp(-1.702*x))
		return x * share, share + 1.702*x*share*(1-share)
	}
	const cubic = 0.044715
	root := math.Sqrt(2 / math.Pi)
	t := math.Tanh(root * (x + cubic*x*x*x))
	return x * (1 + t) / 2, (1+t)/2 + x*(1-t*t)/2*root*(1+3*cubic*x*x)
}

// GELU sets y = x Phi(x).
func (Engine) GELU(y, x engine.Tensor, form engine.GELUForm) error {
	c := call{op: "gelu"}
	out, in := c.any("y", y), c.any("x", x)
	c.same(out, in)
	c.check(form.Known(), "form %d is unknown", form)
	if c.err != nil {
		return c.err
	}
	for i, v := range in.v {
		value, _ := gelu(float64(v), form)
		out.v[i] = float32(value)
	}
	return nil
}

// GELUGrad is the gradient of GELU.
func (Engine) GELUGrad(dx, dy, x engine.Tensor, form engine.GELUForm) error {
	c := call{op: "gelu gradient"}
	to, up, in := c.any("dx", dx), c.any("dy", dy), c.any("x", x)
	c.same(to, in)
	c.same(up, in)
	c.check(form.Known(), "form %d is unknown", form)
	if c.err != nil {
		return c.err
	}
	for i, v := range in.v {
		_, slope := gelu(float64(v), form)
		to.v[i] = float32(float64(up.v[i]) * slope)
	}
	return nil
}

// logSum returns the logarithm of the sum of exponentials of x.
func logSum(x []float64) float64 {
	most := math.Inf(-1)
	for _, v := range x {
		most = math.Max(most, v) // NaN wins
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - most)
	}
	return most + math.Log(sum)
}

// Softmax sets every row of y to exp(x) / sum exp(x).
func (Engine) Softmax(y, x engine.Tensor) error {
	c := call{op: "softmax"}
	return c.rowwise(y, x, func(v, total float64) float64 { return math.Exp(v - total) })
}

// LogSoftmax sets every row of y to x - log sum exp(x).
func (Engine) LogSoftmax(y, x engine.Tensor) error {
	c := call{op: "log softmax"}
	return c.rowwise(y, x, func(v, total float64) float64 { return v - total })
}

// rowwise applies f to every element of x and the logSum of its row.
func (c *call) rowwise(y, x engine.Tensor, f func(v, total float64) float64) error {
	in, rows, d := c.lines("x", x, 1)
	out := c.any("y", y)
	c.same(out, in)
	if c.err != nil {
		return c.err
	}
	for r := range rows {
		row := wide(in.v[r*d : (r+1)*d])
		total := logSum(row)
		for j, v := range row {
			out.v[r*d+j] = float32(f(v, total))
		}
	}
	return nil
}

func wide(x []float32) []float64 {
	w := make([]float64, len(x))
	for i, v := range x {
		w[i] = float64(v)
	}
	return w
}

// SoftmaxGrad is the gradient of Softmax: dx = y*(dy - sum(dy*y)).
func (Engine) SoftmaxGrad(dx, dy, y engine.Tensor) error {
	c := call{op: "softmax gradient"}
	return c.rowwiseGrad(dx, dy, y, func(dy, y []float64, j int) float64 {
		along := 0.0
		for i, v := range y {
			along += v * dy[i]
		}
		return y[j] * (dy[j] - along)
	})
}

// LogSoftmaxGrad is the gradient of LogSoftmax: dx = dy - exp(y)*sum(dy).
func (Engine) LogSoftmaxGrad(dx, dy, y engine.Tensor) error {
	c := call{op: "log softmax gradient"}
	return c.rowwiseGrad(dx, dy, y, func(dy, y []float64, j int) float64 {
		total := 0.0
		for _, v := range dy {
			total += v
		}
		return dy[j] - math.Exp(y[j])*total
	})
}

// rowwiseGrad sets every element j of a row of dx to f of the rows of dy and y.
func (c *call) rowwiseGrad(dx, dy, y engine.Tensor, f func(dy, y []float64, j int) float64) error {
	out, rows, d := c.lines("y", y, 1)
	up, to := c.any("dy", dy), c.any("dx", dx)
	c.same(up, out)
	c.same(to, out)
	if c.err != nil {
		return c.err
	}
	for r := range rows {
		g, v := wide(up.v[r*d:(r+1)*d]), wide(out.v[r*d:(r+1)*d])
		for j := range d {
			to.v[r*d+j] = float32(f(g, v, j))
		}
	}
	return nil
}

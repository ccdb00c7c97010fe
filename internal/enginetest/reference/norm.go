package reference

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// channelled unwraps (N, C) or (N, C, H, W).
func (c *call) channelled(name string, t engine.Tensor) array {
	a := c.any(name, t)
	c.check(c.err != nil || len(a.shape) == 2 || len(a.shape) == 4, "%v, want (N, C) or (N, C, H, W)", a)
	return a
}

// BatchNorm normalizes with the statistics of the batch.
func (Engine) BatchNorm(y, mean, invStd, runningMean, runningVar, x, gamma, beta engine.Tensor, eps, momentum float32) error {
	c := call{op: "batch norm"}
	in, out := c.channelled("x", x), c.any("y", y)
	c.same(out, in)
	if c.err != nil {
		return c.err
	}
	k := in.shape[1]
	m, s := c.of("mean", mean, k), c.of("invStd", invStd, k)
	rm, rv := c.of("runningMean", runningMean, k), c.of("runningVar", runningVar, k)
	g, b := c.of("gamma", gamma, k), c.of("beta", beta, k)
	count := float64(len(in.v) / k)
	c.check(count > 1, "%v has one value a channel, which has no variance", in)
	if c.err != nil {
		return c.err
	}
	center := channelSums(in, func(i int) float64 { return float64(in.v[i]) / count })
	variance := channelSums(in, func(i int) float64 {
		d := float64(in.v[i]) - center[channel(in, i)]
		return d * d / count
	})
	inverse := make([]float64, k)
	for j := range k {
		inverse[j] = 1 / math.Sqrt(variance[j]+float64(eps))
		m.v[j], s.v[j] = float32(center[j]), float32(inverse[j])
		rm.v[j] = mix(rm.v[j], center[j], momentum)
		rv.v[j] = mix(rv.v[j], variance[j]*count/(count-1), momentum)
	}
	for i, v := range in.v {
		j := channel(in, i)
		out.v[i] = float32((float64(v)-center[j])*inverse[j]*float64(g.v[j]) + float64(b.v[j]))
	}
	return nil
}

func mix(running float32, batch float64, momentum float32) float32 {
	return float32((1-float64(momentum))*float64(running) + float64(momentum)*batch)
}

// BatchNormGrad is the gradient of BatchNorm. With u = (x - mean)*invStd and n
// values a channel: dbeta = sum dy, dgamma = sum dy*u,
// dx = gamma*invStd*(dy - dbeta/n - u*dgamma/n).
func (Engine) BatchNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd engine.Tensor) error {
	c := call{op: "batch norm gradient"}
	n := c.normGrad(dx, dgamma, dbeta, dy, x, gamma, mean, invStd)
	if c.err != nil {
		return c.err
	}
	n.scale = func(j int) float64 { return float64(n.spread.v[j]) }
	sumDy, sumDyU := n.sums()
	count := float64(len(n.x.v) / n.x.shape[1])
	c.check(count > 1, "%v has one value a channel, which has no variance", n.x)
	if c.err != nil {
		return c.err
	}
	for i := range n.dx.v {
		j := channel(n.x, i)
		n.dx.v[i] = float32(float64(n.gamma.v[j]) * n.scale(j) * (float64(n.dy.v[i]) - sumDy[j]/count - n.unit(i)*sumDyU[j]/count))
	}
	return nil
}

// FrozenNorm normalizes with given statistics.
func (Engine) FrozenNorm(y, x, gamma, beta, mean, variance engine.Tensor, eps float32) error {
	c := call{op: "frozen norm"}
	in, out := c.channelled("x", x), c.any("y", y)
	c.same(out, in)
	if c.err != nil {
		return c.err
	}
	k := in.shape[1]
	g, b, m, v := c.of("gamma", gamma, k), c.of("beta", beta, k), c.of("mean", mean, k), c.of("variance", variance, k)
	if c.err != nil {
		return c.err
	}
	for i, p := range in.v {
		j := channel(in, i)
		out.v[i] = float32((float64(p)-float64(m.v[j]))/math.Sqrt(float64(v.v[j])+float64(eps))*float64(g.v[j]) + float64(b.v[j]))
	}
	return nil
}

// FrozenNormGrad is the gradient of FrozenNorm.
func (Engine) FrozenNormGrad(dx, dgamma, dbeta, dy, x, gamma, mean, variance engine.Tensor, eps float32) error {
	c := call{op: "frozen norm gradient"}
	n := c.normGrad(dx, dgamma, dbeta, dy, x, gamma, mean, variance)
	if c.err != nil {
		return c.err
	}
	n.scale = func(j int) float64 { return 1 / math.Sqrt(float64(n.spread.v[j])+float64(eps)) }
	n.sums()
	for i := range n.dx.v {
		j := channel(n.x, i)
		n.dx.v[i] = float32(float64(n.dy.v[i]) * float64(n.gamma.v[j]) * n.scale(j))
	}
	return nil
}

// normGradient holds the arguments of a gradient of a normalization. spread is
// invStd or the variance.
type normGradient struct {
	dx, dgamma, dbeta, dy, x, gamma, mean, spread array
	scale                                         func(channel int) float64
}

func (c *call) normGrad(dx, dgamma, dbeta, dy, x, gamma, mean, spread engine.Tensor) (n normGradient) {
	n.x, n.dy = c.channelled("x", x), c.any("dy", dy)
	c.same(n.dy, n.x)
	if c.err != nil {
		return n
	}
	k := n.x.shape[1]
	n.dx = c.maybe("dx", dx, n.x.shape...)
	n.dgamma, n.dbeta = c.maybe("dgamma", dgamma, k), c.maybe("dbeta", dbeta, k)
	n.gamma, n.mean, n.spread = c.of("gamma", gamma, k), c.of("mean", mean, k), c.of("statistic", spread, k)
	return n
}

// unit is (x - mean)*scale at element i.
func (n *normGradient) unit(i int) float64 {
	j := channel(n.x, i)
	return (float64(n.x.v[i]) - float64(n.mean.v[j])) * n.scale(j)
}

// sums returns the channel sums of dy and dy*unit and stores them as dbeta and
// dgamma where these are wanted.
func (n *normGradient) sums() (sumDy, sumDyU []float64) {
	sumDy = channelSums(n.x, func(i int) float64 { return float64(n.dy.v[i]) })
	sumDyU = channelSums(n.x, func(i int) float64 { return float64(n.dy.v[i]) * n.unit(i) })
	if n.dbeta.v != nil {
		round(n.dbeta, sumDy)
	}
	if n.dgamma.v != nil {
		round(n.dgamma, sumDyU)
	}
	return sumDy, sumDyU
}

// rowNorm returns the divisor of a row and its length, whose square cannot
// overflow in float64.
func rowNorm(x []float64, spec engine.RowNormSpec) (divisor, length float64) {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	length = math.Sqrt(sum)
	if spec.Smooth {
		return math.Sqrt(sum + float64(spec.Eps)), length
	}
	return max(length, float64(spec.Eps)), length
}

// RowNorm brings every row to length spec.Scale. A zero row stays zero.
func (Engine) RowNorm(y, x engine.Tensor, spec engine.RowNormSpec) error {
	c := call{op: "row norm"}
	in, out := c.of("x", x, -1, -1), c.any("y", y)
	c.same(out, in)
	c.check(spec.Eps >= 0, "eps is %v, want 0 or more", spec.Eps)
	if c.err != nil {
		return c.err
	}
	h := in.shape[1]
	for i := range in.shape[0] {
		row := in.row(i)
		divisor, length := rowNorm(row, spec)
		for j, v := range row {
			if length == 0 {
				out.v[i*h+j] = 0
			} else {
				out.v[i*h+j] = float32(float64(spec.Scale) * (v / divisor))
			}
		}
	}
	return nil
}

// RowNormGrad is the gradient of RowNorm: scale/d*(dy - x (x.dy)/d^2) with the
// divisor d where it depends on x, otherwise scale/d*dy. A zero row of which
// the divisor is 0 gets 0.
func (Engine) RowNormGrad(dx, dy, x engine.Tensor, spec engine.RowNormSpec) error {
	c := call{op: "row norm gradient"}
	in, up, out := c.of("x", x, -1, -1), c.any("dy", dy), c.any("dx", dx)
	c.same(up, in)
	c.same(out, in)
	c.check(spec.Eps >= 0, "eps is %v, want 0 or more", spec.Eps)
	if c.err != nil {
		return c.err
	}
	h := in.shape[1]
	for i := range in.shape[0] {
		row, d := in.row(i), up.row(i)
		divisor, length := rowNorm(row, spec)
		along := 0.0
		if spec.Smooth || length > float64(spec.Eps) {
			for j, v := range row {
				along += v / divisor * d[j]
			}
		}
		for j, v := range row {
			if divisor == 0 {
				out.v[i*h+j] = 0
			} else {
				out.v[i*h+j] = float32(float64(spec.Scale) / divisor * (d[j] - v/divisor*along))
			}
		}
	}
	return nil
}

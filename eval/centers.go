package eval

import (
	"fmt"
	"math"
)

// CenterRule says what a cluster's center is.
type CenterRule uint8

const (
	// CenterMean is the mean of the rows, whatever the metric.
	CenterMean CenterRule = iota
	// CenterOfMetric is the point of smallest summed D^p to the rows, for BRM; it
	// is the mean for every other metric. It is robust as BRM itself: a row with
	// one wild coordinate hardly moves it. Inertia then falls in every iteration.
	CenterOfMetric
)

var centerNames = [...]string{CenterMean: "mean", CenterOfMetric: "metric"}

// String returns mean or metric.
func (c CenterRule) String() string {
	if int(c) < len(centerNames) {
		return centerNames[c]
	}
	return fmt.Sprintf("CenterRule(%d)", uint8(c))
}

// ParseCenterRule is the inverse of String.
func ParseCenterRule(name string) (CenterRule, error) {
	for c, n := range centerNames {
		if n == name {
			return CenterRule(c), nil
		}
	}
	return 0, fmt.Errorf("eval: unknown center rule %q, want mean or metric", name)
}

const (
	// relaxSteps bounds the steps of relax; one below relaxDone is the last. R
	// is linear at 0 with slope at most 1, so that is a distance of 1e-4 too.
	relaxSteps = 20
	relaxDone  = 1e-4
	// relaxNear keeps the weight of a row on the center finite at p = 1.
	relaxNear = 1e-6
)

// relax replaces the mean of rows by a point of small sum_i R(|x_i - c|)^p, which
// D^p makes a problem of its own in each coordinate. There may be several
// minima: descent starts from the mean and, if that ends above where the center
// was, from there, so that the sum never rises.
func (c *clusterer) relax(mean, before []float64, rows []int32) {
	x := make([]float64, len(rows))
	for j := range mean {
		for i, row := range rows {
			x[i] = float64(c.rows.Row(int(row))[j])
		}
		at := c.descend(mean[j], x)
		if c.spread(before[j], x) < c.spread(at, x) {
			at = c.descend(before[j], x)
		}
		mean[j] = at
	}
}

// spread is sum R(|x - at|)^p.
func (c *clusterer) spread(at float64, x []float64) float64 {
	m := c.layout.metric
	sum := 0.0
	for _, v := range x {
		d := m.Restriction.Value(math.Abs(v-at), m.Omega)
		if m.P == 2 {
			d *= d
		}
		sum += d
	}
	return sum
}

// descend never increases spread: R(sqrt s)^p is concave in s = t^2 for every
// restriction and p, so it lies below its tangent in s, and the mean with the
// tangent's slopes p R^(p-1) R'/t as weights is the minimum of the tangents
// (majorise and minimize; Hunter and Lange 2004).
func (c *clusterer) descend(at float64, x []float64) float64 {
	m := c.layout.metric
	for range relaxSteps {
		sum, weights := 0.0, 0.0
		for _, v := range x {
			t := math.Max(math.Abs(v-at), relaxNear)
			w := m.Restriction.Slope(t, m.Omega) / t
			if m.P == 2 {
				w *= m.Restriction.Value(t, m.Omega)
			}
			sum += w * v
			weights += w
		}
		if weights == 0 {
			return at // every row is so far that R is flat there
		}
		next := sum / weights
		moved := math.Abs(next - at)
		at = next
		if moved < relaxDone {
			break
		}
	}
	return at
}

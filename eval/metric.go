package eval

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/metric"
)

// order is how eval ranks by a metric. Its keys ascend with distance and leave
// out what does not change the order: the root of Euclidean distance and of
// D = (mean R^p)^(1/p). So two rows are equally near when their keys are
// exactly equal in float64.
type order struct {
	metric metric.Metric // as given
	kernel metric.Metric // what the engine evaluates
	// negate says that the engine gets queries with the opposite sign: the metric is
	// a similarity, linear in them.
	negate bool
	// unit says that the engine gets rows of unit length, made in float64: so
	// neither tiny nor huge rows harm a cosine.
	unit bool
	// expand says that the engine gets the squared distance as a matrix
	// product, see layout.
	expand bool
	// centered says the same of SignalToNoise, whose rows lose their own mean.
	centered bool
}

func newOrder(m metric.Metric) (order, error) {
	if err := m.Validate(); err != nil {
		return order{}, fmt.Errorf("eval: %w", err)
	}
	m = m.Canonical()
	o := order{metric: m, kernel: m, negate: m.Similarity()}
	switch m.Kind {
	case metric.Euclidean, metric.SquaredEuclidean:
		o.kernel.Kind, o.expand = metric.Dot, true
	case metric.BRM:
		o.kernel.Power = m.P == 2
	case metric.Cosine:
		o.kernel.Kind, o.unit = metric.Dot, true
	case metric.SignalToNoise:
		o.kernel.Kind, o.centered = metric.Dot, true
	}
	return o, nil
}

// summed says that the engine's keys are sums of terms that cannot cancel, over the
// coordinates of rows as they are.
func (o order) summed() bool {
	return o.kernel.Kind == metric.BRM || o.kernel.Kind == metric.Manhattan
}

// distance turns a key into the distance that is reported.
func (o order) distance(key float64) float64 {
	switch {
	case o.metric.Kind == metric.Euclidean, o.metric.Kind == metric.BRM && !o.metric.Power && o.metric.P == 2:
		return math.Sqrt(max(key, 0))
	case o.metric.Kind == metric.Cosine:
		return 1 + key
	}
	return key
}

// DistanceName says what a figure's distances are: the metric's name, or
// "1 - cosine" and "-dot" for similarities.
func DistanceName(m metric.Metric) string {
	switch m.Kind {
	case metric.Cosine:
		return "1 - cosine"
	case metric.Dot:
		return "-dot"
	}
	return m.String()
}

// unitRows returns x/|x| of every row, and 0 for a row of zeros.
func unitRows(x []float32, h int) []float32 {
	u := make([]float32, len(x))
	for i := 0; i < len(x); i += h {
		unitRow(u[i:i+h], x[i:i+h])
	}
	return u
}

func unitRow(dst, x []float32) {
	n := norm(x)
	if n == 0 {
		clear(dst)
		return
	}
	for j, v := range x {
		dst[j] = float32(float64(v) / n)
	}
}

package losses

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// View turns the values of a metric into what a loss is written in, whatever
// the metric. With D0 the metric's value between two unrelated embeddings,
//
//	q = D^2/D0^2   takes the place of 1 - cosine (AsSquared)
//	s = 1 - q      takes the place of the cosine (AsSimilarity)
//	r = sqrt(2 q)  takes the place of the Euclidean distance of unit vectors (AsSphere)
//
// For a cosine q is 1 - cosine itself, so that losses keep their authors'
// constants; for Euclidean distance of rows of one length all three are exact
// as well. The zero View leaves values as they are.
type View struct {
	active     bool
	offset     float64 // x = offset + scale*V, or scale*V^2 if square
	scale      float64
	square     bool
	root       bool // x = sqrt(max(0, that)); floor is where it counts as 0
	floor      float64
	similarity bool // of the result
}

// AsSquared returns the view q for the metric at embedding scale c (as in
// metric.Metric.SphereValue).
func AsSquared(m metric.Metric, c float64) View {
	unit := m.UnrelatedValue(c)
	switch {
	case m.Similarity():
		return View{active: true, offset: 1, scale: -1 / similarityUnit(m, c)}
	case m.Squared():
		return View{active: true, scale: 1 / unit}
	}
	return View{active: true, scale: 1 / (unit * unit), square: true}
}

// AsSimilarity returns the view s.
func AsSimilarity(m metric.Metric, c float64) View {
	v := AsSquared(m, c)
	v.offset, v.scale, v.similarity = 1-v.offset, -v.scale, true
	return v
}

// AsSphere returns the view r.
func AsSphere(m metric.Metric, c float64) View {
	v := AsSquared(m, c)
	if v.square {
		return View{active: true, scale: math.Sqrt(2 * v.scale)}
	}
	v.offset, v.scale, v.root = 2*v.offset, 2*v.scale, true
	if m.Similarity() {
		v.floor = cosineFloor
	}
	return v
}

// cosineFloor is the squared distance of unit vectors below which a cosine in
// single precision cannot tell two vectors apart. There the root's slope would
// be nothing but rounding, so that it counts as that of distance 0, which is 0.
const cosineFloor = 1e-6

// similarityUnit is the similarity of an embedding with itself: 1 for a cosine.
func similarityUnit(m metric.Metric, c float64) float64 { return m.SphereValue(0, c) }

// Value returns the view of one value of the metric.
func (v View) Value(x float64) float64 {
	y, _ := v.at(x)
	return y
}

// Similarity says whether the result is a similarity, given whether the
// metric is one.
func (v View) Similarity(metric bool) bool {
	if !v.active {
		return metric
	}
	return v.similarity
}

// at returns the view of x and its derivative, which is 0 where a root ends.
func (v View) at(x float64) (y, slope float64) {
	if !v.active {
		return x, 1
	}
	y, slope = v.offset+v.scale*x, v.scale
	if v.square {
		y, slope = v.offset+v.scale*x*x, 2*v.scale*x
	}
	if !v.root {
		return y, slope
	}
	if y <= v.floor {
		return math.Sqrt(math.Max(y, 0)), 0
	}
	y = math.Sqrt(y)
	return y, slope / (2 * y)
}

// On returns the loss on the view of a metric's values. It has everything that
// the loss has: parameters, a term on its classes, several columns a class.
func On(v View, l Loss) Loss {
	if !v.active {
		return l
	}
	return &viewed{view: v, loss: l}
}

// viewed is a loss behind a view.
type viewed struct {
	view   View
	loss   Loss
	matrix Matrix
	slope  []float64
}

func (l *viewed) Columns() Columns { return l.loss.Columns() }

func (l *viewed) Eval(m *Matrix, grad []float64) (Result, error) {
	if m == nil || l.loss == nil {
		return Result{}, fmt.Errorf("losses: a view needs a loss behind it and a matrix before it, neither nil")
	}
	values := grow(l.matrix.V, len(m.V))
	l.slope = grow(l.slope, len(m.V))
	spread(len(m.V), len(m.V), func(_, from, to int) { l.view.all(values[from:to], l.slope[from:to], m.V[from:to]) })
	l.matrix = *m
	l.matrix.V = values
	l.matrix.Similarity = l.view.similarity
	r, err := l.loss.Eval(&l.matrix, grad)
	if err != nil {
		return r, err
	}
	spread(len(grad), len(grad), func(_, from, to int) {
		slope := l.slope[from:to]
		for k, g := range grad[from:to] {
			grad[from+k] = g * slope[k]
		}
	})
	return r, nil
}

// all is at for a whole slice.
func (v View) all(y, slope, x []float64) {
	y, slope = y[:len(x)], slope[:len(x)]
	switch {
	case v.root:
		for k, value := range x {
			y[k], slope[k] = v.at(value)
		}
	case v.square:
		for k, value := range x {
			y[k], slope[k] = v.offset+v.scale*value*value, 2*v.scale*value
		}
	default:
		for k, value := range x {
			y[k], slope[k] = v.offset+v.scale*value, v.scale
		}
	}
}

// onCosine says what a view on a cosine holds, and its name.
func (v View) onCosine() string {
	switch {
	case v.similarity:
		return "cosines (the view AsSimilarity)"
	case v.root:
		return "distances of unit vectors (the view AsSphere)"
	}
	return "distances of 1 - cosine (the view AsSquared)"
}

// follower makes a loss follow a scale of embeddings that changes (OpOptions.LogScale):
// the loss sees values times V(1)/V(c), where V(c) is the metric's value between unrelated
// embeddings of scale c. The zero follower leaves values as they are.
type follower struct {
	log      *layers.Node
	at       int // index of the logarithms among the op's inputs
	metric   metric.Metric
	matrices int // the first inputs, which hold values

	ratio  float64
	slopes []float64 // of the ratio's logarithm, in the logarithms of the scale
}

func newFollower(o OpOptions, at int, memory bool) follower {
	f := follower{log: o.LogScale, at: at, metric: o.Metric, matrices: 1}
	if memory {
		f.matrices = 2
	}
	return f
}

// inputs appends the logarithms to the op's inputs.
func (f *follower) inputs(in []*layers.Node) []*layers.Node {
	if f.log == nil {
		return in
	}
	return append(in, f.log)
}

// before brings values to what they are at scale 1.
func (f *follower) before(values [][]float64) {
	if f.log == nil {
		return
	}
	one, _ := f.metric.ScaledUnrelated([]float64{0})
	now, slopes := f.metric.ScaledUnrelated(values[f.at])
	f.ratio, f.slopes = one/now, slopes
	for k := range slopes {
		slopes[k] /= -now
	}
	for _, v := range values[:f.matrices] {
		scale(v, f.ratio)
	}
}

// after brings gradients of these values to those of the metric's own, and hands the
// logarithms theirs.
func (f *follower) after(values, grads [][]float64) {
	if f.log == nil {
		return
	}
	sum := 0.
	for i, grad := range grads[:f.matrices] {
		for k, g := range grad {
			sum += g * values[i][k]
		}
		scale(grad, f.ratio)
	}
	if to := grads[f.at]; to != nil {
		for k, s := range f.slopes {
			to[k] = sum * s
		}
	}
}

//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/losses"
)

// lossCase is a batch against class rows, some of whose classes are absent from
// it. The similarity is 1 - d^2/.3, a view of a distance.
type lossCase struct {
	rows, columns int
	d             []float32
	s             losses.Matrix
	labels        array
}

var lossView = kernels.View{A: 1, C: -1 / .3}

// newLossCase draws distances up to reach.
func newLossCase(b *bench, rows, columns int, reach float32) *lossCase {
	c := &lossCase{rows: rows, columns: columns, d: make([]float32, rows*columns)}
	c.s = losses.Matrix{Rows: rows, Cols: columns, V: make([]float64, rows*columns), Similarity: true}
	for i := range c.d {
		c.d[i] = reach * b.rng.Float32()
		c.s.V[i] = 1 - float64(c.d[i])*float64(c.d[i])/.3
	}
	labels := make([]float32, rows)
	for i := range rows {
		c.s.RowLabels = append(c.s.RowLabels, b.rng.IntN(max(columns/2, 1)))
		labels[i] = float32(c.s.RowLabels[i])
	}
	for j := range columns {
		c.s.ColLabels = append(c.s.ColLabels, j)
	}
	c.labels = b.up(kernels.F32, labels)
	return c
}

// compare runs a loss by kernels and on the host, whose gradient is carried on to d.
func (c *lossCase) compare(b *bench, name string, l losses.Loss, tolerance float64, launches func(loss, grad, d, labels kernels.Ptr) []kernels.Launch) {
	b.t.Helper()
	loss, grad := b.empty(kernels.F32, 1), b.empty(kernels.F32, len(c.d))
	b.run(launches(loss.Ptr(), grad.Ptr(), b.up(kernels.F32, c.d).Ptr(), c.labels.Ptr())...)
	g := make([]float64, len(c.d))
	r, err := l.Eval(&c.s, g)
	b.must(err)
	want := make([]float32, len(g))
	for i, v := range g {
		want[i] = float32(v * -2 * float64(c.d[i]) / .3)
	}
	if got := float64(loss.down()[0]); !(math.Abs(got-r.Value) <= tolerance*(1e-2+math.Abs(r.Value))) {
		b.t.Errorf("%s: %v, want %v", name, got, r.Value)
	}
	b.same(name+" gradient", kernels.F32, grad.down(), want, 4*tolerance)
}

func (c *lossCase) proxyAnchor(b *bench, alpha float32) func(loss, grad, d, labels kernels.Ptr) []kernels.Launch {
	return func(loss, grad, d, labels kernels.Ptr) []kernels.Launch {
		share, stats := b.empty(kernels.F32, 1), b.empty(kernels.F32, 6*c.columns)
		return kernels.ProxyAnchor(c.rows, c.columns, loss, grad, share.Ptr(), stats.Ptr(), d, labels, alpha, .1, -.1, lossView)
	}
}

func (c *lossCase) softmax(b *bench, s kernels.ClassSoftmax) func(loss, grad, d, labels kernels.Ptr) []kernels.Launch {
	return func(loss, grad, d, labels kernels.Ptr) []kernels.Launch {
		return s.Launches(c.rows, c.columns, loss, grad, b.empty(kernels.F32, c.rows).Ptr(), d, labels, lossView)
	}
}

// arc is an angle of the own class.
func arc(scale float32, degrees float64) kernels.ClassSoftmax {
	m := degrees * math.Pi / 180
	return kernels.ClassSoftmax{Scale: scale, Cosine: float32(math.Cos(m)), Sine: float32(math.Sin(m)), Far: float32(m * math.Sin(m))}
}

func TestLossKernelsAgreeWithTheHostsLosses(t *testing.T) {
	for _, shape := range [][2]int{{1, 2}, {7, 5}, {40, 70}, {60, 300}} {
		// Similarities from 1 to -.4, and from 1 to -1.1: past the end of an angle.
		for _, reach := range []float32{.65, .8} {
			b := newBench(t)
			c := newLossCase(b, shape[0], shape[1], reach)
			c.compare(b, "proxy-anchor", &losses.ProxyAnchor{Alpha: 32, PosMargin: .1, NegMargin: -.1}, 5e-6, c.proxyAnchor(b, 32))
			for name, l := range map[string]struct {
				host   losses.Loss
				device kernels.ClassSoftmax
			}{
				"normalized softmax": {&losses.NormalizedSoftmax{Temperature: .05}, kernels.ClassSoftmax{Scale: 20, Cosine: 1}},
				"cosface":            {&losses.CosFace{Scale: 64, Margin: .35}, kernels.ClassSoftmax{Scale: 64, Cosine: 1, Margin: .35}},
				"arcface":            {&losses.ArcFace{Scale: 64, MarginDegrees: 28.6}, arc(64, 28.6)},
				"arcface, wide":      {&losses.ArcFace{Scale: 30, MarginDegrees: 120}, arc(30, 120)},
				"proxy-nca":          {&losses.ProxyNCA{Scale: 18}, kernels.ClassSoftmax{Scale: 18, Cosine: 1}},
				"proxy-nca, smooth":  {&losses.ProxyNCA{Scale: 18, Smoothing: .1}, kernels.ClassSoftmax{Scale: 18, Cosine: 1, Smoothing: .1}},
				"proxy-nca, others":  {&losses.ProxyNCA{Scale: 18, OthersOnly: true}, kernels.ClassSoftmax{Scale: 18, Cosine: 1, OthersOnly: true}},
			} {
				c.compare(b, name, l.host, 5e-6, c.softmax(b, l.device))
			}
		}
	}
}

// Exponents of 1000 would overflow if they were summed as they are.
func TestLossKernelsAtExtremeSimilarities(t *testing.T) {
	b := newBench(t)
	c := newLossCase(b, 9, 6, 2.4)
	c.compare(b, "proxy-anchor", &losses.ProxyAnchor{Alpha: 320, PosMargin: .1, NegMargin: -.1}, 1e-5, c.proxyAnchor(b, 320))
	c.compare(b, "softmax", &losses.NormalizedSoftmax{Temperature: .001}, 1e-5, c.softmax(b, kernels.ClassSoftmax{Scale: 1000, Cosine: 1}))
}

// A row of its class's own place: the angle is 0, where its sine has no slope.
func TestTheAngleOfARowAtItsClassRow(t *testing.T) {
	b := newBench(t)
	c := newLossCase(b, 5, 8, .8)
	for i, label := range c.s.RowLabels {
		c.d[i*8+label], c.s.V[i*8+label] = 0, 1
	}
	c.compare(b, "arcface", &losses.ArcFace{Scale: 64, MarginDegrees: 28.6}, 5e-6, c.softmax(b, arc(64, 28.6)))
}

// A label that no column has reads no memory that is not there.
func TestALabelWithoutAColumnMakesTheLossNaN(t *testing.T) {
	for _, label := range []float32{-1, 4, 1e9} {
		b := newBench(t)
		loss, grad := b.empty(kernels.F32, 1), b.empty(kernels.F32, 4)
		b.run(kernels.ClassSoftmax{Scale: 1, Cosine: 1}.Launches(1, 4, loss.Ptr(), grad.Ptr(), b.empty(kernels.F32, 1).Ptr(),
			b.up(kernels.F32, make([]float32, 4)).Ptr(), b.up(kernels.F32, []float32{label}).Ptr(), kernels.View{B: 1})...)
		if v := loss.down()[0]; v == v {
			t.Errorf("label %v of 4 classes: the loss is %v, want NaN", label, v)
		}
	}
}

// NaN or infinity among the values shows in the loss or in its gradient.
func TestLossKernelsLetNoBadNumberPass(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, at := range []int{0, 7, 33, 53} { // of rows' own classes and of others
			b := newBench(t)
			c := newLossCase(b, 9, 6, .65)
			c.d[at] = float32(bad)
			for name, launches := range map[string]func(loss, grad, d, labels kernels.Ptr) []kernels.Launch{
				"proxy-anchor": c.proxyAnchor(b, 32),
				"softmax":      c.softmax(b, kernels.ClassSoftmax{Scale: 20, Cosine: 1}),
				"arcface":      c.softmax(b, arc(20, 30)),
			} {
				loss, grad := b.empty(kernels.F32, 1), b.empty(kernels.F32, len(c.d))
				b.run(launches(loss.Ptr(), grad.Ptr(), b.up(kernels.F32, c.d).Ptr(), c.labels.Ptr())...)
				fine := true
				for _, v := range append(loss.down(), grad.down()...) {
					fine = fine && v-v == 0
				}
				if fine {
					t.Errorf("%s with %v at %d: loss and gradient are finite", name, bad, at)
				}
			}
		}
	}
}

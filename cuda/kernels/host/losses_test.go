//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"testing"
	"unsafe"

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
	columnLabels  array
}

var lossView = kernels.View{A: 1, C: -1 / .3}

func newLossCase(b *bench, rows, columns int) *lossCase {
	c := &lossCase{rows: rows, columns: columns, d: make([]float32, rows*columns)}
	c.s = losses.Matrix{Rows: rows, Cols: columns, V: make([]float64, rows*columns), Similarity: true}
	for i := range c.d {
		c.d[i] = .8 * b.rng.Float32()
		c.s.V[i] = 1 - float64(c.d[i])*float64(c.d[i])/.3
	}
	for range rows {
		c.s.RowLabels = append(c.s.RowLabels, b.rng.IntN(max(columns/2, 1)))
	}
	for j := range columns {
		c.s.ColLabels = append(c.s.ColLabels, j)
	}
	c.labels, c.columnLabels = b.int32s(c.s.RowLabels), b.int32s(c.s.ColLabels)
	return c
}

func (b *bench) int32s(x []int) array {
	y := make([]int32, len(x))
	for i, v := range x {
		y[i] = int32(v)
	}
	return b.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&y[0])), 4*len(y)))
}

// want is the loss by the host, its gradient carried on to d.
func (c *lossCase) want(b *bench, l losses.Loss) (value float32, grad []float32) {
	b.t.Helper()
	g := make([]float64, len(c.d))
	r, err := l.Eval(&c.s, g)
	b.must(err)
	grad = make([]float32, len(g))
	for i, v := range g {
		grad[i] = float32(v * -2 * float64(c.d[i]) / .3)
	}
	return float32(r.Value), grad
}

func TestLossKernelsAgreeWithTheHostsLosses(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {7, 5}, {40, 70}, {60, 300}} {
		b := newBench(t)
		rows, columns := shape[0], shape[1]
		c := newLossCase(b, rows, columns)
		d := b.up(kernels.F32, c.d)
		out, grad := b.empty(kernels.F32, 2), b.empty(kernels.F32, rows*columns)

		b.run(kernels.ProxyAnchor(rows, columns, out.Ptr(), grad.Ptr(), b.empty(kernels.F32, 6*columns).Ptr(), d.Ptr(),
			c.labels.Ptr(), c.columnLabels.Ptr(), 32, .1, -.1, lossView)...)
		value, want := c.want(b, &losses.ProxyAnchor{Alpha: 32, PosMargin: .1, NegMargin: -.1})
		b.same("proxy-anchor", kernels.F32, out.down()[:1], []float32{value}, 5e-6)
		b.same("proxy-anchor gradient", kernels.F32, grad.down(), want, 2e-5)

		b.run(kernels.SoftmaxLoss(rows, columns, out.Ptr(), grad.Ptr(), b.empty(kernels.F32, rows).Ptr(), d.Ptr(),
			c.labels.Ptr(), c.columnLabels.Ptr(), 20, lossView)...)
		value, want = c.want(b, &losses.NormalizedSoftmax{Temperature: .05})
		b.same("normalised softmax", kernels.F32, out.down()[:1], []float32{value}, 5e-6)
		if columns > 1 {
			b.same("normalised softmax gradient", kernels.F32, grad.down(), want, 2e-5)
		}
	}
}

// Exponents of 1000 would overflow if they were summed as they are.
func TestProxyAnchorKernelAtExtremeSimilarities(t *testing.T) {
	b := newBench(t)
	c := newLossCase(b, 9, 6)
	for i := range c.d {
		c.d[i] *= 3
		c.s.V[i] = 1 - float64(c.d[i])*float64(c.d[i])/.3
	}
	out, grad := b.empty(kernels.F32, 2), b.empty(kernels.F32, 54)
	b.run(kernels.ProxyAnchor(9, 6, out.Ptr(), grad.Ptr(), b.empty(kernels.F32, 36).Ptr(), b.up(kernels.F32, c.d).Ptr(),
		c.labels.Ptr(), c.columnLabels.Ptr(), 320, .1, -.1, lossView)...)
	value, want := c.want(b, &losses.ProxyAnchor{Alpha: 320, PosMargin: .1, NegMargin: -.1})
	b.same("proxy-anchor", kernels.F32, out.down()[:1], []float32{value}, 5e-6)
	b.same("gradient", kernels.F32, grad.down(), want, 5e-5)
}

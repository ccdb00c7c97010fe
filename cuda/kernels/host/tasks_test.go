//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/cuda/kernels/host"
)

// device copies a table to the device.
func (b *bench) device(host []byte) array {
	b.t.Helper()
	a := b.empty(kernels.F32, (len(host)+3)/4)
	copy(a.Bytes(), host)
	return a
}

// Tasks leave the bits that their kernels leave, in any number of blocks, and where one
// reads what another writes.
func TestTasksAreTheirKernels(t *testing.T) {
	const (
		rows, width = 37, 301 // more elements than a block does
		c, parts    = 37, 19
		eps         = 1e-3
	)
	b := newBench(t)
	positive := b.normal(c)
	for i, v := range positive {
		positive[i] = v * v
	}
	variance, gamma, beta, mean, bias := b.up(kernels.F32, positive), b.up(kernels.F32, b.normal(c)), b.up(kernels.F32, b.normal(c)), b.up(kernels.F32, b.normal(c)), b.up(kernels.F32, b.normal(c))
	weights, part := b.up(kernels.F32, b.normal(rows*width)), b.up(kernels.F32, b.normal(parts*c))
	grads := b.up(kernels.BF16, b.normal(rows*width))
	wide := b.empty(kernels.F32, rows*width)

	// The outputs, once by kernels and once by tasks.
	type outputs struct {
		scale, shift, scaled, narrow, dots, sums, dbias, dgamma, dbeta, dw, wide array
	}
	fresh := func() outputs {
		small := func() array { return b.empty(kernels.F32, c) }
		return outputs{small(), small(), b.empty(kernels.BF16, rows*width), b.empty(kernels.BF16, rows*width), small(), small(), small(), small(), small(),
			b.empty(kernels.F32, rows*width), b.empty(kernels.F32, rows*width)}
	}
	want, got := fresh(), fresh()
	b.run(kernels.FoldNorm(c, want.scale.Ptr(), want.shift.Ptr(), bias.Ptr(), gamma.Ptr(), beta.Ptr(), mean.Ptr(), variance.Ptr(), eps),
		kernels.ScaleRows(rows, width, wide.Ptr(), weights.Ptr(), want.scale.Ptr()),
		kernels.Narrow(kernels.BF16, rows*width, want.scaled.Ptr(), wide.Ptr()),
		kernels.Narrow(kernels.BF16, rows*width, want.narrow.Ptr(), weights.Ptr()),
		kernels.Widen(kernels.BF16, rows*width, want.wide.Ptr(), grads.Ptr()),
		kernels.RowDots(rows, width, want.dots.Ptr(), weights.Ptr(), want.wide.Ptr()),
		kernels.Combine(parts, c, want.sums.Ptr(), part.Ptr(), .5),
		kernels.ScaleRows(rows, width, want.dw.Ptr(), want.wide.Ptr(), want.scale.Ptr()),
		kernels.FoldNormGrad(c, want.dbias.Ptr(), want.dgamma.Ptr(), want.dbeta.Ptr(), want.dots.Ptr(), want.sums.Ptr(), bias.Ptr(), gamma.Ptr(), mean.Ptr(), variance.Ptr(), eps))
	table := kernels.NewTaskTable([]kernels.Task{
		kernels.FoldNormTask(c, got.scale.Ptr(), got.shift.Ptr(), bias.Ptr(), gamma.Ptr(), beta.Ptr(), mean.Ptr(), variance.Ptr(), eps),
		kernels.ScaleRowsTask(kernels.BF16, kernels.F32, rows, width, got.scaled.Ptr(), weights.Ptr(), got.scale.Ptr()),
		kernels.CopyTask(kernels.BF16, kernels.F32, rows*width, got.narrow.Ptr(), weights.Ptr()),
		kernels.CopyTask(kernels.F32, kernels.BF16, rows*width, got.wide.Ptr(), grads.Ptr()),
		kernels.RowDotsTask(kernels.F32, kernels.BF16, rows, width, got.dots.Ptr(), weights.Ptr(), grads.Ptr()),
		kernels.CombineTask(parts, c, got.sums.Ptr(), part.Ptr(), .5),
		kernels.ScaleRowsTask(kernels.F32, kernels.BF16, rows, width, got.dw.Ptr(), grads.Ptr(), got.scale.Ptr()),
		kernels.FoldNormGradTask(c, got.dbias.Ptr(), got.dgamma.Ptr(), got.dbeta.Ptr(), got.dots.Ptr(), got.sums.Ptr(), bias.Ptr(), gamma.Ptr(), mean.Ptr(), variance.Ptr(), eps),
	})
	launches := table.Launches(b.device(table.Host).Ptr())
	if len(launches) != 2 {
		t.Errorf("%d launches, want 2", len(launches))
	}
	b.run(launches...)
	for _, x := range []struct {
		name      string
		got, want array
	}{
		{"scale", got.scale, want.scale}, {"shift", got.shift, want.shift}, {"scaled weights", got.scaled, want.scaled}, {"narrow weights", got.narrow, want.narrow},
		{"wide gradient", got.wide, want.wide}, {"dots", got.dots, want.dots}, {"sums", got.sums, want.sums}, {"scaled gradient", got.dw, want.dw},
		{"gradient of the bias", got.dbias, want.dbias}, {"of gamma", got.dgamma, want.dgamma}, {"of beta", got.dbeta, want.dbeta},
	} {
		if !bytes.Equal(x.got.Bytes(), x.want.Bytes()) {
			t.Errorf("%s: other bits than by its kernel", x.name)
		}
	}
}

// What is read before it is overwritten, and what is written twice, comes in order.
func TestTasksWaitForEachOther(t *testing.T) {
	const n = 5000
	b := newBench(t)
	x, s := b.up(kernels.F32, b.normal(n)), b.up(kernels.F32, []float32{2})
	before, after := b.empty(kernels.F32, n), b.empty(kernels.F32, n)
	first := x.down()
	table := kernels.NewTaskTable([]kernels.Task{
		kernels.CopyTask(kernels.F32, kernels.F32, n, before.Ptr(), x.Ptr()),
		kernels.ScaleRowsTask(kernels.F32, kernels.F32, 1, n, x.Ptr(), x.Ptr(), s.Ptr()), // over what was copied
		kernels.ScaleRowsTask(kernels.F32, kernels.F32, 1, n, x.Ptr(), x.Ptr(), s.Ptr()),
		kernels.CopyTask(kernels.F32, kernels.F32, n, after.Ptr(), x.Ptr()),
	})
	launches := table.Launches(b.device(table.Host).Ptr())
	if len(launches) != 4 {
		t.Errorf("%d launches, want 4", len(launches))
	}
	for _, l := range launches {
		b.must(host.Run(l))
	}
	copied, scaled := before.down(), after.down()
	for i, v := range first {
		if copied[i] != v || scaled[i] != 4*v {
			t.Fatalf("element %d: %v and %v of %v", i, copied[i], scaled[i], v)
		}
	}
}

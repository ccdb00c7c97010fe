//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
)

// Attention on tensor cores, as the host's model of their fragments has them, against the
// reference engine, which starts from the same bfloat16 numbers.
func TestFlashAttention(t *testing.T) {
	for _, c := range [][3]int{{1, 1, 1}, {2, 5, 3}, {1, 64, 2}, {1, 65, 1}, {1, 197, 2}, {2, 130, 1}} {
		s := kernels.Heads{Batch: c[0], Tokens: c[1], Heads: c[2], Size: kernels.FlashHead, Scale: .125 * float32(c[2])}
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			b := newBench(t)
			d := s.Heads * s.Size
			n := s.Batch * s.Tokens * d
			qkv, dy := b.normal(3*n), b.normal(n)
			in, up := b.up(kernels.BF16, qkv), b.up(kernels.BF16, dy)
			y, dqkv := b.empty(kernels.BF16, n), b.empty(kernels.BF16, 3*n)
			logs, delta := b.empty(kernels.F32, s.Batch*s.Heads*s.Tokens), b.empty(kernels.F32, s.Batch*s.Heads*s.Tokens)
			b.run(kernels.Flash(s, y.Ptr(), logs.Ptr(), in.Ptr()))
			b.run(kernels.FlashGrad(s, dqkv.Ptr(), delta.Ptr(), up.Ptr(), y.Ptr(), logs.Ptr(), in.Ptr())...)

			spec := engine.AttentionSpec{Heads: s.Heads, Scale: s.Scale}
			tx, tdy := b.tensor(qkv, s.Batch, s.Tokens, 3*d), b.tensor(dy, s.Batch, s.Tokens, d)
			ty, tl, tdx := b.tensor(nil, s.Batch, s.Tokens, d), b.tensor(nil, s.Batch, s.Heads, s.Tokens), b.tensor(nil, s.Batch, s.Tokens, 3*d)
			b.must(b.ref.Attention(ty, tl, tx, spec))
			b.must(b.ref.AttentionGrad(tdx, tdy, ty, tl, tx, spec))
			b.same("logarithms", kernels.F32, logs.down(), b.read(tl), 1e-5)
			b.same("y", kernels.BF16, y.down(), b.read(ty), .004)
			b.same("dqkv", kernels.BF16, dqkv.down(), b.read(tdx), .006)
		})
	}
}

// A number that is none reaches every result of its row, and no other image.
func TestFlashAttentionKeepsNaN(t *testing.T) {
	s := kernels.Heads{Batch: 2, Tokens: 70, Heads: 1, Size: 64, Scale: .125}
	b := newBench(t)
	qkv := b.normal(s.Batch * s.Tokens * 3 * 64)
	qkv[3*64*7+5] = float32(math.NaN()) // of query 7
	in := b.up(kernels.BF16, qkv)
	y, logs := b.empty(kernels.BF16, s.Batch*s.Tokens*64), b.empty(kernels.F32, s.Batch*s.Tokens)
	b.run(kernels.Flash(s, y.Ptr(), logs.Ptr(), in.Ptr()))
	for i, v := range y.down() {
		if bad := v != v; bad != (i/64 == 7) {
			t.Fatalf("number %d of token %d is %v", i%64, i/64, v)
		}
	}
}

//go:build linux

package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// BenchmarkTransformer has the parts of a block of ViT-S/16 on 16 images of 224
// pixels; the work is multiplications, or else the number of values.
func BenchmarkTransformer(b *testing.B) {
	const n, t, heads, size, d, hidden = 16, 197, 6, 64, 384, 1536
	eachVariantB(b, func(b *testing.B, e *Engine) {
		rng := rand.New(rand.NewPCG(1, 1))
		run := func(name string, work int, do func() error) {
			b.Run(name, func(b *testing.B) { timed(b, work, do) })
		}
		x, y, dx := put(b, e, rng, n, t, d), put(b, e, rng, n, t, d), put(b, e, rng, n, t, d)
		mean, inv, logSum := put(b, e, rng, n, t), put(b, e, rng, n, t), put(b, e, rng, n, heads, t)
		gamma, beta, gain := put(b, e, rng, d), put(b, e, rng, d), put(b, e, rng, d)
		run("layer norm", n*t*d/2, func() error { return e.LayerNorm(y, mean, inv, x, gamma, beta, 1e-6) })
		run("layer norm gradient", n*t*d/2, func() error { return e.LayerNormGrad(dx, gamma, beta, y, x, gain, mean, inv) })

		wide, act, dact := put(b, e, rng, n, t, hidden), put(b, e, rng, n, t, hidden), put(b, e, rng, n, t, hidden)
		run("gelu", n*t*hidden/2, func() error { return e.GELU(act, wide, engine.GELUErf) })
		run("gelu gradient", n*t*hidden/2, func() error { return e.GELUGrad(dact, act, wide, engine.GELUErf) })

		qkv, dqkv := put(b, e, rng, n, t, 3*d), put(b, e, rng, n, t, 3*d)
		spec := engine.AttentionSpec{Heads: heads, Scale: 0.125}
		run("attention", 2*n*t*t*d, func() error { return e.Attention(y, logSum, qkv, spec) })
		run("attention gradient", 5*n*t*t*d, func() error { return e.AttentionGrad(dqkv, x, y, logSum, qkv, spec) })
		weights, dweights := put(b, e, rng, n*heads*t, t), put(b, e, rng, n*heads*t, t)
		run("softmax", n*heads*t*t/2, func() error { return e.Softmax(dweights, weights) })
		run("softmax gradient", n*heads*t*t/2, func() error { return e.SoftmaxGrad(dweights, weights, weights) })

		w, dw, bias := put(b, e, rng, hidden, d), put(b, e, rng, hidden, d), put(b, e, rng, hidden)
		run("linear", n*t*d*hidden, func() error { return e.Linear(wide, x, w, bias) })
		run("linear gradient", 2*n*t*d*hidden, func() error { return e.LinearGrad(dx, dw, bias, act, x, w) })
		maps, pos, cls := put(b, e, rng, n, d, 14, 14), put(b, e, rng, 1, t, d), put(b, e, rng, 1, 1, d)
		run("tokens", n*t*d/2, func() error { return e.Tokens(y, maps, cls, pos) })
		run("tokens gradient", n*t*d/2, func() error { return e.TokensGrad(maps, cls, pos, y) })
	})
}

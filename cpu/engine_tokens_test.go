package cpu

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// transformer runs the operations of a block of a vision transformer forward and
// back and returns the list of their results.
func transformer(t testing.TB, e *Engine) func() []engine.Tensor {
	rng := rand.New(rand.NewPCG(31, 32))
	const n, tokens, heads, size = 3, 145, 2, 24
	const d = heads * size
	shape := func(shape ...int) engine.Tensor { return put(t, e, rng, shape...) }
	spec := engine.AttentionSpec{Heads: heads, Scale: 0.2}
	maps, cls, pos := shape(n, d, 12, 12), shape(1, 1, d), shape(1, tokens, d)
	x, y, dx, dy := shape(n, tokens, d), shape(n, tokens, d), shape(n, tokens, d), shape(n, tokens, d)
	gamma, beta, dgamma, dbeta := shape(d), shape(d), shape(d), shape(d)
	mean, inv, logSum := shape(n, tokens), shape(n, tokens), shape(n, heads, tokens)
	w, dw, bias, dbias := shape(3*d, d), shape(3*d, d), shape(3*d), shape(3*d)
	qkv, dqkv, act, dact := shape(n, tokens, 3*d), shape(n, tokens, 3*d), shape(n, tokens, 3*d), shape(n, tokens, 3*d)
	soft, dsoft, logs, dlogs := shape(n, tokens, d), shape(n, tokens, d), shape(n, tokens, d), shape(n, tokens, d)
	mixed, dmixed, row, whole := shape(n, tokens, d), shape(n, tokens, d), shape(n, d), shape(n, tokens, d)
	dmaps, dcls, dpos := shape(n, d, 12, 12), shape(1, 1, d), shape(1, tokens, d)
	return func() []engine.Tensor {
		for _, err := range []error{
			e.Tokens(x, maps, cls, pos),
			e.LayerNorm(y, mean, inv, x, gamma, beta, 1e-6),
			e.Linear(qkv, y, w, bias),
			e.Attention(mixed, logSum, qkv, spec),
			e.GELU(act, qkv, engine.GELUErf),
			e.Softmax(soft, x),
			e.LogSoftmax(logs, x),
			e.Token(row, mixed, 1),
			e.TokenGrad(whole, row, 1),
			e.LogSoftmaxGrad(dlogs, dy, logs),
			e.SoftmaxGrad(dsoft, dy, soft),
			e.GELUGrad(dact, act, qkv, engine.GELUErf),
			e.AttentionGrad(dqkv, dy, mixed, logSum, qkv, spec),
			e.LinearGrad(dmixed, dw, dbias, dqkv, y, w),
			e.LayerNormGrad(dx, dgamma, dbeta, dmixed, x, gamma, mean, inv),
			e.TokensGrad(dmaps, dcls, dpos, dx),
		} {
			must(t, err)
		}
		return []engine.Tensor{
			x, y, mean, inv, qkv, mixed, logSum, act, soft, logs, row, whole, dlogs, dsoft, dact, dqkv,
			dmixed, dw, dbias, dx, dgamma, dbeta, dmaps, dcls, dpos,
		}
	}
}

func TestTransformerDoesNotDependOnThreads(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		one := openEngine(t, variant, 1)
		want := transformer(t, one)()
		for threads := 2; threads <= 4; threads++ {
			e := openEngine(t, variant, threads)
			for i, got := range transformer(t, e)() {
				if !slices.Equal(read(t, e, got), read(t, one, want[i])) {
					t.Errorf("%d threads: result %d differs from that of one", threads, i)
				}
			}
		}
	})
}

func TestTransformerAllocatesLittle(t *testing.T) {
	// With more threads, it is chance when a worker first meets each kind of item
	// and its buffers grow.
	run := transformer(t, openEngine(t, "", 1))
	run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const runs = 10
	for range runs {
		run()
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / runs; n > 16<<10 {
		t.Errorf("%d bytes allocated a step", n)
	}
}

func TestWrongTokensAreNamed(t *testing.T) {
	e := openEngine(t, "", 2)
	shape := func(shape ...int) engine.Tensor { return load(t, e, make([]float32, volume(shape)), shape...) }
	x := shape(2, 5, 6)
	for _, c := range []struct {
		err  error
		want []string
	}{
		{e.Attention(shape(2, 5, 6), shape(2, 4, 5), shape(2, 5, 18), engine.AttentionSpec{Heads: 4, Scale: 1}), []string{"attention", "qkv (2, 5, 18)", "3*4 heads"}},
		{e.Attention(shape(2, 5, 6), shape(2, 5, 3), shape(2, 5, 18), engine.AttentionSpec{Heads: 3, Scale: 1}), []string{"attention", "logSum (2, 5, 3)", "want (2, 3, 5)"}},
		{e.LayerNorm(shape(2, 5, 6), shape(5), shape(2, 5), x, shape(6), shape(6), 0), []string{"layer norm", "mean (5)", "want (2, 5)"}},
		{e.LayerNorm(x, shape(2, 5), shape(2, 5), x, shape(6), shape(6), 0), []string{"layer norm", "share memory"}},
		{e.Linear(shape(2, 6, 3), x, shape(3, 6), nil), []string{"linear", "y (2, 6, 3)", "want (2, 5, 3)"}},
		{e.Tokens(x, shape(2, 6, 1, 5), shape(1, 1, 6), nil), []string{"tokens", "y (2, 5, 6)", "want (2, 6, 6)"}},
		{e.TokensGrad(shape(2, 6, 2, 3), nil, nil, x), []string{"tokens gradient", "dx (2, 6, 2, 3)", "dy (2, 5, 6)"}},
		{e.Token(shape(2, 6), x, 5), []string{"token", "no token 5", "x (2, 5, 6)"}},
		{e.GELU(x, x, 9), []string{"gelu", "form 9"}},
		{e.Softmax(x, shape(2, 5)), []string{"softmax", "y (2, 5, 6)", "x (2, 5)"}},
	} {
		if c.err == nil {
			t.Errorf("no error, want one with %q", c.want)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(c.err.Error(), w) {
				t.Errorf("error %q lacks %q", c.err, w)
			}
		}
	}
}

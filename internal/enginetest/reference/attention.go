package reference

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// heads is packed attention: batch images of tokens tokens, in heads of size
// numbers each.
type heads struct {
	batch, tokens, heads, size int
	scale                      float64
	qkv                        array
}

func (c *call) heads(qkv engine.Tensor, spec engine.AttentionSpec) heads {
	a := c.of("qkv", qkv, -1, -1, -1)
	c.check(spec.Heads > 0, "%d heads, want 1 or more", spec.Heads)
	c.check(spec.Scale > 0, "the scale is %v, want more than 0", spec.Scale)
	if c.err != nil {
		return heads{}
	}
	c.check(a.shape[2]%(3*spec.Heads) == 0, "%v, want a last axis of 3*%d heads", a, spec.Heads)
	return heads{a.shape[0], a.shape[1], spec.Heads, a.shape[2] / (3 * spec.Heads), float64(spec.Scale), a}
}

// at is the place in qkv of what (0 query, 1 key, 2 value) of token t and head
// h; in an array of single width it is that of at(..., 0, ...).
func (a heads) at(width, n, what, h, t int) int {
	d := a.heads * a.size
	return (n*a.tokens+t)*width*d + what*d + h*a.size
}

func (a heads) part(n, what, h, t int) []float64 {
	i := a.at(3, n, what, h, t)
	return wide(a.qkv.v[i : i+a.size])
}

// scores are the scaled products of query t with all keys.
func (a heads) scores(n, h, t int) []float64 {
	q, s := a.part(n, 0, h, t), make([]float64, a.tokens)
	for j := range s {
		for i, k := range a.part(n, 1, h, j) {
			s[j] += q[i] * k
		}
		s[j] *= a.scale
	}
	return s
}

// each calls f for every query of every head.
func (a heads) each(f func(n, h, t int)) {
	for n := range a.batch {
		for h := range a.heads {
			for t := range a.tokens {
				f(n, h, t)
			}
		}
	}
}

// Attention is multi-head attention over packed tokens.
func (Engine) Attention(y, total, qkv engine.Tensor, spec engine.AttentionSpec) error {
	c := call{op: "attention"}
	a := c.heads(qkv, spec)
	out, sums := c.of("y", y, a.batch, a.tokens, a.heads*a.size), c.of("logSum", total, a.batch, a.heads, a.tokens)
	if c.err != nil {
		return c.err
	}
	a.each(func(n, h, t int) {
		s := a.scores(n, h, t)
		ls := logSum(s)
		mean := make([]float64, a.size)
		for j, v := range s {
			p := math.Exp(v - ls)
			for i, x := range a.part(n, 2, h, j) {
				mean[i] += p * x
			}
		}
		sums.v[(n*a.heads+h)*a.tokens+t] = float32(ls)
		at := a.at(1, n, 0, h, t)
		round(array{v: out.v[at : at+a.size]}, mean)
	})
	return nil
}

// AttentionGrad is the gradient of Attention. With weights p, dp_j = dy.v_j:
// dv_j += p_j dy, and ds_j = p_j (dp_j - sum p dp) for the scores.
func (Engine) AttentionGrad(dqkv, dy, y, total, qkv engine.Tensor, spec engine.AttentionSpec) error {
	c := call{op: "attention gradient"}
	a := c.heads(qkv, spec)
	d := a.heads * a.size
	up := c.of("dy", dy, a.batch, a.tokens, d)
	c.of("y", y, a.batch, a.tokens, d)
	c.of("logSum", total, a.batch, a.heads, a.tokens)
	to := c.of("dqkv", dqkv, a.batch, a.tokens, 3*d)
	if c.err != nil {
		return c.err
	}
	sum := make([]float64, len(to.v))
	add := func(n, what, h, t int, by float64, x []float64) {
		at := a.at(3, n, what, h, t)
		for i, v := range x {
			sum[at+i] += by * v
		}
	}
	a.each(func(n, h, t int) {
		s := a.scores(n, h, t)
		ls := logSum(s)
		at := a.at(1, n, 0, h, t)
		g := wide(up.v[at : at+a.size])
		dp, mean := make([]float64, a.tokens), 0.0
		for j, v := range s {
			s[j] = math.Exp(v - ls)
			for i, x := range a.part(n, 2, h, j) {
				dp[j] += g[i] * x
			}
			mean += s[j] * dp[j]
		}
		for j, p := range s {
			ds := p * (dp[j] - mean) * a.scale
			add(n, 2, h, j, p, g)
			add(n, 0, h, t, ds, a.part(n, 1, h, j))
			add(n, 1, h, j, ds, a.part(n, 0, h, t))
		}
	})
	round(to, sum)
	return nil
}

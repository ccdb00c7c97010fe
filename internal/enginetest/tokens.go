package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// attentionShape is that of b images of tokens, in heads of size numbers.
type attentionShape struct{ b, tokens, heads, size int }

func (a attentionShape) String() string {
	return fmt.Sprintf("%d images of %d tokens, %d heads of %d", a.b, a.tokens, a.heads, a.size)
}

func (a attentionShape) y() []int      { return []int{a.b, a.tokens, a.heads * a.size} }
func (a attentionShape) qkv() []int    { return []int{a.b, a.tokens, 3 * a.heads * a.size} }
func (a attentionShape) logSum() []int { return []int{a.b, a.heads, a.tokens} }

func (a attentionShape) spec() engine.AttentionSpec {
	return engine.AttentionSpec{Heads: a.heads, Scale: float32(1 / math.Sqrt(float64(a.size)))}
}

func (s *suite) attention(t *testing.T) {
	rng := s.rng(t)
	shapes := []attentionShape{
		{1, 1, 1, 1}, {2, 1, 3, 4}, {1, 70, 1, 1}, {1, 17, 2, 64}, {1, 197, 2, 64}, {2, 33, 3, 5}, {1, 130, 1, 33}, {1, 300, 1, 16}, {3, 50, 2, 32},
	}
	for range 8 {
		shapes = append(shapes, attentionShape{between(rng, 1, 3), between(rng, 1, 60), between(rng, 1, 4), between(rng, 1, 40)})
	}
	for i, a := range shapes {
		spec := a.spec()
		if i%4 == 3 {
			spec.Scale = 1.5
		}
		s.compareAttention(t, a.String(), a, spec, normal(rng, a.qkv()...), normal(rng, a.y()...))
	}
}

// attentionScales has scores from 0, where all keys count alike, to thousands,
// where one key takes all and exponentials overflow.
func (s *suite) attentionScales(t *testing.T) {
	rng := s.rng(t)
	for _, scale := range []float64{0, 1e-3, 5, 30} {
		for _, a := range []attentionShape{{1, 9, 2, 8}, {2, 40, 1, 64}} {
			qkv := normal(rng, a.qkv()...)
			d := a.heads * a.size
			for i := range qkv.v {
				if i%(3*d) < 2*d {
					qkv.v[i] *= float32(scale)
				}
			}
			s.compareAttention(t, fmt.Sprintf("%v, queries and keys about %v", a, scale), a, a.spec(), qkv, normal(rng, a.y()...))
		}
	}
}

func (s *suite) compareAttention(t *testing.T, what string, a attentionShape, spec engine.AttentionSpec, qkv, dy array) {
	t.Helper()
	forward := call{what: what, out: []array{empty(a.y()...), empty(a.logSum()...)}, in: []array{qkv}, rel: s.attentionError(qkv, a, spec), unit: 1,
		f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Attention(out[0], out[1], in[0], spec) }}
	s.compare(t, forward)
	out, err := forward.on(s.ref)
	if err != nil {
		t.Error(err)
		return
	}
	s.compare(t, call{what: what + ", gradient", out: []array{empty(a.qkv()...)}, rel: s.attentionError(qkv, a, spec), unit: 1,
		in: []array{dy, {a.y(), out[0]}, {a.logSum(), out[1]}, qkv},
		f: func(e engine.Engine, out, in []engine.Tensor) error {
			return e.AttentionGrad(out[0], in[0], in[1], in[2], in[3], spec)
		}})
}

// attentionError is the relative error of a weight: what float32 leaves of the
// largest score is the error of the logarithm.
func (s *suite) attentionError(qkv array, a attentionShape, spec engine.AttentionSpec) float64 {
	d := a.heads * a.size
	most := 0.0
	for i, v := range qkv.v {
		if i%(3*d) < 2*d {
			most = max(most, math.Abs(float64(v)))
		}
	}
	score := most * most * math.Sqrt(float64(a.size)) * float64(spec.Scale)
	return s.opt.Sum * max(1, score/50)
}

// sequenceShape is that of maps (b, d, h, w) turned into tokens.
type sequenceShape struct{ b, d, h, w, prefix int }

func (q sequenceShape) x() []int   { return []int{q.b, q.d, q.h, q.w} }
func (q sequenceShape) y() []int   { return []int{q.b, q.prefix + q.h*q.w, q.d} }
func (q sequenceShape) pos() []int { return []int{1, q.prefix + q.h*q.w, q.d} }

// first is the prefix, absent where it has no rows.
func (q sequenceShape) first(rng *rand.Rand) array {
	if q.prefix == 0 {
		return array{}
	}
	return normal(rng, 1, q.prefix, q.d)
}

func (s *suite) tokens(t *testing.T) {
	rng := s.rng(t)
	shapes := []sequenceShape{{1, 1, 1, 1, 0}, {1, 1, 1, 1, 1}, {2, 384, 3, 3, 1}, {3, 16, 14, 14, 1}, {2, 33, 5, 7, 2}, {40, 3, 2, 2, 1}}
	for range 8 {
		shapes = append(shapes, sequenceShape{between(rng, 1, 4), between(rng, 1, 70), between(rng, 1, 9), between(rng, 1, 9), between(rng, 0, 2)})
	}
	for i, q := range shapes {
		what := fmt.Sprintf("maps %v, %d rows of prefix", q.x(), q.prefix)
		x, first, pos, y := normal(rng, q.x()...), q.first(rng), normal(rng, q.pos()...), normal(rng, q.y()...)
		if i%3 == 2 {
			pos = array{}
		}
		s.compare(t, call{what: what, out: []array{empty(q.y()...)}, in: []array{x, first, pos}, rel: s.opt.Elementwise,
			f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Tokens(out[0], in[0], in[1], in[2]) }})
		destinations := []array{empty(q.x()...), empty(q.pos()...)}
		if q.prefix > 0 {
			destinations = append(destinations, empty(first.shape...))
		}
		s.gradients(t, call{what: what + " gradient", in: []array{y}, rel: s.opt.Sum,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				if q.prefix == 0 {
					return e.TokensGrad(out[0], nil, out[1], in[0])
				}
				return e.TokensGrad(out[0], out[2], out[1], in[0])
			}}, destinations...)
		last := q.prefix + q.h*q.w - 1
		for _, at := range []int{0, last / 2, last} {
			s.compare(t, call{what: fmt.Sprintf("token %d of %v", at, q.y()), out: []array{empty(q.b, q.d)}, in: []array{y},
				f: func(e engine.Engine, out, in []engine.Tensor) error { return e.Token(out[0], in[0], at) }})
			s.compare(t, call{what: fmt.Sprintf("token %d of %v, gradient", at, q.y()), out: []array{empty(q.y()...)}, in: []array{normal(rng, q.b, q.d)},
				f: func(e engine.Engine, out, in []engine.Tensor) error { return e.TokenGrad(out[0], in[0], at) }})
		}
	}
}

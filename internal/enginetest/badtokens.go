package enginetest

import (
	"fmt"
	"testing"

	"github.com/vernier-ml/vernier/engine"
)

// badTokens spoils single numbers; other rows and other images stay clean.
func (s *suite) badTokens(t *testing.T, bad float32) {
	rng := s.rng(t)
	for _, d := range []int{1, 5, 40} {
		shape := []int{3, d}
		x := plant(normal(rng, shape...), bad, d+d/2)
		unary := func(what string, f func(e engine.Engine, out, in []engine.Tensor) error) {
			t.Helper()
			s.compare(t, call{what: fmt.Sprintf("%s of %v", what, shape), out: []array{empty(shape...)}, in: []array{x}, f: f, rel: s.opt.Sum, unit: 1})
		}
		for _, form := range []engine.GELUForm{engine.GELUErf, engine.GELUTanh, engine.GELUQuick} {
			unary("gelu", func(e engine.Engine, out, in []engine.Tensor) error { return e.GELU(out[0], in[0], form) })
			unary("gelu gradient", func(e engine.Engine, out, in []engine.Tensor) error { return e.GELUGrad(out[0], in[0], in[0], form) })
		}
		unary("softmax", func(e engine.Engine, out, in []engine.Tensor) error { return e.Softmax(out[0], in[0]) })
		unary("log softmax", func(e engine.Engine, out, in []engine.Tensor) error { return e.LogSoftmax(out[0], in[0]) })
		s.compare(t, call{what: fmt.Sprintf("layer norm %v", shape), in: []array{x, normal(rng, d), normal(rng, d)}, rel: s.opt.Sum, unit: 3, lenient: bad == bad,
			out: []array{empty(shape...), empty(3), empty(3)},
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.LayerNorm(out[0], out[1], out[2], in[0], in[1], in[2], 1e-3)
			}})
	}
	a := attentionShape{2, 20, 2, 8}
	for what := range 3 { // a query, a key, a value
		qkv := plant(normal(rng, a.qkv()...), bad, 7*48+what*16+3)
		s.compare(t, call{what: fmt.Sprintf("attention, part %d", what), out: []array{empty(a.y()...), empty(a.logSum()...)}, in: []array{qkv}, rel: s.opt.Sum, unit: 1, lenient: bad == bad,
			f: func(e engine.Engine, out, in []engine.Tensor) error {
				return e.Attention(out[0], out[1], in[0], a.spec())
			}})
	}
}

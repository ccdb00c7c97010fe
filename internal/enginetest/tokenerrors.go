package enginetest

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
)

func rowOperations() []operation {
	same := func(name string) operand { return arg(name, 2, 3) }
	list := []operation{
		{"gelu", []operand{same("y"), same("x")}, func(e engine.Engine, t []engine.Tensor) error { return e.GELU(t[0], t[1], engine.GELUErf) }},
		{"gelu", []operand{same("dx"), same("dy"), same("x")}, func(e engine.Engine, t []engine.Tensor) error {
			return e.GELUGrad(t[0], t[1], t[2], engine.GELUErf)
		}},
		{"softmax", []operand{same("y"), same("x")}, func(e engine.Engine, t []engine.Tensor) error { return e.Softmax(t[0], t[1]) }},
		{"softmax", []operand{same("dx"), same("dy"), same("y")}, func(e engine.Engine, t []engine.Tensor) error { return e.SoftmaxGrad(t[0], t[1], t[2]) }},
		{"log softmax", []operand{same("y"), same("x")}, func(e engine.Engine, t []engine.Tensor) error { return e.LogSoftmax(t[0], t[1]) }},
		{"log softmax", []operand{same("dx"), same("dy"), same("y")}, func(e engine.Engine, t []engine.Tensor) error { return e.LogSoftmaxGrad(t[0], t[1], t[2]) }},
	}
	for _, s := range [][]int{{4, 3}, {2, 4, 3}} {
		rows := s[:len(s)-1]
		list = append(list,
			operation{"layer norm", []operand{arg("y", s...), arg("mean", rows...), arg("invStd", rows...), arg("x", s...), arg("gamma", 3), arg("beta", 3)},
				func(e engine.Engine, t []engine.Tensor) error {
					return e.LayerNorm(t[0], t[1], t[2], t[3], t[4], t[5], 1e-5)
				}},
			operation{"layer norm", []operand{opt("dx", s...), opt("dgamma", 3), opt("dbeta", 3), arg("dy", s...), arg("x", s...), arg("gamma", 3), arg("mean", rows...), arg("invStd", rows...)},
				func(e engine.Engine, t []engine.Tensor) error {
					return e.LayerNormGrad(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7])
				}},
		)
	}
	return list
}

func tokenOperations() []operation {
	a := attentionShape{2, 4, 3, 2}
	return []operation{
		{"attention", []operand{arg("y", a.y()...), arg("logSum", a.logSum()...), arg("qkv", a.qkv()...)},
			func(e engine.Engine, t []engine.Tensor) error { return e.Attention(t[0], t[1], t[2], a.spec()) }},
		{"attention", []operand{arg("dqkv", a.qkv()...), arg("dy", a.y()...), arg("y", a.y()...), arg("logSum", a.logSum()...), arg("qkv", a.qkv()...)},
			func(e engine.Engine, t []engine.Tensor) error {
				return e.AttentionGrad(t[0], t[1], t[2], t[3], t[4], a.spec())
			}},
		{"tokens", []operand{arg("y", 2, 13, 5), arg("x", 2, 5, 3, 4), opt("prefix", 1, 1, 5), opt("pos", 1, 13, 5)},
			func(e engine.Engine, t []engine.Tensor) error { return e.Tokens(t[0], t[1], t[2], t[3]) }},
		{"tokens", []operand{opt("dx", 2, 5, 3, 4), opt("dprefix", 1, 1, 5), opt("dpos", 1, 13, 5), arg("dy", 2, 13, 5)},
			func(e engine.Engine, t []engine.Tensor) error { return e.TokensGrad(t[0], t[1], t[2], t[3]) }},
		{"token", []operand{arg("y", 2, 5), {name: "x", shape: []int{2, 4, 5}, free: 1 << 1}},
			func(e engine.Engine, t []engine.Tensor) error { return e.Token(t[0], t[1], 1) }},
		{"token", []operand{{name: "dx", shape: []int{2, 4, 5}, free: 1 << 1}, arg("dy", 2, 5)},
			func(e engine.Engine, t []engine.Tensor) error { return e.TokenGrad(t[0], t[1], 1) }},
	}
}

func (s *suite) wrongTokens(check func(name, what string, f func() error), shape func(...int) engine.Tensor) {
	for _, form := range []engine.GELUForm{engine.GELUQuick + 1, 255} {
		check("gelu", fmt.Sprintf("the form is %d", form), func() error { return s.eng.GELU(shape(2, 3), shape(2, 3), form) })
		check("gelu", fmt.Sprintf("the form is %d", form), func() error { return s.eng.GELUGrad(shape(2, 3), shape(2, 3), shape(2, 3), form) })
	}
	for _, spec := range []engine.AttentionSpec{
		{Heads: 0, Scale: 1}, {Heads: -1, Scale: 1}, {Heads: 4, Scale: 1}, {Heads: 3}, {Heads: 3, Scale: -1}, {Heads: 3, Scale: float32(math.NaN())},
	} {
		heads := max(1, spec.Heads)
		what := fmt.Sprintf("the settings are %+v", spec)
		check("attention", what, func() error {
			return s.eng.Attention(shape(2, 4, 6), shape(2, heads, 4), shape(2, 4, 18), spec)
		})
		check("attention", what, func() error {
			return s.eng.AttentionGrad(shape(2, 4, 18), shape(2, 4, 6), shape(2, 4, 6), shape(2, heads, 4), shape(2, 4, 18), spec)
		})
	}
	for _, i := range []int{-1, 4, 1 << 40} {
		check("token", fmt.Sprintf("it is the %dth of 4", i), func() error { return s.eng.Token(shape(2, 5), shape(2, 4, 5), i) })
		check("token", fmt.Sprintf("it is the %dth of 4", i), func() error { return s.eng.TokenGrad(shape(2, 4, 5), shape(2, 5), i) })
	}
	check("tokens", "there are more positions than tokens", func() error {
		return s.eng.TokensGrad(shape(2, 5, 4, 4), nil, nil, shape(2, 13, 5))
	})
	check("tokens", "the prefix alone is longer than all", func() error {
		return s.eng.TokensGrad(nil, shape(1, 14, 5), nil, shape(2, 13, 5))
	})
	check("layer norm", "there is one axis", func() error {
		return s.eng.LayerNorm(shape(3), shape(1), shape(1), shape(3), shape(3), shape(3), 1e-5)
	})
	check("linear", "there is one axis", func() error { return s.eng.Linear(shape(4), shape(3), shape(4, 3), nil) })
}

package enginetest

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
)

func (g *goldenCase) layerNorm() error {
	y, dx, dgamma, dbeta := g.out("y"), g.out("grad_x"), g.out("grad_gamma"), g.out("grad_beta")
	shape := g.c.Inputs["x"].Shape
	mean, invStd := g.like(shape[:len(shape)-1]), g.like(shape[:len(shape)-1])
	eps := float32(g.c.Params.Float("eps", math.NaN()))
	g.do(g.eng.LayerNorm(y, mean, invStd, g.in("x"), g.in("gamma"), g.in("beta"), eps))
	g.do(g.eng.LayerNormGrad(dx, dgamma, dbeta, g.in("r"), g.in("x"), g.in("gamma"), mean, invStd))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx, "grad_gamma": dgamma, "grad_beta": dbeta})
}

func (g *goldenCase) gelu() error {
	form, ok := map[string]engine.GELUForm{"none": engine.GELUErf, "tanh": engine.GELUTanh}[g.c.Params.String("approximate", "none")]
	if !ok {
		g.t.Fatalf("unknown form of GELU in %v", g.c.Params)
	}
	y, dx := g.out("y"), g.out("grad_x")
	g.do(g.eng.GELU(y, g.in("x"), form))
	g.do(g.eng.GELUGrad(dx, g.in("r"), g.in("x"), form))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

// lastAxis stops at a case of another axis than an Engine's.
func (g *goldenCase) lastAxis() {
	g.t.Helper()
	if axis := g.c.Params.Int("axis", -1); axis != -1 && axis != len(g.c.Inputs["x"].Shape)-1 {
		g.t.Fatalf("axis %d of %v is not the last one", axis, g.c.Inputs["x"].Shape)
	}
}

func (g *goldenCase) softmax() error {
	g.lastAxis()
	y, dx := g.out("y"), g.out("grad_x")
	g.do(g.eng.Softmax(y, g.in("x")))
	g.do(g.eng.SoftmaxGrad(dx, g.in("r"), y))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

func (g *goldenCase) logSoftmax() error {
	g.lastAxis()
	y, dx := g.out("y"), g.out("grad_x")
	g.do(g.eng.LogSoftmax(y, g.in("x")))
	g.do(g.eng.LogSoftmaxGrad(dx, g.in("r"), y))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

// attention is that between its two linear layers.
func (g *goldenCase) attention() error {
	s := g.c.Inputs["x"].Shape
	b, tokens, d, heads := s[0], s[1], s[2], g.c.Params.Int("heads", 0)
	spec := engine.AttentionSpec{Heads: heads, Scale: float32(1 / math.Sqrt(float64(d/heads)))}
	qkv, mixed, logSum := g.like([]int{b, tokens, 3 * d}), g.like(s), g.like([]int{b, heads, tokens})
	dqkv, dmixed := g.like([]int{b, tokens, 3 * d}), g.like(s)
	results := map[string]engine.Tensor{}
	for name := range g.c.Outputs {
		results[name] = g.out(name)
	}
	x, r, w, wp := g.in("x"), g.in("r"), g.in("qkv.weight"), g.in("proj.weight")
	g.do(g.eng.Linear(qkv, x, w, g.in("qkv.bias")))
	g.do(g.eng.Attention(mixed, logSum, qkv, spec))
	g.do(g.eng.Linear(results["y"], mixed, wp, g.in("proj.bias")))
	g.do(g.eng.LinearGrad(dmixed, results["grad_proj.weight"], results["grad_proj.bias"], r, mixed, wp))
	g.do(g.eng.AttentionGrad(dqkv, dmixed, mixed, logSum, qkv, spec))
	g.do(g.eng.LinearGrad(results["grad_x"], results["grad_qkv.weight"], results["grad_qkv.bias"], dqkv, x, w))
	return g.want(results)
}

package enginetest

import (
	"embed"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
)

//go:embed testdata/golden
var embedded embed.FS

func goldenFiles(t *testing.T) fs.FS {
	t.Helper()
	sub, err := fs.Sub(embedded, "testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

// composed are the cases of the family that no single Engine method answers: they
// run as graphs.
var composed = []string{"cross_entropy", "vit_block", "two_branches_concat"}

func (s *suite) goldenLayers(t *testing.T) {
	golden.WalkFS(t, goldenFiles(t), "layers", func(t *testing.T, c *golden.Case) {
		g := &goldenCase{t: t, eng: s.eng, c: c, rel: max(golden.Rel32, s.opt.Sum), tensors: map[string]engine.Tensor{}}
		for _, o := range operationCases {
			if strings.HasPrefix(c.Name, o.prefix) {
				g.do(guard(func() error { return o.test(g) }))
				return
			}
		}
		for _, prefix := range composed {
			if strings.HasPrefix(c.Name, prefix) {
				GoldenGraph(t, s.eng, c, g.rel)
				return
			}
		}
		t.Fatalf("%s: unknown kind of case %q", c.Path, c.Name)
	})
}

// operationCases maps the beginnings of case names to tests.
var operationCases = []struct {
	prefix string
	test   func(g *goldenCase) error
}{
	{"conv_", (*goldenCase).conv},
	{"maxpool_", (*goldenCase).maxPool},
	{"avgpool_", (*goldenCase).avgPool},
	{"global_avg_plus_max", (*goldenCase).globalBoth},
	{"global_avg", (*goldenCase).globalAvg},
	{"global_max", (*goldenCase).globalMax},
	{"batchnorm_", (*goldenCase).batchNorm},
	{"linear", (*goldenCase).linear},
	{"relu", (*goldenCase).relu},
	{"l2_normalize", (*goldenCase).rowNorm},
	{"layernorm", (*goldenCase).layerNorm},
	{"gelu", (*goldenCase).gelu},
	{"softmax", (*goldenCase).softmax},
	{"log_softmax", (*goldenCase).logSoftmax},
	{"attention", (*goldenCase).attention},
}

// goldenCase runs one file on an engine.
type goldenCase struct {
	t       *testing.T
	eng     engine.Engine
	c       *golden.Case
	rel     float64
	tensors map[string]engine.Tensor
}

// do stops the test at an error.
func (g *goldenCase) do(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// in returns an input's tensor, nil if the file has no such input.
func (g *goldenCase) in(name string) engine.Tensor {
	g.t.Helper()
	if x, ok := g.tensors[name]; ok {
		return x
	}
	a, ok := g.c.Inputs[name]
	if !ok {
		return nil
	}
	x, err := newTensor(g.eng, array{a.Shape, a.Float32()})
	g.do(err)
	g.tensors[name] = x
	return x
}

// out returns a destination of an output's shape, full of NaN, nil if the file
// has no such output.
func (g *goldenCase) out(name string) engine.Tensor {
	g.t.Helper()
	if a, ok := g.c.Outputs[name]; ok {
		return g.like(a.Shape)
	}
	return nil
}

func (g *goldenCase) like(shape []int) engine.Tensor {
	g.t.Helper()
	list, err := tensors(g.eng, []array{empty(shape...)}, float32(math.NaN()))
	g.do(err)
	return list[0]
}

// want compares results with the file's outputs; nil results are not wanted.
func (g *goldenCase) want(results map[string]engine.Tensor) error {
	g.t.Helper()
	for name, x := range results {
		if x == nil {
			continue
		}
		v, err := numbers(g.eng, x)
		if err != nil {
			return err
		}
		golden.Within32(g.t, name, v, g.c.Outputs[name].Data, g.rel, golden.Abs32)
	}
	for name := range g.c.Outputs {
		if results[name] == nil {
			g.t.Errorf("output %s is not tested", name)
		}
	}
	return nil
}

// pair reads a parameter that is one number or one for height and width each.
func (g *goldenCase) pair(name string, otherwise int) (h, w int) {
	v := g.c.Params.Ints(name, otherwise)
	return v[0], v[len(v)-1]
}

func (g *goldenCase) conv() error {
	if d, n := g.c.Params.Int("dilation", 1), g.c.Params.Int("groups", 1); d != 1 || n != 1 {
		g.t.Fatalf("dilation %d, groups %d: an Engine has neither", d, n)
	}
	w := g.c.Inputs["weight"].Shape
	spec := engine.ConvSpec{KernelH: w[2], KernelW: w[3]}
	spec.StrideH, spec.StrideW = g.pair("stride", 1)
	spec.PadH, spec.PadW = g.pair("padding", 0)
	y, dx, dw, dbias := g.out("y"), g.out("grad_x"), g.out("grad_weight"), g.out("grad_bias")
	g.do(g.eng.Conv(y, g.in("x"), g.in("weight"), spec, engine.Epilogue{Shift: g.in("bias")}))
	g.do(g.eng.ConvGradInput(dx, g.in("r"), g.in("weight"), spec))
	g.do(g.eng.ConvGradWeights(dw, dbias, g.in("r"), g.in("x"), spec))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx, "grad_weight": dw, "grad_bias": dbias})
}

func (g *goldenCase) poolSpec() engine.PoolSpec {
	p := g.c.Params
	spec := engine.PoolSpec{Ceil: p.Bool("ceil_mode", false), CountPad: p.Bool("count_include_pad", false)}
	spec.KernelH, spec.KernelW = g.pair("kernel", 0)
	spec.StrideH, spec.StrideW = g.pair("stride", spec.KernelH)
	spec.PadH, spec.PadW = g.pair("padding", 0)
	return spec
}

func (g *goldenCase) maxPool() error {
	y, dx, spec := g.out("y"), g.out("grad_x"), g.poolSpec()
	g.do(g.eng.MaxPool(y, g.in("x"), spec))
	g.do(g.eng.MaxPoolGrad(dx, g.in("r"), g.in("x"), y, spec))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

func (g *goldenCase) avgPool() error {
	y, dx, spec := g.out("y"), g.out("grad_x"), g.poolSpec()
	g.do(g.eng.AvgPool(y, g.in("x"), spec))
	g.do(g.eng.AvgPoolGrad(dx, g.in("r"), spec))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

func (g *goldenCase) globalAvg() error {
	y, dx := g.out("y"), g.out("grad_x")
	g.do(g.eng.GlobalAvg(y, g.in("x")))
	g.do(g.eng.GlobalAvgGrad(dx, g.in("r")))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

func (g *goldenCase) globalMax() error {
	y, dx := g.out("y"), g.out("grad_x")
	g.do(g.eng.GlobalMax(y, g.in("x")))
	g.do(g.eng.GlobalMaxGrad(dx, g.in("r"), g.in("x"), y))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

// globalBoth is the sum of the average and the maximum, Proxy-Anchor's pooling.
func (g *goldenCase) globalBoth() error {
	y, most, dx, part := g.out("y"), g.out("y"), g.out("grad_x"), g.out("grad_x")
	g.do(g.eng.GlobalAvg(y, g.in("x")))
	g.do(g.eng.GlobalMax(most, g.in("x")))
	g.do(g.eng.Add(y, y, most))
	g.do(g.eng.GlobalAvgGrad(dx, g.in("r")))
	g.do(g.eng.GlobalMaxGrad(part, g.in("r"), g.in("x"), most))
	g.do(g.eng.Add(dx, dx, part))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

func (g *goldenCase) batchNorm() error {
	y, dx, dgamma, dbeta := g.out("y"), g.out("grad_x"), g.out("grad_gamma"), g.out("grad_beta")
	results := map[string]engine.Tensor{"y": y, "grad_x": dx, "grad_gamma": dgamma, "grad_beta": dbeta}
	x, r, gamma, beta := g.in("x"), g.in("r"), g.in("gamma"), g.in("beta")
	runningMean, runningVar := g.in("running_mean"), g.in("running_var")
	eps, momentum := float32(g.c.Params.Float("eps", math.NaN())), float32(g.c.Params.Float("momentum", math.NaN()))
	if g.c.Params.Bool("training", false) {
		mean, invStd := g.like(g.c.Inputs["gamma"].Shape), g.like(g.c.Inputs["gamma"].Shape)
		g.do(g.eng.BatchNorm(y, mean, invStd, runningMean, runningVar, x, gamma, beta, eps, momentum))
		g.do(g.eng.BatchNormGrad(dx, dgamma, dbeta, r, x, gamma, mean, invStd))
		results["running_mean_after"], results["running_var_after"] = runningMean, runningVar
	} else {
		g.do(g.eng.FrozenNorm(y, x, gamma, beta, runningMean, runningVar, eps))
		g.do(g.eng.FrozenNormGrad(dx, dgamma, dbeta, r, x, gamma, runningMean, runningVar, eps))
	}
	return g.want(results)
}

func (g *goldenCase) linear() error {
	y, dx, dw, dbias := g.out("y"), g.out("grad_x"), g.out("grad_weight"), g.out("grad_bias")
	g.do(g.eng.Linear(y, g.in("x"), g.in("weight"), g.in("bias")))
	g.do(g.eng.LinearGrad(dx, dw, dbias, g.in("r"), g.in("x"), g.in("weight")))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx, "grad_weight": dw, "grad_bias": dbias})
}

func (g *goldenCase) relu() error {
	y, dx := g.out("y"), g.out("grad_x")
	g.do(g.eng.ReLU(y, g.in("x")))
	g.do(g.eng.ReLUGrad(dx, g.in("r"), y))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

func (g *goldenCase) rowNorm() error {
	spec := engine.RowNormSpec{Scale: 1, Eps: float32(g.c.Params.Float("eps", math.NaN()))}
	switch rule := g.c.Params.String("rule", ""); {
	case strings.HasPrefix(rule, "x / max(|x|, eps)"):
	case strings.HasPrefix(rule, "x / sqrt(sum x^2 + eps)"):
		spec.Smooth = true
	default:
		g.t.Fatalf("unknown rule %q", rule)
	}
	y, dx := g.out("y"), g.out("grad_x")
	g.do(g.eng.RowNorm(y, g.in("x"), spec))
	g.do(g.eng.RowNormGrad(dx, g.in("r"), g.in("x"), spec))
	return g.want(map[string]engine.Tensor{"y": y, "grad_x": dx})
}

package links_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/layers/links"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// levelsGraph is a graph that ends in the loss of a case's levels.
type levelsGraph struct {
	t      *testing.T
	eng    engine.Engine
	ps     *layers.Params
	g      *layers.Graph
	node   *losses.Node
	inputs map[string]*layers.Node
}

func (l *levelsGraph) input(c *golden.Case, name string) *layers.Node {
	n := l.g.Input(name, c.Inputs[name].Shape...)
	l.g.NeedGrad(n)
	l.inputs[name] = n
	l.write(l.g.Value(n), c.Inputs[name].Data)
	return n
}

func (l *levelsGraph) write(to engine.Tensor, x []float64) {
	host := make([]float32, len(x))
	for i, v := range x {
		host[i] = float32(v)
	}
	if err := l.eng.Write(to, host); err != nil {
		l.t.Fatal(err)
	}
}

func (l *levelsGraph) read(from engine.Tensor) []float32 {
	host := make([]float32, from.Size())
	if err := l.eng.Read(host, from); err != nil {
		l.t.Fatal(err)
	}
	return host
}

func newLevelsGraph(t *testing.T, c *golden.Case) *levelsGraph {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	ps := layers.NewParams(eng, 1)
	l := &levelsGraph{t: t, eng: eng, ps: ps, g: layers.NewGraph(eng, ps), inputs: map[string]*layers.Node{}}
	n := c.Params.Int("levels", 0)
	var rows []*layers.Node
	for i := range n {
		rows = append(rows, l.g.RowNorm("rows", l.input(c, fmt.Sprintf("embedding_%d", i)), links.Unit()))
	}
	for i := range n {
		rows = append(rows, l.g.Detach(l.input(c, fmt.Sprintf("certainty_%d", i))))
	}
	levels := &losses.Levels{N: n, Keep: c.Params.Int("k", 0), Gamma: c.Params.Float("gamma", 0)}
	for i := range n - 1 {
		levels.Links = append(levels.Links, l.g.Detach(l.input(c, fmt.Sprintf("link_%d", i))))
		levels.A = append(levels.A, l.input(c, fmt.Sprintf("coef_%d", i+1)))
		levels.B = append(levels.B, l.input(c, fmt.Sprintf("bias_%d", i+1)))
	}
	w := c.Params["weights"].([]any)
	loss := &losses.AVSL{Alpha: c.Params.Float("alpha", 0), PosMargin: c.Params.Float("pos_margin", 0), NegMargin: c.Params.Float("neg_margin", 0),
		Lowest: w[0].(float64), Inner: w[min(1, len(w)-1)].(float64), Highest: w[len(w)-1].(float64)}
	l.node, err = losses.Op(l.g, loss, l.g.Concat("levels", rows...), losses.OpOptions{
		Metric: metric.Metric{Kind: metric.SquaredEuclidean}, Classes: c.Params.Int("classes", 0), Levels: levels,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.g.Backward(l.node.Loss, nil)
	if err := l.g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.g.Close() })
	for i := range n {
		l.write(ps.Get(fmt.Sprintf("loss.proxies%d", i+1)).Value, c.Inputs[fmt.Sprintf("proxy_%d", i)].Data)
	}
	if err := l.node.SetLabels(c.Inputs["labels"].Ints()); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *levelsGraph) value() float64 {
	if err := l.g.Run(); err != nil {
		l.t.Fatal(err)
	}
	v, err := l.g.Scalar(l.node.Loss)
	if err != nil {
		l.t.Fatal(err)
	}
	return v
}

// The four losses of the authors' code and all gradients.
func TestTheLossOfLevelsAgreesWithTheAuthors(t *testing.T) {
	golden.Walk(t, "avsl", func(t *testing.T, c *golden.Case) {
		if !strings.HasPrefix(c.Name, "avsl_train") {
			t.Skip("a case of maps")
		}
		l := newLevelsGraph(t, c)
		golden.Within32(t, "value", []float32{float32(l.value())}, c.Outputs["value"].Data, 2e-5, 1e-6)
		golden.Within32(t, "first level", []float32{float32(l.node.Result.Value)}, c.Outputs["level_losses"].Data[:1], 2e-5, 1e-6)
		checked := 0
		for name, want := range c.Outputs {
			of, ok := strings.CutPrefix(name, "grad_")
			if !ok {
				continue
			}
			checked++
			if number, ok := strings.CutPrefix(of, "proxy_"); ok {
				p := l.ps.Get(fmt.Sprintf("loss.proxies%c", number[0]+1))
				golden.Within32(t, name, l.read(l.g.ParamGrad(p)), want.Data, 5e-5, 1e-6)
				continue
			}
			golden.Within32(t, name, l.read(l.g.Value(l.g.GradOf(l.inputs[of]))), want.Data, 5e-5, 1e-6)
		}
		if levels := c.Params.Int("levels", 0); checked != 4*levels-2 {
			t.Errorf("%d gradients of %d levels", checked, levels)
		}
	})
}

// The gradient of what the links learn is the difference quotient of the loss on the graph.
func TestGradientsOfLinksAreTheirDifferences(t *testing.T) {
	golden.Walk(t, "avsl", func(t *testing.T, c *golden.Case) {
		if !strings.HasPrefix(c.Name, "avsl_train") {
			t.Skip("a case of maps")
		}
		l := newLevelsGraph(t, c)
		r := rand.New(rand.NewPCG(1, 2))
		for _, name := range slices.Sorted(maps.Keys(l.inputs)) { // each has its own direction
			n := l.inputs[name]
			if !strings.HasPrefix(name, "coef_") && !strings.HasPrefix(name, "bias_") {
				continue
			}
			l.value()
			at, slope := l.read(l.g.Value(n)), l.read(l.g.Value(l.g.GradOf(n)))
			direction, want := make([]float64, len(at)), 0.
			for i := range direction {
				direction[i] = r.NormFloat64()
				want += direction[i] * float64(slope[i])
			}
			const step = 6e-3 // the loss is a float32
			side := func(s float64) float64 {
				x := make([]float64, len(at))
				for i, v := range at {
					x[i] = float64(v) + s*direction[i]
				}
				l.write(l.g.Value(n), x)
				return l.value()
			}
			got := (side(step) - side(-step)) / (2 * step)
			l.write(l.g.Value(n), float64s(at))
			if math.Abs(got-want) > 1e-2*max(.2, math.Abs(want)) {
				t.Errorf("%s: the gradient along a direction is %.5g, the difference quotient %.5g", name, want, got)
			}
		}
	})
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

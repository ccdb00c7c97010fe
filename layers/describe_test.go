package layers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
)

func TestStepsTellHowAnOutputIsComputed(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	x := g.Input("images", 2, 3, 8, 8)
	h := g.ConvModule("conv", x, 6, engine.SquareConv(3, 1, 1), true)
	h = g.ReLU("relu", g.BatchNormModule("bn", h, 1e-5, .1, true))
	g.GlobalMax("beside", h) // nothing that the output needs
	pool := engine.SquarePool(2, 2, 0, true)
	h = g.Add(h, g.ConvModule("other", h, 6, engine.SquareConv(1, 1, 0), false))
	out := g.LinearModule("embedding", g.GlobalAvg("pool", g.MaxPool("max", h, pool)), 5)
	loss := g.HostLoss("loss", func(v, grads [][]float64) (float64, error) { return 0, nil }, out)
	g.Backward(loss, nil)
	steps, err := g.Steps(out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var kinds []layers.Kind
	known := map[*layers.Node]bool{x: true}
	for _, s := range steps {
		kinds = append(kinds, s.Kind)
		for _, n := range s.In {
			if p := g.ParamOf(n); p != nil {
				names = append(names, p.Name)
			} else if !known[n] {
				t.Errorf("%s uses what no earlier step made", s.Name)
			}
		}
		known[s.Out] = true
	}
	want := []layers.Kind{layers.KindConv, layers.KindFrozenNorm, layers.KindReLU, layers.KindConv, layers.KindAdd, layers.KindMaxPool, layers.KindGlobalAvg, layers.KindLinear}
	if !slices.Equal(kinds, want) {
		t.Errorf("got kinds %v, want %v", kinds, want)
	}
	if got := strings.Join(names, " "); got != "conv.weight conv.bias bn.weight bn.bias bn.running_mean bn.running_var other.weight embedding.weight embedding.bias" {
		t.Errorf("got parameters %s", got)
	}
	if steps[len(steps)-1].Out != out {
		t.Error("the last step does not make the output")
	}
	if steps[0].Spec != engine.SquareConv(3, 1, 1) || steps[1].Spec != float32(1e-5) || steps[5].Spec != pool {
		t.Errorf("got specifications %v, %v, %v", steps[0].Spec, steps[1].Spec, steps[5].Spec)
	}
	if _, err := g.Steps(loss); err == nil || !strings.Contains(err.Error(), `"loss"`) {
		t.Errorf("steps to a loss: got %v, want an error that names it", err)
	}
}

package layers_test

import (
	"math"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
)

// TestExpScaleGradients compares values and gradients with their definitions.
func TestExpScaleGradients(t *testing.T) {
	x := []float32{1, -2, .5, 3, 0, -1}
	upstream := []float32{.2, .3, -1, 2, .7, -.4}
	for name, log := range map[string][]float32{"one": {-.7}, "each": {-1, .5, .2}} {
		t.Run(name, func(t *testing.T) {
			eng, err := cpu.New(cpu.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			ps := layers.NewParams(eng, 1)
			g := layers.NewGraph(eng, ps)
			rows := g.Input("x", 2, 3)
			g.NeedGrad(rows)
			c := g.Param("log", layers.Scale, layers.Values(log), len(log))
			y := g.ExpScale("scaled", rows, c)
			seed := g.Input("seed", 2, 3)
			g.Keep(y)
			g.Backward(y, seed)
			if err := g.Compile(); err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			eng.Write(g.Value(rows), x)
			eng.Write(g.Value(seed), upstream)
			if err := g.Run(); err != nil {
				t.Fatal(err)
			}
			value, dx, dlog := make([]float32, 6), make([]float32, 6), make([]float32, len(log))
			eng.Read(value, g.Value(y))
			eng.Read(dx, g.Value(g.GradOf(rows)))
			eng.Read(dlog, g.ParamGrad(ps.Get("log")))
			want := make([]float64, len(log))
			for i := range x {
				k := i % 3 % len(log)
				f := math.Exp(float64(log[k]))
				if got := float64(value[i]); math.Abs(got-f*float64(x[i])) > 1e-6 {
					t.Errorf("y[%d] is %v, want %v", i, got, f*float64(x[i]))
				}
				if got := float64(dx[i]); math.Abs(got-f*float64(upstream[i])) > 1e-6 {
					t.Errorf("dx[%d] is %v, want %v", i, got, f*float64(upstream[i]))
				}
				want[k] += f * float64(x[i]) * float64(upstream[i])
			}
			for k := range want {
				if math.Abs(float64(dlog[k])-want[k]) > 1e-5 {
					t.Errorf("dlog[%d] is %v, want %v", k, dlog[k], want[k])
				}
			}
		})
	}
}

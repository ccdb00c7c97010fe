package layers_test

import (
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
)

// A copy of a network stands beside it in one graph: with the same numbers it gives the same,
// takes no gradient, and leaves its running statistics alone.
func TestACopyOfANetworkHasNumbersOfItsOwn(t *testing.T) {
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	in := g.Input("x", 4, 3)
	network := func() *layers.Node {
		return g.BatchNormModule("norm", g.LinearModule("fc", in, 2), 1e-5, .1, false)
	}
	y := network()
	restore := g.Copy("copy.")
	z := network()
	restore()
	ones := g.Fixed("ones", 1, 4, 2)
	g.Keep(y)
	g.Keep(z)
	g.Backward(g.Add(y, z), ones)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	read := func(p string) []float32 {
		host := make([]float32, ps.Get(p).Value.Size())
		if err := eng.Read(host, ps.Get(p).Value); err != nil {
			t.Fatal(err)
		}
		return host
	}
	for _, name := range []string{"fc.weight", "fc.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"} {
		p, c := ps.Get(name), ps.Get("copy."+name)
		if c == nil || c.Group != layers.Training || c.Role != layers.Buffer || c.Trainable() || g.ParamGrad(c) != nil {
			t.Fatalf("%s has the copy %+v", name, c)
		}
		if p.Trainable() && g.ParamGrad(p) == nil {
			t.Errorf("%s has no gradient", name)
		}
		if err := eng.Copy(c.Value, p.Value); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(g.RunningStatistics()); n != 1 {
		t.Errorf("%d normalizations move running statistics, want the network's alone", n)
	}
	if err := eng.Write(g.Value(in), []float32{1, 2, 3, 4, 5, 7, -1, 0, 2, .5, 3, -4}); err != nil {
		t.Fatal(err)
	}
	before := read("norm.running_mean")
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	a, b := make([]float32, 8), make([]float32, 8)
	if err := eng.Read(a, g.Value(y)); err != nil {
		t.Fatal(err)
	}
	if err := eng.Read(b, g.Value(z)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a, b) {
		t.Errorf("the network gives %v, its copy %v", a, b)
	}
	if slices.Equal(read("norm.running_mean"), before) || !slices.Equal(read("copy.norm.running_mean"), before) {
		t.Errorf("running means %v and %v of the copy, from %v", read("norm.running_mean"), read("copy.norm.running_mean"), before)
	}
}

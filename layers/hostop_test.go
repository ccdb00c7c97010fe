package layers_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/layers"
)

// power is x to the power of a learned exponent, of one number: as generalized-mean
// pooling has it. x must be positive.
type power struct{ wrong bool }

func (power) Shape(in ...[]int) ([]int, error) {
	if len(in) != 2 || !slices.Equal(in[1], []int{1}) {
		return nil, fmt.Errorf("shapes %v, want x and one exponent", in)
	}
	return in[0], nil
}

func (power) Forward(y layers.Array, x ...layers.Array) error {
	p := float64(x[1].V[0])
	for i, v := range x[0].V {
		y.V[i] = float32(math.Pow(math.Abs(float64(v))+1, p))
	}
	return nil
}

func (o power) Backward(dx []layers.Array, dy, y layers.Array, x ...layers.Array) error {
	p, sum := float64(x[1].V[0]), 0.
	for i, v := range x[0].V {
		base := math.Abs(float64(v)) + 1
		if dx[0].V != nil {
			dx[0].V[i] = dy.V[i] * float32(p*math.Pow(base, p-1)*math.Copysign(1, float64(v)))
		}
		sum += float64(dy.V[i]) * float64(y.V[i]) * math.Log(base)
	}
	if dx[1].V != nil {
		if dx[1].V[0] = float32(sum); o.wrong {
			dx[1].V[0] = float32(2 * sum)
		}
	}
	return nil
}

func TestCheckHostOpKnowsRightFromWrong(t *testing.T) {
	if err := layers.CheckHostOp(power{}, 1, []int{2, 3}, []int{1}); err != nil {
		t.Error(err)
	}
	err := layers.CheckHostOp(power{wrong: true}, 1, []int{2, 3}, []int{1})
	if err == nil || !strings.Contains(err.Error(), "input 1, number 0 of shape [1]: the gradient is") {
		t.Errorf("a wrong gradient: %v", err)
	}
	if err := layers.CheckHostOp(power{}, 1, []int{2}, []int{2}); err == nil || !strings.Contains(err.Error(), "want x and one exponent") {
		t.Errorf("wrong shapes: %v", err)
	}
}

// y = 3^2 + 1^2 for |x|+1 = 3 and 1; dy/dx = 2*3 and, with the sign of 0 taken as +, 2;
// dy/dp = 9 ln 3.
func TestAHostOpInAGraph(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	x := g.Input("x", 2)
	g.NeedGrad(x)
	p := g.Param("p", layers.Bias, layers.Constant(2), 1)
	y := g.HostOp("power", power{}, x, p)
	loss := g.HostLoss("sum", func(v, grads [][]float64) (float64, error) {
		grads[0][0], grads[0][1] = 1, 1
		return v[0][0] + v[0][1], nil
	}, y)
	g.Backward(loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := eng.Write(g.Value(x), []float32{-2, 0}); err != nil {
		t.Fatal(err)
	}
	if err := g.Run(); err != nil {
		t.Fatal(err)
	}
	if v, err := g.Scalar(loss); err != nil || v != 10 {
		t.Errorf("the sum is %v, %v, want 10", v, err)
	}
	if got := read(t, eng, g.Value(g.GradOf(x))); !slices.Equal(got, []float32{-6, 2}) {
		t.Errorf("gradient of x %v, want [-6 2]", got)
	}
	if got, want := read(t, eng, g.ParamGrad(ps.Get("p")))[0], float32(9*math.Log(3)); got != want {
		t.Errorf("gradient of p %v, want %v", got, want)
	}
	if _, err := g.Steps(y); err == nil || !strings.Contains(err.Error(), `node "power" is an op of the program's own`) {
		t.Errorf("described: %v", err)
	}
}

// failing returns an error in the forward pass, or panics there.
type failing struct {
	power
	forward, panics bool
}

func (f failing) Forward(y layers.Array, x ...layers.Array) error {
	switch {
	case f.panics:
		return fmt.Errorf("%v", x[7])
	case f.forward:
		return errors.New("no such power")
	}
	return f.power.Forward(y, x...)
}

func TestMistakesOfAHostOpNameIt(t *testing.T) {
	eng := newEngine(t)
	for _, c := range []struct {
		build func(g *layers.Graph) *layers.Node
		want  string
	}{
		{func(g *layers.Graph) *layers.Node { return g.HostOp("mine", nil, g.Input("x", 2)) }, "mine: want an op and its inputs"},
		{func(g *layers.Graph) *layers.Node { return g.HostOp("mine", power{}) }, "mine: want an op and its inputs"},
		{func(g *layers.Graph) *layers.Node { return g.HostOp("mine", power{}, g.Input("x", 2)) }, "mine: shapes [[2]], want x and one exponent"},
		{func(g *layers.Graph) *layers.Node {
			return g.HostOp("mine", failing{forward: true}, g.Input("x", 2), g.Input("p", 1))
		}, `node "mine": no such power`},
		{func(g *layers.Graph) *layers.Node {
			return g.HostOp("mine", failing{panics: true}, g.Input("x", 2), g.Input("p", 1))
		}, `node "mine": panic: `},
	} {
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		c.build(g)
		err := g.Compile()
		if err == nil {
			err = g.Run()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q in it", err, c.want)
		}
		g.Close()
	}
}

package links

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
)

func array(x golden.Tensor) layers.Array {
	a := layers.Array{Shape: x.Shape, V: make([]float32, len(x.Data))}
	for i, v := range x.Data {
		a.V[i] = float32(v)
	}
	return a
}

func empty(t *testing.T, o layers.HostOp, in ...layers.Array) layers.Array {
	t.Helper()
	shapes := make([][]int, len(in))
	for i, a := range in {
		shapes[i] = a.Shape
	}
	shape, err := o.Shape(shapes...)
	if err != nil {
		t.Fatal(err)
	}
	n := 1
	for _, s := range shape {
		n *= s
	}
	return layers.Array{Shape: shape, V: make([]float32, n)}
}

func forward(t *testing.T, o layers.HostOp, in ...layers.Array) layers.Array {
	t.Helper()
	y := empty(t, o, in...)
	if err := o.Forward(y, in...); err != nil {
		t.Fatal(err)
	}
	return y
}

// times is what a linear layer with weights (h, C) makes of a map, without the bias.
func times(w, m layers.Array) layers.Array {
	n, c, places, h := m.Shape[0], m.Shape[1], m.Shape[2]*m.Shape[3], w.Shape[0]
	y := layers.Array{Shape: []int{n, h, m.Shape[2], m.Shape[3]}, V: make([]float32, n*h*places)}
	for i := range n {
		for u := range h {
			for k := range places {
				sum := 0.
				for j := range c {
					sum += float64(w.V[u*c+j]) * float64(m.V[(i*c+j)*places+k])
				}
				y.V[(i*h+u)*places+k] = float32(sum)
			}
		}
	}
	return y
}

func TestGoldenMapsAndLinks(t *testing.T) {
	golden.Walk(t, "avsl", func(t *testing.T, c *golden.Case) {
		if !strings.HasPrefix(c.Name, "avsl_maps") {
			t.Skip("a case of distances")
		}
		maps := map[string]layers.Array{}
		for _, level := range []string{"low", "high"} {
			w, b := array(c.Inputs[level+"_w"]), array(c.Inputs[level+"_b"])
			m := times(w, forward(t, Peaks{}, array(c.Inputs[level+"_map"])))
			maps[level] = m
			with := make([]float32, len(m.V))
			places := m.Shape[2] * m.Shape[3]
			for i, v := range m.V {
				with[i] = v + b.V[i/places%len(b.V)]
			}
			golden.Close32(t, level+"_cam", with, c.Outputs[level+"_cam"])
			golden.Within32(t, level+"_certainty", forward(t, Certainty{}, m).V, c.Outputs[level+"_certainty"].Data, 1e-4, 1e-7)
		}
		zero, before := array(c.Inputs["link_before"]), array(c.Inputs["link_before"])
		clear(zero.V)
		var stored []float32
		l := Link{Momentum: c.Params.Float("m", 0), Store: func(links []float32) error { stored = append(stored, links...); return nil }}
		in := []layers.Array{maps["low"], array(c.Inputs["low_b"]), maps["high"], array(c.Inputs["high_b"])}
		golden.Close32(t, "link", forward(t, l, append(in, zero)...).V, c.Outputs["link"])
		golden.Close32(t, "link_after", forward(t, l, append(in, before)...).V, c.Outputs["link_after"])
		golden.Close32(t, "stored", stored[len(before.V):], c.Outputs["link_after"])
	})
}

// levelRows are the embeddings and proxies of a case at length 1, certainties, links and learned
// numbers, in the order of Final.
func levelRows(c *golden.Case) (in []layers.Array) {
	levels := c.Params.Int("levels", 0)
	unit := func(a layers.Array) layers.Array {
		x := make([]float64, len(a.V))
		for i, v := range a.V {
			x[i] = float64(v)
		}
		unitRows(x, a.Shape[1])
		for i, v := range x {
			a.V[i] = float32(v)
		}
		return a
	}
	for _, name := range []string{"embedding", "certainty", "proxy"} {
		for l := range levels {
			a := array(c.Inputs[fmt.Sprintf("%s_%d", name, l)])
			if name != "certainty" {
				a = unit(a)
			}
			in = append(in, a)
		}
	}
	for l := range levels - 1 {
		in = append(in, array(c.Inputs[fmt.Sprintf("link_%d", l)]))
	}
	for _, name := range []string{"coef", "bias"} {
		for l := 1; l < levels; l++ {
			in = append(in, array(c.Inputs[fmt.Sprintf("%s_%d", name, l)]))
		}
	}
	return in
}

func TestGoldenDistanceAlongLinks(t *testing.T) {
	golden.Walk(t, "avsl", func(t *testing.T, c *golden.Case) {
		if !strings.HasPrefix(c.Name, "avsl_train") {
			t.Skip("a case of maps")
		}
		levels, keep := c.Params.Int("levels", 0), c.Params.Int("k", 0)
		f := Final{Levels: levels, Keep: keep, Gamma: c.Params.Float("gamma", 0)}
		in := levelRows(c)
		y := forward(t, f, in...)
		golden.Close32(t, "final", y.V, c.Outputs["final"])
		// The loss of D, whose gradient reaches a and b alone.
		dy := gradientOfProxyAnchor(c, y)
		dx := make([]layers.Array, len(in))
		for i, a := range in {
			dx[i] = layers.Array{Shape: a.Shape, V: make([]float32, len(a.V))}
		}
		if err := f.Backward(dx, dy, y, in...); err != nil {
			t.Fatal(err)
		}
		for l := 1; l < levels; l++ {
			golden.Within32(t, "grad_coef", dx[4*levels-2+l].V, c.Outputs[fmt.Sprintf("grad_coef_%d", l)].Data, 5e-5, 1e-7)
			golden.Within32(t, "grad_bias", dx[5*levels-3+l].V, c.Outputs[fmt.Sprintf("grad_bias_%d", l)].Data, 5e-5, 1e-7)
		}
		for i := range 3 * levels {
			if golden.MaxAbs(float64s(dx[i].V)) != 0 {
				t.Errorf("input %d, a constant, has a gradient", i)
			}
		}
		g := &Graph{Levels: levels, H: in[0].Shape[1], Gamma: f.Gamma}
		for l := range levels - 1 {
			edges := Edges(in[3*levels+l].V, g.H, keep)
			golden.Within32(t, "edges", float32s(edges), c.Outputs[fmt.Sprintf("edges_%d", l)].Data, 1e-6, 1e-7)
			g.Edges, g.A, g.B = append(g.Edges, edges), append(g.A, in[4*levels-1+l].V), append(g.B, in[5*levels-2+l].V)
		}
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		n := in[0].Shape[0]
		rows := make([]float32, 0, n*g.Width())
		for i := range n {
			for _, a := range in[:2*levels] {
				rows = append(rows, a.V[i*g.H:(i+1)*g.H]...)
			}
		}
		for i := range n {
			d := make([]float64, n)
			g.Row(d, rows[i*g.Width():(i+1)*g.Width()], rows)
			want := c.Outputs["test_final"].Data[i*n : (i+1)*n]
			golden.Within32(t, "test_final", float32s(d), want, 2e-5, 1e-6)
		}
	})
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// gradientOfProxyAnchor is the derivative of a case's loss of D with respect to D, as the
// equations stand.
func gradientOfProxyAnchor(c *golden.Case, d layers.Array) layers.Array {
	n, classes := d.Shape[0], d.Shape[1]
	alpha, labels := c.Params.Float("alpha", 0), c.Inputs["labels"].Ints()
	g := layers.Array{Shape: d.Shape, V: make([]float32, len(d.V))}
	present := map[int]bool{}
	for _, l := range labels {
		present[l] = true
	}
	for k := range classes {
		own, others := 1., 1.
		exp := func(i int) float64 {
			if labels[i] == k {
				return math.Exp(alpha * (float64(d.V[i*classes+k]) - c.Params.Float("pos_margin", 0)))
			}
			return math.Exp(-alpha * (float64(d.V[i*classes+k]) - c.Params.Float("neg_margin", 0)))
		}
		for i := range n {
			if labels[i] == k {
				own += exp(i)
			} else {
				others += exp(i)
			}
		}
		for i := range n {
			if labels[i] == k {
				g.V[i*classes+k] = float32(alpha * exp(i) / own / float64(len(present)))
			} else {
				g.V[i*classes+k] = float32(-alpha * exp(i) / others / float64(classes))
			}
		}
	}
	return g
}

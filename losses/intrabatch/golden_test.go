package intrabatch_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/losses/intrabatch"
	"github.com/vernier-ml/vernier/metric"
)

func newEngine(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// part is rows of a parameter of the layers.
type part struct {
	param      string
	from, rows int
}

// places says where the tensors of a case lie among the parameters, by their names.
func places(c *golden.Case, prefix string) map[string]part {
	whole := func(name string) part { return part{prefix + name, 0, -1} }
	list := map[string]part{
		"fc0_w": whole("classifier.weight"), "fc0_b": whole("classifier.bias"), "red_w": whole("reduce.weight"), "red_b": whole("reduce.bias"),
		"neck_w": whole("neck.weight"), "fc_w": whole("logits.weight"),
	}
	h := c.Inputs["red_w"].Shape[0]
	for l := range c.Params.Int("layers", 0) {
		layer := fmt.Sprintf("layer%d.", l+1)
		for i, name := range []string{"q", "k", "v"} {
			list[fmt.Sprintf("w%s_%d", name, l)] = part{prefix + layer + "attention.qkv.weight", i * h, h}
			list[fmt.Sprintf("b%s_%d", name, l)] = part{prefix + layer + "attention.qkv.bias", i * h, h}
		}
		for name, at := range map[string]string{
			"wo": "attention.out.weight", "bo": "attention.out.bias", "w1": "mlp.fc1.weight", "b1": "mlp.fc1.bias", "w2": "mlp.fc2.weight", "b2": "mlp.fc2.bias",
			"ln1w": "attention.norm.weight", "ln1b": "attention.norm.bias", "ln2w": "mlp.norm.weight", "ln2b": "mlp.norm.bias",
		} {
			list[fmt.Sprintf("%s_%d", name, l)] = whole(layer + at)
		}
	}
	return list
}

// in returns the rows of a parameter's numbers.
func (p part) in(host []float32, shape []int) []float32 {
	if p.rows < 0 {
		return host
	}
	width := len(host) / shape[0]
	return host[p.from*width : (p.from+p.rows)*width]
}

// fill writes the inputs of a case into the parameters.
func fill(t *testing.T, c *golden.Case, ps *layers.Params, prefix string) {
	t.Helper()
	for name, at := range places(c, prefix) {
		p := ps.Get(at.param)
		if p == nil {
			t.Fatalf("there is no parameter %s", at.param)
		}
		host := make([]float32, p.Value.Size())
		if err := ps.Engine().Read(host, p.Value); err != nil {
			t.Fatal(err)
		}
		copy(at.in(host, p.Value.Shape()), float32s(c.Inputs[name].Data))
		if err := ps.Engine().Write(p.Value, host); err != nil {
			t.Fatal(err)
		}
	}
}

// Value, parts and every gradient of the authors' layers. Computed in float32: some gradients
// are 0 by cancellation, and so all are compared with the largest of a case.
func TestLayersOverABatchAgreeWithTheAuthors(t *testing.T) {
	golden.Walk(t, "ibc", func(t *testing.T, c *golden.Case) {
		eng := newEngine(t)
		ps := layers.NewParams(eng, 1)
		g := layers.NewGraph(eng, ps)
		classes := c.Params.Int("classes", 0)
		x := g.Input("x", c.Inputs["x"].Shape...)
		g.NeedGrad(x)
		l := &losses.IBC{
			Layers: c.Params.Int("layers", 0), Heads: c.Params.Int("heads", 0), Width: c.Inputs["red_w"].Shape[0], Joined: c.Params.Bool("concat", false),
			Temperature: c.Params.Float("temperature", 0), Smoothing: c.Params.Float("smoothing", 0),
		}
		n, err := losses.Op(g, l, x, losses.OpOptions{Metric: metric.Metric{Kind: metric.Euclidean}, Classes: classes})
		if err != nil {
			t.Fatal(err)
		}
		g.Backward(n.Loss, nil)
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		fill(t, c, ps, "loss.ibc.")
		if err := eng.Write(g.Value(x), float32s(c.Inputs["x"].Data)); err != nil {
			t.Fatal(err)
		}
		if err := n.SetLabels(c.Inputs["labels"].Ints()); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		value, err := g.Scalar(n.Loss)
		if err != nil {
			t.Fatal(err)
		}
		loose := func(largest float64) golden.Tolerance { return golden.Tolerance{ATol: 2e-5*largest + 1e-7} }
		golden.Close64(t, "value", []float64{value}, c.Outputs["value"], loose(c.Outputs["value"].Scalar()))
		golden.Close64(t, "backbone_loss", []float64{n.Result.Value}, c.Outputs["backbone_loss"], loose(c.Outputs["value"].Scalar()))
		golden.Close64(t, "batch_loss", []float64{value - n.Result.Value}, c.Outputs["batch_loss"], loose(c.Outputs["value"].Scalar()))

		largest := 0.
		for name, o := range c.Outputs {
			if len(name) > 5 && name[:5] == "grad_" {
				largest = max(largest, golden.MaxAbs(o.Data))
			}
		}
		read := func(v engine.Tensor) []float32 {
			host := make([]float32, v.Size())
			if err := eng.Read(host, v); err != nil {
				t.Fatal(err)
			}
			return host
		}
		check := func(name string, host []float32) {
			got := make([]float64, len(host))
			for i, v := range host {
				got[i] = float64(v)
			}
			golden.Close64(t, name, got, c.Outputs[name], golden.Tolerance{ATol: 1e-5*largest + 1e-7})
		}
		check("grad_x", read(g.Value(g.GradOf(x))))
		names := 1
		for name, at := range places(c, "loss.ibc.") {
			p := ps.Get(at.param)
			if p.Group != layers.Training {
				t.Errorf("%s belongs to %v", p.Name, p.Group)
			}
			check("grad_"+name, at.in(read(g.ParamGrad(p)), p.Value.Shape()))
			names++
		}
		for name := range c.Outputs {
			if len(name) > 5 && name[:5] == "grad_" {
				names--
			}
		}
		if names != 0 {
			t.Errorf("%d gradients of the case are not compared", -names)
		}
	})
}

// What the last layer gives, and the weights of the first one's heads.
func TestAttentionInABatchAgreesWithTheAuthors(t *testing.T) {
	golden.Walk(t, "ibc", func(t *testing.T, c *golden.Case) {
		eng := newEngine(t)
		ps := layers.NewParams(eng, 1)
		g := layers.NewGraph(eng, ps)
		heads := c.Params.Int("heads", 0)
		x := g.Input("x", c.Inputs["x"].Shape...)
		spec := intrabatch.Spec{Classes: c.Params.Int("classes", 0), Layers: c.Params.Int("layers", 0), Heads: heads, Width: c.Inputs["red_w"].Shape[0], Joined: c.Params.Bool("concat", false)}
		out := spec.Add(g, "", x)
		g.Keep(out.Refined)
		if err := g.Compile(); err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		fill(t, c, ps, "")
		if err := eng.Write(g.Value(x), float32s(c.Inputs["x"].Data)); err != nil {
			t.Fatal(err)
		}
		if err := g.Run(); err != nil {
			t.Fatal(err)
		}
		host := make([]float32, out.Refined.Shape().TotalSize())
		if err := eng.Read(host, g.Value(out.Refined)); err != nil {
			t.Fatal(err)
		}
		want := c.Outputs["refined"]
		for i, v := range host {
			if d := math.Abs(float64(v) - want.Data[i]); !(d <= 2e-5*golden.MaxAbs(want.Data)) {
				t.Fatalf("refined, number %d: %v, want %v", i, v, want.Data[i])
			}
		}
		compareWeights(t, c, heads)
	})
}

// compareWeights gives the values of a head a 1 for one row and 0 for all others, so that the
// output is the weights of that row.
func compareWeights(t *testing.T, c *golden.Case, heads int) {
	n, h, in := c.Inputs["x"].Shape[0], c.Inputs["red_w"].Shape[0], c.Inputs["x"].Shape[1]
	at := func(name string) []float64 { return c.Inputs[name].Data }
	row := func(w, b, x []float64, i int) float64 {
		sum := b[i]
		for k, v := range x {
			sum += w[i*len(x)+k] * v
		}
		return sum
	}
	qkv := layers.Array{Shape: []int{n, 3 * h}, V: make([]float32, n*3*h)}
	for i := range n {
		x := append([]float64{}, at("x")[i*in:(i+1)*in]...)
		length := 0.
		for _, v := range x {
			length += v * v
		}
		for k := range x {
			x[k] /= math.Sqrt(length)
		}
		z := make([]float64, h)
		for k := range z {
			z[k] = row(at("red_w"), at("red_b"), x, k)
		}
		for k := range h {
			qkv.V[i*3*h+k] = float32(row(at("wq_0"), at("bq_0"), z, k))
			qkv.V[i*3*h+h+k] = float32(row(at("wk_0"), at("bk_0"), z, k))
		}
	}
	y := layers.Array{Shape: []int{n, h}, V: make([]float32, n*h)}
	for j := range n {
		for i := range n {
			for k := range h {
				qkv.V[i*3*h+2*h+k] = 0
				if i == j {
					qkv.V[i*3*h+2*h+k] = 1
				}
			}
		}
		if err := (intrabatch.Attention{Heads: heads}).Forward(y, qkv); err != nil {
			t.Fatal(err)
		}
		for head := range heads {
			for i := range n {
				got, want := float64(y.V[i*h+head*(h/heads)]), c.Outputs["attention_0"].Data[(head*n+i)*n+j]
				if math.Abs(got-want) > 2e-6 {
					t.Fatalf("head %d: the weight of row %d for row %d is %v, want %v", head, j, i, got, want)
				}
			}
		}
	}
}

// The gradient of the attention, with weights that are dropped and without.
func TestTheGradientOfAttentionInABatchIsItsDifferences(t *testing.T) {
	for heads, shape := range map[int][]int{1: {5, 9}, 2: {4, 12}, 3: {7, 18}} {
		if err := layers.CheckHostOp(intrabatch.Attention{Heads: heads}, 3, shape); err != nil {
			t.Errorf("%d heads: %v", heads, err)
		}
	}
}

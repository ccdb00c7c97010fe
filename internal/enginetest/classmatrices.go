package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// classEval evaluates a loss over class rows by an engine.
type classEval func(e engine.ClassLosses, loss, dd, d, labels engine.Tensor) error

func anchorEval(spec engine.ProxyAnchorSpec) classEval {
	return func(e engine.ClassLosses, loss, dd, d, labels engine.Tensor) error {
		return e.ProxyAnchor(loss, dd, d, labels, spec)
	}
}

func softmaxEval(spec engine.ClassSoftmaxSpec) classEval {
	return func(e engine.ClassLosses, loss, dd, d, labels engine.Tensor) error {
		return e.ClassSoftmax(loss, dd, d, labels, spec)
	}
}

// classMatrix is a batch's distances to class rows, of which the loss sees the
// similarity 1 - d^2/.3 or 1 - d.
type classMatrix struct {
	rows, columns int
	d             []float32
	labels        []int
	view          engine.Quadratic
}

var (
	squaredView = engine.Quadratic{A: 1, C: -1 / .3}
	linearView  = engine.Quadratic{A: 1, B: -1}
)

// newClassMatrix draws distances up to reach; some classes are absent from the batch.
func newClassMatrix(rng *rand.Rand, rows, columns int, reach float32, view engine.Quadratic) classMatrix {
	c := classMatrix{rows: rows, columns: columns, d: make([]float32, rows*columns), labels: make([]int, rows), view: view}
	for i := range c.d {
		c.d[i] = reach * rng.Float32()
	}
	for i := range c.labels {
		c.labels[i] = rng.IntN(max(columns/2, 1))
	}
	return c
}

// by returns what an engine makes of the matrix; the loss is the same without dd.
func (c classMatrix) by(t *testing.T, eng engine.Engine, eval classEval) (loss float32, dd []float32) {
	t.Helper()
	tensor := func(v []float32, shape ...int) engine.Tensor {
		x, err := eng.New(shape...)
		if err == nil && v != nil {
			err = eng.Write(x, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	labels := make([]float32, len(c.labels))
	for i, label := range c.labels {
		labels[i] = float32(label)
	}
	d, of := tensor(c.d, c.rows, c.columns), tensor(labels, c.rows)
	alone, value, grad := tensor(nil, 1), tensor(nil, 1), tensor(nil, c.rows, c.columns)
	on := eng.(engine.ClassLosses)
	for _, err := range []error{eval(on, alone, nil, d, of), eval(on, value, grad, d, of)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	loss = readAll(t, eng, value)[0]
	if a := readAll(t, eng, alone)[0]; a != loss && (a == a || loss == loss) {
		t.Errorf("the loss is %v without its derivative, %v with it", a, loss)
	}
	return loss, readAll(t, eng, grad)
}

// byHost returns what the host makes of it.
func (c classMatrix) byHost(t *testing.T, l losses.Loss) (loss float64, dd []float32) {
	t.Helper()
	m := losses.Matrix{Rows: c.rows, Cols: c.columns, V: make([]float64, len(c.d)), RowLabels: c.labels, Similarity: true}
	a, b, k := float64(c.view.A), float64(c.view.B), float64(c.view.C)
	for i, d := range c.d {
		m.V[i] = a + b*float64(d) + k*float64(d)*float64(d)
	}
	for j := range c.columns {
		m.ColLabels = append(m.ColLabels, j)
	}
	grad := make([]float64, len(c.d))
	r, err := l.Eval(&m, grad)
	if err != nil {
		t.Fatal(err)
	}
	dd = make([]float32, len(grad))
	for i, g := range grad {
		dd[i] = float32(g * (b + 2*k*float64(c.d[i])))
	}
	return r.Value, dd
}

// classMatrices compares matrices with the host's float64: shapes around those of blocks
// and vectors, similarities past the end of an angle, exponents beyond float32, rows at
// their class's own place.
func classMatrices(t *testing.T, eng engine.Engine, rel float64) {
	rng := rand.New(rand.NewPCG(8, 3))
	type form struct {
		host losses.Loss
		eval func(view engine.Quadratic) classEval
	}
	anchor := func(alpha float64) form {
		return form{&losses.ProxyAnchor{Alpha: alpha, PosMargin: .1, NegMargin: -.1}, func(v engine.Quadratic) classEval {
			return anchorEval(engine.ProxyAnchorSpec{Similarity: v, Alpha: float32(alpha), PosMargin: .1, NegMargin: -.1})
		}}
	}
	soft := func(host losses.Loss, spec engine.ClassSoftmaxSpec) form {
		return form{host, func(v engine.Quadratic) classEval { spec.Similarity = v; return softmaxEval(spec) }}
	}
	forms := map[string]form{
		"proxy-anchor":          anchor(32),
		"proxy-anchor, steep":   anchor(320),
		"normalized softmax":    soft(&losses.NormalizedSoftmax{Temperature: .05}, engine.ClassSoftmaxSpec{Scale: 20}),
		"softmax, steep":        soft(&losses.NormalizedSoftmax{Temperature: .001}, engine.ClassSoftmaxSpec{Scale: 1000}),
		"cosface":               soft(&losses.CosFace{Scale: 64, Margin: .35}, engine.ClassSoftmaxSpec{Scale: 64, Margin: .35}),
		"arcface":               soft(&losses.ArcFace{Scale: 64, MarginDegrees: 28.6}, engine.ClassSoftmaxSpec{Scale: 64, Angle: radian(28.6)}),
		"arcface, wide":         soft(&losses.ArcFace{Scale: 30, MarginDegrees: 120}, engine.ClassSoftmaxSpec{Scale: 30, Angle: radian(120)}),
		"proxy-nca":             soft(&losses.ProxyNCA{Scale: 18}, engine.ClassSoftmaxSpec{Scale: 18}),
		"proxy-nca, smoothed":   soft(&losses.ProxyNCA{Scale: 18, Smoothing: .1}, engine.ClassSoftmaxSpec{Scale: 18, Smoothing: .1}),
		"proxy-nca, the others": soft(&losses.ProxyNCA{Scale: 18, OthersOnly: true}, engine.ClassSoftmaxSpec{Scale: 18, OthersOnly: true}),
	}
	names := make([]string, 0, len(forms))
	for name := range forms {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, view := range []engine.Quadratic{squaredView, linearView} {
		for _, shape := range [][2]int{{1, 2}, {7, 5}, {16, 16}, {17, 33}, {40, 256}, {33, 700}} {
			for _, reach := range []float32{.65, .8, 2.4} {
				c := newClassMatrix(rng, shape[0], shape[1], reach, view)
				if shape[0] == 17 {
					for i, label := range c.labels {
						c.d[i*c.columns+label] = 0
					}
				}
				for _, name := range names {
					f := forms[name]
					if strings.Contains(name, "steep") != (reach > 2) {
						continue
					}
					t.Run(fmt.Sprintf("%s %v %v %v", name, shape, reach, view), func(t *testing.T) {
						want, grad := c.byHost(t, f.host)
						got, dd := c.by(t, eng, f.eval(view))
						if !(math.Abs(float64(got)-want) <= rel*(1e-2+math.Abs(want))) {
							t.Errorf("loss %v, want %v", got, want)
						}
						// An exponent of hundreds has the rounding of its distance in it.
						tolerance := rel
						if strings.Contains(name, "steep") {
							tolerance *= 20
						}
						within(t, "derivative", dd, grad, tolerance)
					})
				}
			}
		}
	}
}

// classBadNumbers wants NaN or infinity among the values to show in the loss or in its
// derivative.
func classBadNumbers(t *testing.T, eng engine.Engine) {
	rng := rand.New(rand.NewPCG(8, 4))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, at := range []int{0, 7, 33, 53} { // of rows' own classes and of others
			c := newClassMatrix(rng, 9, 6, .65, squaredView)
			c.d[at] = float32(bad)
			for name, eval := range map[string]classEval{
				"proxy-anchor": anchorEval(engine.ProxyAnchorSpec{Similarity: c.view, Alpha: 32, PosMargin: .1, NegMargin: -.1}),
				"softmax":      softmaxEval(engine.ClassSoftmaxSpec{Similarity: c.view, Scale: 20}),
				"arcface":      softmaxEval(engine.ClassSoftmaxSpec{Similarity: c.view, Scale: 20, Angle: radian(30)}),
			} {
				loss, dd := c.by(t, eng, eval)
				shows := loss-loss != 0
				for _, g := range dd {
					shows = shows || g-g != 0
				}
				if !shows {
					t.Errorf("%s with %v at %d: loss %v, derivative %v", name, bad, at, loss, dd)
				}
			}
		}
	}
}

func radian(degrees float64) float64 { return degrees * math.Pi / 180 }

// classDifferences wants the derivative to be that of the number that the engine gives.
func classDifferences(t *testing.T, eng engine.Engine) {
	rng := rand.New(rand.NewPCG(8, 2))
	c := newClassMatrix(rng, 3, 5, 1, engine.Quadratic{A: .9, B: -.3, C: -.4})
	c.labels = []int{4, 0, 4}
	for name, eval := range map[string]classEval{
		"proxy-anchor":            anchorEval(engine.ProxyAnchorSpec{Similarity: c.view, Alpha: 3, PosMargin: .1, NegMargin: -.1}),
		"softmax with everything": softmaxEval(engine.ClassSoftmaxSpec{Similarity: c.view, Scale: 4, Angle: .5, Margin: .2, Smoothing: .1}),
		"softmax over the others": softmaxEval(engine.ClassSoftmaxSpec{Similarity: c.view, Scale: 4, OthersOnly: true}),
	} {
		_, grad := c.by(t, eng, eval)
		for i, g := range grad {
			const h = 1. / 128
			at := func(by float32) float64 {
				moved := c
				moved.d = slices.Clone(c.d)
				moved.d[i] += by
				loss, _ := moved.by(t, eng, eval)
				return float64(loss)
			}
			if diff := (at(h) - at(-h)) / (2 * h); math.Abs(diff-float64(g)) > 2e-3 {
				t.Errorf("%s: derivative %d is %v, differences give %v", name, i, g, diff)
			}
		}
	}
}

// classGolden compares with the numbers of the losses' authors.
func classGolden(t *testing.T, eng engine.Engine, o ClassLossOptions) {
	squared, dot := metric.Metric{Kind: metric.SquaredEuclidean}, metric.Metric{Kind: metric.Dot}
	cases := 0
	golden.WalkFS(t, o.Golden, "losses", func(t *testing.T, c *golden.Case) {
		_, short, _ := strings.Cut(c.Name, "_")
		p, rows, transposed := classProblem{metric: dot, unit: true, host: 1}, "W", true
		var l losses.Loss
		switch {
		case strings.HasPrefix(short, "proxy_anchor"):
			delta := c.Params.Float("margin", 0)
			l, rows, transposed = &losses.ProxyAnchor{Alpha: c.Params.Float("alpha", 0), PosMargin: delta, NegMargin: -delta}, "proxies", false
		case strings.HasPrefix(short, "proxy_nca"):
			scale := c.Params.Float("softmax_scale", 1) * c.Params.Float("scaling_x", 1) * c.Params.Float("scaling_p", 1)
			l, rows, transposed = &losses.ProxyNCA{Scale: scale, Smoothing: c.Params.Float("smoothing_const", 0)}, "proxies", false
			p.metric = squared
		case strings.HasPrefix(short, "normalized_softmax"):
			l = &losses.NormalizedSoftmax{Temperature: c.Params.Float("temperature", 0)}
		case strings.HasPrefix(short, "cosface"):
			l = &losses.CosFace{Scale: c.Params.Float("scale", 0), Margin: c.Params.Float("margin", 0)}
		case strings.HasPrefix(short, "arcface"):
			l = &losses.ArcFace{Scale: c.Params.Float("scale", 0), MarginDegrees: c.Params.Float("margin_degrees", 0)}
		default:
			t.Skip("a loss of the host")
		}
		cases++
		turn := func(g golden.Tensor) []float32 {
			if transposed {
				g = transposedTensor(g)
			}
			return float32s(g.Data)
		}
		x := c.Inputs["embeddings"]
		p.loss = func() losses.Loss { return l }
		p.x, p.p, p.labels = float32s(x.Data), turn(c.Inputs[rows]), c.Inputs["labels"].Ints()
		p.rows, p.dim = x.Shape[0], x.Shape[1]
		p.classes = len(p.p) / p.dim
		a := p.on(t, eng, true)
		within(t, "value", []float32{float32(a.value)}, float32s(c.Outputs["value"].Data), o.Rel)
		within(t, "gradient of the embeddings", a.dx, float32s(c.Outputs["grad_embeddings"].Data), o.Rel)
		within(t, "gradient of the class rows", a.dp, turn(c.Outputs["grad_"+rows]), o.Rel)
	})
	if cases < 20 {
		t.Errorf("%d cases of these losses", cases)
	}
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func transposedTensor(g golden.Tensor) golden.Tensor {
	rows, cols := g.Shape[0], g.Shape[1]
	out := golden.Tensor{Shape: []int{cols, rows}, Data: make([]float64, len(g.Data))}
	for i := range rows {
		for j := range cols {
			out.Data[j*rows+i] = g.Data[i*cols+j]
		}
	}
	return out
}

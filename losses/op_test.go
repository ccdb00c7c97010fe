package losses_test

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
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

const (
	opRows, opDim, opClasses = 8, 12, 4
)

// opGraph is a loss on embeddings that are an input.
type opGraph struct {
	g    *layers.Graph
	in   *layers.Node
	node *losses.Node
	ps   *layers.Params
}

func newEngine(t *testing.T) engine.Engine {
	t.Helper()
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close() })
	return eng
}

// opOf builds and compiles a loss with its gradients. Parameters are those of ps.
func opOf(t *testing.T, ps *layers.Params, l losses.Loss, o losses.OpOptions) *opGraph {
	t.Helper()
	g := layers.NewGraph(ps.Engine(), ps)
	r := &opGraph{g: g, ps: ps, in: g.Input("embeddings", opRows, opDim)}
	g.NeedGrad(r.in)
	o.Classes, o.Seed, o.Raw = opClasses, 1, r.in
	var err error
	if r.node, err = losses.Op(g, l, r.in, o); err != nil {
		t.Fatal(err)
	}
	g.Backward(r.node.Loss, nil)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return r
}

// run evaluates a batch and returns the loss and the gradient of the embeddings.
func (r *opGraph) run(t *testing.T, x []float32, labels, items []int) (float64, []float32) {
	t.Helper()
	eng := r.g.Engine()
	for _, err := range []error{eng.Write(r.g.Value(r.in), x), r.node.SetLabels(labels), r.node.SetItems(items), r.g.Run()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := r.g.Scalar(r.node.Loss)
	if err != nil {
		t.Fatal(err)
	}
	return v, read(t, eng, r.g.Value(r.g.GradOf(r.in)))
}

func read(t *testing.T, eng engine.Engine, v engine.Tensor) []float32 {
	t.Helper()
	host := make([]float32, v.Size())
	if err := eng.Read(host, v); err != nil {
		t.Fatal(err)
	}
	return host
}

func drawRows(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n*opDim)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

var opLabels = []int{0, 0, 1, 1, 2, 2, 3, 3}

// Every parameter of every loss gets a gradient through the real graph that is
// not 0, so that one step of any optimizer changes it.
func TestEveryParameterOfEveryLossMovesInOneStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for _, m := range []metric.Metric{{Kind: metric.BRM, P: 2}, {Kind: metric.Cosine}, {Kind: metric.Euclidean}, {Kind: metric.Dot}, {Kind: metric.Poincare, Curvature: 0.1, Clip: 2.3}} {
		for _, name := range losses.Names() {
			if name == "avsl" {
				continue // of models with levels
			}
			for _, params := range append([]map[string]string{nil}, map[string][]map[string]string{
				"margin": {{"learn": "class"}}, "soft-triple": {{"centers": "2"}}, "arcface": {{"centers": "2"}},
			}[name]...) {
				t.Run(fmt.Sprintf("%v/%s%v", m, name, params), func(t *testing.T) {
					l, err := losses.New(name, losses.Options{Metric: m, Classes: opClasses, Dim: opDim, Params: params})
					if err != nil {
						t.Fatal(err)
					}
					eng := newEngine(t)
					r := opOf(t, layers.NewParams(eng, 1), l, losses.OpOptions{Metric: m})
					r.run(t, drawRows(rng, opRows), opLabels, nil)
					var slots []engine.Slot
					before := map[string][]float32{}
					for _, p := range r.ps.All() {
						if !p.Trainable() {
							continue
						}
						g := r.g.ParamGrad(p)
						if g == nil {
							t.Fatalf("%s has no gradient", p.Name)
						}
						before[p.Name] = read(t, eng, p.Value)
						slots = append(slots, engine.Slot{Param: p.Value, Grad: g, Rate: 1})
					}
					if fixed := l.Columns() == losses.Classes && before[losses.ClassRowsParam] == nil; fixed != (name == "triplet-bound" || name == "ibc") {
						t.Fatalf("trainable parameters: %v", slices.Sorted(maps.Keys(before)))
					}
					if len(slots) == 0 {
						return
					}
					if err := eng.SGD(slots, engine.SGDSpec{}); err != nil {
						t.Fatal(err)
					}
					for _, p := range r.ps.All() {
						if old := before[p.Name]; old != nil && slices.Equal(old, read(t, eng, p.Value)) {
							t.Errorf("%s has not moved", p.Name)
						}
					}
				})
			}
		}
	}
}

// With a memory a batch is compared with itself and with what the memory holds:
// the same loss and gradient as on all embeddings at once, with the older ones
// as constants and an older self left out.
func TestMemoryHoldsEarlierBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	m := metric.Metric{Kind: metric.BRM, P: 2}
	newLoss := func() losses.Loss {
		l, err := losses.New("contrastive", losses.Options{Metric: m, Params: map[string]string{"u": "0", "v": "0.9", "reduction": "mean"}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	eng := newEngine(t)
	const size = 12 // the first batch and half of the second stay
	r := opOf(t, layers.NewParams(eng, 1), newLoss(), losses.OpOptions{Metric: m, Memory: losses.MemoryOptions{Size: size, Start: 1}})
	var queue []float32
	var labels, items []int
	for step := range 6 {
		x, mine := drawRows(rng, opRows), rng.Perm(20)[:opRows]
		y := make([]int, opRows)
		for i, item := range mine {
			y[i] = item % opClasses
		}
		value, grad := r.run(t, x, y, mine)

		all := losses.Matrix{Rows: opRows, Cols: opRows + len(labels), SelfColumns: true, RowLabels: y, ColLabels: slices.Concat(y, labels),
			RowIDs: mine, ColIDs: slices.Concat(slices.Repeat([]int{-1}, opRows), items)}
		rows := slices.Concat(x, queue)
		for i := range opRows {
			for j := range all.Cols {
				all.V = append(all.V, m.Value(rows[i*opDim:][:opDim], rows[j*opDim:][:opDim]))
			}
		}
		dv := make([]float64, len(all.V))
		want, err := newLoss().Eval(&all, dv)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(value-want.Value) > 1e-6 || r.node.Result.Total != want.Total {
			t.Errorf("step %d: loss %v of %d pairs, want %v of %d", step, value, r.node.Result.Total, want.Value, want.Total)
		}
		dx := make([]float64, len(rows))
		for k, g := range dv {
			i, j := k/all.Cols*opDim, k%all.Cols*opDim
			m.Gradient(dx[i:i+opDim], dx[j:j+opDim], wide(rows[i:i+opDim]), wide(rows[j:j+opDim]), g)
		}
		for k, g := range grad {
			if math.Abs(float64(g)-dx[k]) > 1e-6 {
				t.Fatalf("step %d: gradient %d is %v, want %v", step, k, g, dx[k])
			}
		}
		if err := r.node.Remember(); err != nil {
			t.Fatal(err)
		}
		if step == 0 { // before Start
			continue
		}
		queue, labels, items = keep(append(queue, x...), size*opDim), keep(append(labels, y...), size), keep(append(items, mine...), size)
	}
	if len(labels) != size {
		t.Fatalf("%d embeddings are kept", len(labels))
	}
}

// keep returns the last n of x. The order of a queue means nothing to a loss.
func keep[T any](x []T, n int) []T { return slices.Clone(x[max(0, len(x)-n):]) }

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// An item of the batch whose older embedding is in the memory is no positive of
// itself: with nothing else of its class there is no pair.
func TestAnOlderSelfIsNoPositive(t *testing.T) {
	m := metric.Metric{Kind: metric.Euclidean}
	l, err := losses.New("contrastive", losses.Options{Metric: m, Params: map[string]string{"u": "0", "v": "0.001"}})
	if err != nil {
		t.Fatal(err)
	}
	r := opOf(t, layers.NewParams(newEngine(t), 1), l, losses.OpOptions{Metric: m, Memory: losses.MemoryOptions{Size: opRows}})
	rng := rand.New(rand.NewPCG(3, 9))
	alone := []int{0, 1, 2, 3, 4, 5, 6, 7}
	r.run(t, drawRows(rng, opRows), alone, alone)
	if err := r.node.Remember(); err != nil {
		t.Fatal(err)
	}
	value, grad := r.run(t, drawRows(rng, opRows), alone, alone)
	if value != 0 || slices.ContainsFunc(grad, func(g float32) bool { return g != 0 }) {
		t.Errorf("loss %v with gradient %v", value, grad)
	}
	others := []int{10, 11, 12, 13, 14, 15, 16, 17} // other items of the same classes
	if value, _ := r.run(t, drawRows(rng, opRows), alone, others); value == 0 {
		t.Error("other items of a class are no positives")
	}
}

// A graph built anew on saved parameters continues as the first one does.
func TestMemoryAndStatisticsGoOnFromTheirParameters(t *testing.T) {
	m := metric.Metric{Kind: metric.BRM, P: 2}
	eng := newEngine(t)
	build := func(ps *layers.Params) *opGraph {
		l, err := losses.New("margin", losses.Options{Metric: m})
		if err != nil {
			t.Fatal(err)
		}
		sec, err := losses.MakeTerm("sec", losses.Options{Params: map[string]string{"momentum": "0.5"}})
		if err != nil {
			t.Fatal(err)
		}
		mdr, err := losses.MakeTerm("mdr", losses.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return opOf(t, ps, l, losses.OpOptions{Metric: m, Memory: losses.MemoryOptions{Size: 16}, Terms: []losses.Term{sec, mdr}})
	}
	rng := rand.New(rand.NewPCG(4, 9))
	items := []int{0, 1, 2, 3, 4, 5, 6, 7}
	first := build(layers.NewParams(eng, 1))
	for range 3 {
		first.run(t, drawRows(rng, opRows), opLabels, items)
		if err := first.node.Remember(); err != nil {
			t.Fatal(err)
		}
	}
	saved := layers.NewParams(eng, 2)
	second := build(saved)
	for _, p := range first.ps.All() {
		if err := eng.Copy(saved.Get(p.Name).Value, p.Value); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		x := drawRows(rng, opRows)
		a, da := first.run(t, x, opLabels, items)
		b, db := second.run(t, x, opLabels, items)
		if a != b || !slices.Equal(da, db) {
			t.Fatalf("uninterrupted %v, resumed %v", a, b)
		}
		for _, r := range []*opGraph{first, second} {
			if err := r.node.Remember(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Terms add up: each one's value and gradient as it has alone, whatever else is
// there.
func TestTermsAddUp(t *testing.T) {
	m := metric.Metric{Kind: metric.BRM, P: 2}
	eng := newEngine(t)
	x := drawRows(rand.New(rand.NewPCG(5, 9)), opRows)
	evaluate := func(names ...string) (float64, []float32) {
		l, err := losses.New("npairs", losses.Options{Metric: m})
		if err != nil {
			t.Fatal(err)
		}
		var o losses.OpOptions
		o.Metric = m
		for _, name := range names {
			term, err := losses.MakeTerm(name, losses.Options{Metric: m, Classes: opClasses, Dim: opDim, Params: map[string]string{"weight": "0.25"}})
			if err != nil {
				t.Fatal(err)
			}
			o.Terms = append(o.Terms, term)
		}
		r := opOf(t, layers.NewParams(eng, 1), l, o)
		return r.run(t, x, opLabels, nil)
	}
	alone, gradAlone := evaluate()
	names := []string{"sec", "norm", "zero-mean", "mdr", "spread-out", "center", "soft-triple"}
	wantValue, wantGrad := alone, wide(gradAlone)
	for _, name := range names {
		v, g := evaluate(name)
		if v == alone {
			t.Errorf("term %s adds nothing", name)
		}
		wantValue += v - alone
		for k := range g {
			wantGrad[k] += float64(g[k]) - float64(gradAlone[k])
		}
	}
	v, g := evaluate(names...)
	if math.Abs(v-wantValue) > 1e-5*math.Abs(v) {
		t.Errorf("together %v, one by one %v", v, wantValue)
	}
	for k := range g {
		if math.Abs(float64(g[k])-wantGrad[k]) > 1e-5 {
			t.Fatalf("gradient %d: together %v, one by one %v", k, g[k], wantGrad[k])
		}
	}
}

func TestOpRefusesWhatCannotBe(t *testing.T) {
	m := metric.Metric{Kind: metric.Euclidean}
	orthogonality, err := losses.MakeTerm("orthogonality", losses.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss string
		o    losses.OpOptions
		want string
	}{
		{"proxy-anchor", losses.OpOptions{Memory: losses.MemoryOptions{Size: 100}}, "for losses on pairs"},
		{"contrastive", losses.OpOptions{Memory: losses.MemoryOptions{Size: 5}}, "smaller than the batch of 8"},
		{"contrastive", losses.OpOptions{Terms: []losses.Term{orthogonality}}, "weights of a linear layer"},
		{"contrastive", losses.OpOptions{Terms: []losses.Term{orthogonality, orthogonality}, Weights: new(layers.Node)}, "given twice"},
	} {
		l, err := losses.New(c.loss, losses.Options{Metric: m, Classes: opClasses})
		if err != nil {
			t.Fatal(err)
		}
		eng := newEngine(t)
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		c.o.Metric, c.o.Classes = m, opClasses
		in := g.Input("x", opRows, opDim)
		if c.o.Weights != nil {
			c.o.Weights = in
		}
		if _, err := losses.Op(g, l, in, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.loss, err, c.want)
		}
	}
}

// Losses that look between an anchor's columns say so before any step.
func TestLossesThatNeedTheBatchAlone(t *testing.T) {
	for name, want := range map[string]bool{"contrastive": false, "triplet": false, "npairs": false, "multi-similarity": false, "supcon": false,
		"lifted": true, "angular": true, "quadruplet": true, "pairwise-cross-entropy": true} {
		l, err := losses.New(name, losses.Options{Metric: metric.Metric{Kind: metric.Euclidean}})
		if err != nil {
			t.Fatal(err)
		}
		if got := losses.NeedsSquare(l); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The zero value of a loss works in a graph, with all that it owns, and gives what New
// gives.
func TestZeroValuesInAGraph(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	m := metric.Metric{Kind: metric.Cosine}
	x := drawRows(rng, opRows)
	for name, zero := range map[string]losses.Loss{
		"multi-similarity": &losses.MultiSimilarity{}, "proxy-anchor": &losses.ProxyAnchor{}, "soft-triple": &losses.SoftTriple{},
		"arcface": &losses.ArcFace{}, "normalized-softmax": &losses.NormalizedSoftmax{}, "triplet": &losses.Triplet{}, "triplet-bound": &losses.TripletBound{},
	} {
		byName, err := losses.New(name, losses.Options{Metric: m})
		if err != nil {
			t.Fatal(err)
		}
		want, _ := opOf(t, layers.NewParams(newEngine(t), 1), byName, losses.OpOptions{Metric: m}).run(t, x, opLabels, nil)
		got, _ := opOf(t, layers.NewParams(newEngine(t), 1), zero, losses.OpOptions{Metric: m}).run(t, x, opLabels, nil)
		if got != want {
			t.Errorf("%s: the zero value gives %v, New %v", name, got, want)
		}
	}
}

// What cannot stand in a graph is refused before it does, by field.
func TestOpNamesTheField(t *testing.T) {
	cosine := metric.Metric{Kind: metric.Cosine}
	for _, c := range []struct {
		loss losses.Loss
		o    losses.OpOptions
		want string
	}{
		{nil, losses.OpOptions{Metric: cosine}, "the loss of Op is nil"},
		{&losses.Triplet{}, losses.OpOptions{}, "OpOptions.Metric is not set"},
		{&losses.Triplet{}, losses.OpOptions{Metric: cosine, HostClasses: -1}, "OpOptions.HostClasses is -1"},
		{&losses.Triplet{}, losses.OpOptions{Metric: cosine, Memory: losses.MemoryOptions{Size: -1}}, "OpOptions.Memory"},
		{&losses.ProxyAnchor{}, losses.OpOptions{Metric: cosine}, "OpOptions.Classes is 0"},
		{&losses.Margin{}, losses.OpOptions{Metric: cosine}, "Beta is empty"},
		{&losses.SoftTriple{Centers: 1 << 40}, losses.OpOptions{Metric: cosine, Classes: 3}, "soft-triple: Lambda is 0"},
		{&losses.ArcFace{Scale: 1, Centers: 1 << 40}, losses.OpOptions{Metric: cosine, Classes: 3}, "Centers is 1099511627776"},
		{&losses.ProxyAnchor{}, losses.OpOptions{Metric: metric.Metric{Kind: metric.Euclidean}, Classes: 3}, "AsSimilarity"},
		{&losses.Triplet{}, losses.OpOptions{Metric: cosine, Terms: make([]losses.Term, 1)}, "Term.Name is empty"},
		{&losses.Triplet{}, losses.OpOptions{Metric: cosine, Terms: []losses.Term{{Name: "t"}}}, "one of Term.Rows, Term.Batch and Term.Loss"},
		{&losses.Triplet{}, losses.OpOptions{Metric: cosine, Terms: []losses.Term{{Name: "t", Loss: &losses.NTXent{}, Weight: math.NaN()}}}, "Term.Weight is NaN"},
		{&losses.Triplet{}, losses.OpOptions{Metric: cosine, Terms: []losses.Term{{Name: "t", Loss: &losses.NTXent{Temperature: -1}, Weight: 1}}}, "term t: losses: ntxent: Temperature is -1"},
	} {
		eng := newEngine(t)
		g := layers.NewGraph(eng, layers.NewParams(eng, 1))
		if _, err := losses.Op(g, c.loss, g.Input("embeddings", opRows, opDim), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T with %+v: %v, want %q in it", c.loss, c.o, err, c.want)
		}
		g.Close()
	}
}

// Parameters know the part that they belong to: rates, the warm-up and the model's
// file depend on it.
func TestParametersOfALossAreItsGroup(t *testing.T) {
	eng := newEngine(t)
	ps := layers.NewParams(eng, 1)
	g := layers.NewGraph(eng, ps)
	e := g.LinearModule("features", g.Input("x", 4, 3), 2)
	cosine := metric.Metric{Kind: metric.Cosine}
	term, err := losses.MakeTerm("center", losses.Options{Metric: cosine, Classes: 2, Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := losses.Op(g, &losses.Margin{Beta: []float64{1}, Learn: true}, e, losses.OpOptions{
		Metric: cosine, Classes: 2, Terms: []losses.Term{term}, Memory: losses.MemoryOptions{Size: 4},
	}); err != nil {
		t.Fatal(err)
	}
	g.LinearModule("more", e, 2)
	for _, p := range ps.All() {
		want := layers.Backbone
		if strings.HasPrefix(p.Name, losses.ParamPrefix) {
			want = layers.Loss
		}
		if p.Group != want {
			t.Errorf("%s belongs to the %v, want the %v", p.Name, p.Group, want)
		}
	}
	if ps.Get("loss.beta") == nil || ps.Get("loss.terms.center.proxies") == nil || ps.Get("loss.memory.rows") == nil {
		t.Error("a parameter of the loss is missing")
	}
}

package losses_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/cpu"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/metric"
)

// inRows are losses that are evaluated by rows, with their variants.
var inRows = map[string][]map[string]string{
	"contrastive":      {nil, {"pairs": "joint", "reduction": "mean"}, {"reduction": "anchor", "hinge": "plain"}},
	"triplet":          {nil, {"mining": "semihard"}, {"mining": "hard"}, {"smooth": "true", "reduction": "mean"}, {"reduction": "mean"}, {"reduction": "anchor"}},
	"multi-similarity": {nil, {"mining": "none"}},
	"supcon":           {nil},
	"npairs":           {nil},
}

// byRows is a loss of a batch as one rank computes it.
type byRows struct {
	value    float64
	result   losses.Result
	gradient []float32
}

// evaluateRows evaluates a loss in parts, of 0 rows for all of them, as one rank of c.
func evaluateRows(l losses.Loss, m metric.Metric, x []float32, labels []int, size int, c comm.Comm) (r byRows, err error) {
	eng, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		return r, err
	}
	defer eng.Close()
	g := layers.NewGraph(eng, layers.NewParams(eng, 1))
	defer g.Close()
	in := g.Input("embeddings", len(labels), opDim)
	g.NeedGrad(in)
	node, err := losses.Op(g, l, in, losses.OpOptions{Metric: m, Parts: losses.Parts{Size: size, Comm: c}})
	if err != nil {
		return r, err
	}
	g.Backward(node.Loss, nil)
	for _, step := range []func() error{
		g.Compile, func() error { return eng.Write(g.Value(in), x) }, func() error { return node.SetLabels(labels) }, g.Run, g.Run,
	} {
		if err := step(); err != nil {
			return r, err
		}
	}
	r.gradient = make([]float32, len(x))
	if err := eng.Read(r.gradient, g.Value(g.GradOf(in))); err != nil {
		return r, err
	}
	r.value, r.result = node.Result.Value, node.Result
	return r, nil
}

func newRowsLoss(t *testing.T, name string, m metric.Metric, params map[string]string) losses.Loss {
	t.Helper()
	l, err := losses.New(name, losses.Options{Metric: m, Classes: opClasses, Dim: opDim, Params: params})
	if err != nil {
		t.Fatal(err)
	}
	if !losses.ByRows(l, m.Similarity()) {
		t.Fatalf("%s%v on %v is not evaluated by rows", name, params, m)
	}
	return l
}

var rowMetrics = []metric.Metric{{Kind: metric.Euclidean}, {Kind: metric.Cosine}, {Kind: metric.BRM, P: 2, Omega: 1}}

// eachRowLoss calls f for every loss, variant and metric, with a batch of classes that are of
// several sizes, one of a single row.
func eachRowLoss(t *testing.T, f func(t *testing.T, name string, params map[string]string, m metric.Metric, x []float32, labels []int)) {
	rng := rand.New(rand.NewPCG(3, 5))
	for _, name := range slices.Sorted(maps.Keys(inRows)) {
		for _, params := range inRows[name] {
			for _, m := range rowMetrics {
				x := drawRows(rng, 16)
				for i := range x {
					x[i] *= .3
				}
				t.Run(fmt.Sprintf("%s%v/%v", name, params, m), func(t *testing.T) {
					f(t, name, params, m, x, []int{0, 1, 1, 0, 2, 0, 0, 1, 2, 2, 2, 1, 3, 0, 2, 1})
				})
			}
		}
	}
}

// One rank and several have the same bits for parts of one size, and for all sizes the loss
// and the gradient of a batch in one part.
func TestRanksTakeRowsOfALoss(t *testing.T) {
	eachRowLoss(t, func(t *testing.T, name string, params map[string]string, m metric.Metric, x []float32, labels []int) {
		whole, err := evaluateRows(newRowsLoss(t, name, m, params), m, x, labels, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if whole.result.Active == 0 {
			t.Fatal("nothing is active")
		}
		for _, size := range []int{1, 2, 4} {
			want, err := evaluateRows(newRowsLoss(t, name, m, params), m, x, labels, size, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want.result != whole.result { // values of rows are added in one order
				t.Errorf("parts of %d: %+v, want %+v", size, want.result, whole.result)
			}
			for i, g := range want.gradient {
				if d := math.Abs(float64(g - whole.gradient[i])); !(d <= 2e-6*(1+math.Abs(float64(g)))) {
					t.Fatalf("parts of %d: gradient %d is %v, of one part %v", size, i, g, whole.gradient[i])
				}
			}
			for _, ranks := range []int{2, 4, 8} {
				if comm.CheckParts(len(labels)/size, ranks) != nil {
					continue
				}
				loss := make([]losses.Loss, ranks)
				for r := range loss {
					loss[r] = newRowsLoss(t, name, m, params)
				}
				err := comm.Local(ranks, func(c comm.Comm) error {
					got, err := evaluateRows(loss[c.Rank()], m, x, labels, size, c)
					if err == nil && (got.value != want.value || got.result != want.result || !slices.Equal(got.gradient, want.gradient)) {
						err = fmt.Errorf("%+v, want %+v", got, want)
					}
					return err
				})
				if err != nil {
					t.Errorf("parts of %d, %d ranks: %v", size, ranks, err)
				}
			}
		}
	})
}

// The gradient that ranks compute together is that of the loss, by differences in directions
// that move one embedding each.
func TestTheGradientOfRanksIsThatOfTheLoss(t *testing.T) {
	const step = 4e-3
	eachRowLoss(t, func(t *testing.T, name string, params map[string]string, m metric.Metric, x []float32, labels []int) {
		if slices.Contains([]string{"nonzero", "anchor", ""}, params["reduction"]) && (name == "triplet" || name == "contrastive") || name == "multi-similarity" && params == nil {
			return // counts of pairs jump, and what is mined: the test above compares these with a batch in one part
		}
		valueOf := func(x []float32) (r byRows) {
			l := []losses.Loss{newRowsLoss(t, name, m, params), newRowsLoss(t, name, m, params), newRowsLoss(t, name, m, params), newRowsLoss(t, name, m, params)}
			err := comm.Local(4, func(c comm.Comm) error {
				own, err := evaluateRows(l[c.Rank()], m, x, labels, 2, c)
				if c.Rank() == 0 {
					r = own
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		at := valueOf(x)
		rng := rand.New(rand.NewPCG(8, 1))
		agree, largest := 0, 0.
		for row := range labels {
			above, below, slope := slices.Clone(x), slices.Clone(x), 0.
			for k := row * opDim; k < (row+1)*opDim; k++ {
				d := float32(step * rng.NormFloat64())
				above[k], below[k] = x[k]+d, x[k]-d
				slope += float64(at.gradient[k]) * float64(above[k]-below[k])
			}
			difference := valueOf(above).value - valueOf(below).value
			largest = max(largest, math.Abs(slope))
			if math.Abs(difference-slope) <= .02*math.Abs(slope)+2e-6 {
				agree++
			}
		}
		// A pair may pass its margin within a step.
		if agree < len(labels)-3 || largest < 3e-5 {
			t.Errorf("%d of %d differences agree with the gradient, the largest of which is %v", agree, len(labels), largest)
		}
	})
}

// What rows alone do not decide is evaluated as a whole.
func TestLossesThatAreNotByRows(t *testing.T) {
	for name, params := range map[string]map[string]string{
		"triplet": {"mining": "batch-hard"}, "npairs": {"pairs": "classic"}, "lifted": nil, "margin": nil, "proxy-anchor": nil,
	} {
		l, err := losses.New(name, losses.Options{Metric: rowMetrics[0], Classes: opClasses, Dim: opDim, Params: params})
		if err != nil {
			t.Fatal(err)
		}
		if losses.ByRows(l, false) {
			t.Errorf("%s%v is evaluated by rows", name, params)
		}
	}
	if !losses.ByRows(&losses.MultiSimilarity{}, true) {
		t.Error("the zero value of MultiSimilarity is not evaluated by rows")
	}
}

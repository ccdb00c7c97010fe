package rerank

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/golden"
	"github.com/vernier-ml/vernier/metric"
)

// clusters are n rows of h numbers around centers, with labels.
func clusters(n, classes, h int, spread float64, seed uint64) *eval.Embeddings {
	rng := rand.New(rand.NewPCG(seed, 1))
	centers := make([]float64, classes*h)
	for i := range centers {
		centers[i] = rng.NormFloat64()
	}
	e := &eval.Embeddings{X: make([]float32, n*h), N: n, H: h, Labels: make([]int, n)}
	for i := range n {
		e.Labels[i] = i % classes
		for j := range h {
			e.X[i*h+j] = float32(centers[i%classes*h+j] + spread*rng.NormFloat64())
		}
	}
	return e
}

func orderOf(t *testing.T, k KReciprocal, x *eval.Embeddings, m metric.Metric) *order {
	t.Helper()
	eng, done, err := eval.OrCPU(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	o, err := k.order(context.Background(), eng, x, x, m, eval.SearchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestGolden(t *testing.T) {
	golden.Walk(t, "rerank", func(t *testing.T, c *golden.Case) {
		rows := c.Inputs["x"]
		n := rows.Shape[0]
		x := &eval.Embeddings{N: n, H: rows.Shape[1], X: make([]float32, len(rows.Data)), Labels: c.Inputs["labels"].Ints()}
		for i, v := range rows.Data {
			x.X[i] = float32(v)
		}
		m, err := metric.Parse(c.Params.String("metric", ""))
		if err != nil {
			t.Fatal(err)
		}
		k := KReciprocal{c.Params.Int("k1", 0), c.Params.Int("k2", 0), c.Params.Float("lambda", 0)}
		o := orderOf(t, k, x, m)
		got := make([]float64, n*n)
		for q := range n {
			if err := o.distances(context.Background(), q, got[q*n:(q+1)*n]); err != nil {
				t.Fatal(err)
			}
		}
		golden.Close64(t, "distance", got, c.Outputs["distance"], c.Tolerance)
	})
}

// Rows of all metrics get distances from 0 to 1; a row is at its own place first.
func TestEveryMetric(t *testing.T) {
	x := clusters(40, 4, 6, .3, 2)
	for _, text := range []string{"brm", "brm:tanh,p=1", "euclidean", "sqeuclidean", "manhattan", "cosine", "dot", "snr", "poincare", "lorentz"} {
		m, err := metric.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o := orderOf(t, KReciprocal{8, 3, .3}, x, m)
		d := make([]float64, x.N)
		for q := range x.N {
			if err := o.distances(context.Background(), q, d); err != nil {
				t.Fatal(err)
			}
			for i, v := range d {
				if !(v >= -1e-12 && v <= 1) || i != q && m.Kind != metric.Dot && m.Kind != metric.SignalToNoise && v < d[q]-1e-12 {
					t.Fatalf("%s: row %d is %v from query %d, which is %v from itself", text, i, v, q, d[q])
				}
			}
		}
		for _, method := range []Method{KReciprocal{8, 3, .3}, QueryExpansion{5, 3}} {
			r, err := method.Retrieve(context.Background(), nil, x, x, m, eval.RetrievalOptions{SearchOptions: eval.SearchOptions{Self: eval.LeaveOneOut(x.N)}})
			if err != nil {
				t.Fatalf("%s, %v: %v", text, method, err)
			}
			if got := r.RecallAt(1); got < 90 && text != "dot" && text != "snr" {
				t.Errorf("%s, %v: Recall@1 %v", text, method, got)
			}
		}
	}
}

// Queries beside a gallery are neighbors of it as rows of one set are.
func TestAGalleryApart(t *testing.T) {
	x := clusters(50, 5, 4, .5, 3)
	m := metric.Metric{Kind: metric.Euclidean}
	queries, gallery := x.Select([]int{0, 1, 2, 3, 4}), x.Select(eval.LeaveOneOut(50)[5:])
	k := KReciprocal{10, 4, .3}
	whole := orderOf(t, k, x, m)
	eng, done, err := eval.OrCPU(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	apart, err := k.order(context.Background(), eng, queries, gallery, m, eval.SearchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, got := make([]float64, 50), make([]float64, 45)
	for q := range 5 {
		if err := whole.distances(context.Background(), q, want); err != nil {
			t.Fatal(err)
		}
		if err := apart.distances(context.Background(), q, got); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if math.Abs(v-want[5+i]) > 1e-12 {
				t.Fatalf("query %d, row %d: %v, within one set %v", q, i, v, want[5+i])
			}
		}
	}
	// Of one query among all as candidates the order is that of the distances.
	list, err := k.Nearest(context.Background(), nil, queries.Select([]int{2}), gallery, m, 45, eval.SearchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	index, d := list.Of(0)
	one, err := k.order(context.Background(), eng, queries.Select([]int{2}), gallery, m, eval.SearchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	by := make([]float64, 45)
	if err := one.distances(context.Background(), 0, by); err != nil {
		t.Fatal(err)
	}
	seen := map[int32]bool{}
	for n, i := range index {
		if n > 0 && by[i] < by[index[n-1]]-1e-9 || seen[i] {
			t.Errorf("place %d has row %d at %v, before it %v", n, i, by[i], by[index[max(n-1, 0)]])
		}
		seen[i] = true
		if want := m.Value(queries.Row(2), gallery.Row(int(i))); math.Abs(d[n]-want) > 1e-9 {
			t.Errorf("row %d is said to be %v away, is %v", i, d[n], want)
		}
	}
}

// The expanded query of cosines .8 and -.6, of which the second counts nothing.
func TestQueryExpansionByHand(t *testing.T) {
	gallery := &eval.Embeddings{X: []float32{.8, .6, -.6, .8}, N: 2, H: 2}
	got := make([]float32, 2)
	e := QueryExpansion{N: 2, Alpha: 2}
	e.mix(got, []float32{2, 0}, gallery, []int32{0, 1}, metric.Metric{Kind: metric.Cosine})
	// (2, 0) + .64 (.8, .6) = (2.512, .384), brought to length 2.
	by := 2 / math.Hypot(2.512, .384)
	if math.Abs(float64(got[0])-2.512*by) > 1e-6 || math.Abs(float64(got[1])-.384*by) > 1e-6 {
		t.Errorf("the expanded query is %v, want %v", got, []float64{2.512 * by, .384 * by})
	}
	// Of Euclidean distances 1 - d^2/2 is the cosine of unit rows.
	unit := []float32{1, 0}
	a, b := make([]float32, 2), make([]float32, 2)
	e.mix(a, unit, gallery, []int32{0, 1}, metric.Metric{Kind: metric.Cosine})
	e.mix(b, unit, gallery, []int32{0, 1}, metric.Metric{Kind: metric.Euclidean})
	for j := range a {
		if math.Abs(float64(a[j]-b[j])) > 1e-6 {
			t.Errorf("by cosines %v, by distances %v", a, b)
		}
	}
	// A weight of 1 whatever the similarity is the plain mean.
	(QueryExpansion{N: 1}).mix(a, unit, gallery, []int32{0}, metric.Metric{Kind: metric.Cosine})
	if by := 1 / math.Hypot(1.8, .6); math.Abs(float64(a[0])-1.8*by) > 1e-6 {
		t.Errorf("with alpha 0: %v", a)
	}
}

// By cosine neighbors are listed with 1 - s: weights are of s, and the distances that are
// returned are those of the plain search.
func TestQueryExpansionByCosineSearches(t *testing.T) {
	gallery := &eval.Embeddings{X: []float32{.8, .6, 0, 1, -.6, .8}, N: 3, H: 2}
	query := &eval.Embeddings{X: []float32{2, 0}, N: 1, H: 2}
	m := metric.Metric{Kind: metric.Cosine}
	e := QueryExpansion{N: 2, Alpha: 2}
	mixed, err := e.expand(context.Background(), eval.Engine(nil), query, gallery, m, eval.SearchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	by := 2 / math.Hypot(2.512, .384) // as above: the second neighbor, of cosine 0, counts nothing
	if math.Abs(float64(mixed.X[0])-2.512*by) > 1e-6 || math.Abs(float64(mixed.X[1])-.384*by) > 1e-6 {
		t.Errorf("the expanded query is %v, want %v", mixed.X, []float64{2.512 * by, .384 * by})
	}
	list, err := e.Nearest(context.Background(), nil, query, gallery, m, 3, eval.SearchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	index, d := list.Of(0)
	for n, want := range []float64{.2, 1, 1.6} {
		if int(index[n]) != n || math.Abs(d[n]-want) > 1e-6 {
			t.Errorf("place %d: row %d at %v, want row %d at %v", n, index[n], d[n], n, want)
		}
	}
}

// Two clusters that touch: what re-ranking is for.
func TestReRankingHelpsWhereClustersAreLong(t *testing.T) {
	x := &eval.Embeddings{N: 80, H: 2, X: make([]float32, 160), Labels: make([]int, 80)}
	for i := range 80 { // two parallel lines of 40 points, 0.15 apart by point, 1.5 by line
		x.X[2*i], x.X[2*i+1], x.Labels[i] = float32(i/2)*.15, float32(i%2)*1.5, i%2
	}
	m := metric.Metric{Kind: metric.Euclidean}
	opt := eval.RetrievalOptions{SearchOptions: eval.SearchOptions{Self: eval.LeaveOneOut(80)}}
	plain, err := eval.Retrieve(context.Background(), nil, x, x, m, opt)
	if err != nil {
		t.Fatal(err)
	}
	again, err := KReciprocal{12, 4, .1}.Retrieve(context.Background(), nil, x, x, m, opt)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := plain.Averages().MAP, again.Averages().MAP; !(b > a) {
		t.Errorf("MAP %v, re-ranked %v", a, b)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"k-reciprocal": "k-reciprocal:k1=20,k2=6,lambda=0.3", "k-reciprocal:k2=1, lambda=0": "k-reciprocal:k1=20,k2=1,lambda=0",
		"alpha-qe": "alpha-qe:n=10,alpha=3", "alpha-qe:alpha=0.5": "alpha-qe:n=10,alpha=0.5",
	} {
		m, err := Parse(text)
		if err != nil || m.String() != want {
			t.Errorf("%s: %v (%v), want %s", text, m, err, want)
			continue
		}
		if again, err := Parse(m.String()); err != nil || again != m {
			t.Errorf("%s is read as %v (%v)", m, again, err)
		}
	}
	for text, want := range map[string]string{
		"": "unknown re-ranking", "k-reciprocl": "k-reciprocal", "k-reciprocal:n=2": "no constant \"n\"", "k-reciprocal:k1=x": "want a number",
		"k-reciprocal:k1=0": "k1 is 0", "k-reciprocal:k2=30": "k2 is 30, want 1 to k1 + 1 = 21", "k-reciprocal:lambda=2": "lambda is 2", "k-reciprocal:lambda=NaN": "lambda is NaN",
		"alpha-qe:n=-1": "n is -1", "alpha-qe:alpha=-1": "alpha is -1", "alpha-qe:alpha=inf": "alpha is",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Rows that are all equal are all at one distance, and nothing is NaN.
func TestEqualRows(t *testing.T) {
	x := &eval.Embeddings{X: slices.Repeat([]float32{1, 2}, 10), N: 10, H: 2, Labels: []int{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}}
	for _, method := range []Method{KReciprocal{20, 6, .3}, QueryExpansion{10, 3}} {
		for _, text := range []string{"euclidean", "cosine", "brm"} {
			m, err := metric.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			r, err := method.Retrieve(context.Background(), nil, x, x, m, eval.RetrievalOptions{SearchOptions: eval.SearchOptions{Self: eval.LeaveOneOut(10)}})
			if err != nil || math.IsNaN(r.Averages().MAP) {
				t.Errorf("%v, %s: %v", method, text, err)
			}
		}
	}
}

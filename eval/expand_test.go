package eval

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// Every metric that has an expansion keeps within its bound, for pairs of rows, at
// the ends of the range as well.
func TestExpansionKeepsWithinItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	e := blobs(seeded(93), 6, 3, 8, 0.6)
	low, high := slices.Min(e.X), slices.Max(e.X)
	e.X = append(e.X, slices.Repeat([]float32{low, high}, 4)...)
	e.X = append(e.X, slices.Repeat([]float32{high, low}, 4)...)
	e.N, e.Labels = e.N+2, nil
	for _, c := range []struct {
		m   metric.Metric
		eps float64
	}{
		{metric.Metric{P: 2}, 0.03}, {metric.Metric{P: 2}, 1e-3}, {metric.Metric{P: 2}, 1e-5}, {metric.Metric{P: 2, Power: true}, 1e-3},
		{metric.Metric{Restriction: metric.TanH, P: 2}, 1e-3}, {metric.Metric{Restriction: metric.ISRU, Omega: 0.5, P: 2}, 1e-3},
		{metric.Metric{P: 1}, 0.02}, {metric.Metric{Restriction: metric.SoftSign, P: 1}, 0.04}, {metric.Metric{Restriction: metric.ArcTan, P: 1}, 0.04},
		{metric.Metric{Restriction: metric.TanH, P: 1}, 0.04}, {metric.Metric{Restriction: metric.ISRU, Omega: 2, P: 1}, 0.04},
	} {
		x, err := Expand(c.m, e, c.eps)
		if err != nil {
			t.Errorf("%v within %v: %v", c.m, c.eps, err)
			continue
		}
		t.Logf("%v within %v over %.2f: %d numbers a coordinate, bound %.3g", c.m, c.eps, x.Range, x.Dim/x.H, x.Bound)
		if x.Bound > c.eps || x.Dim != x.H*x.each() || slices.Min(x.Weight) <= 0 {
			t.Errorf("%v within %v: %+v", c.m, c.eps, x)
		}
		rows, err := x.Rows(e)
		fatal(t, err)
		o, err := newOrder(c.m)
		fatal(t, err)
		for i := range e.N {
			for j := range e.N {
				got, want := squaredDistance(rows.Row(i), rows.Row(j)), o.restricted(e.Row(i), e.Row(j))
				if miss := math.Abs(got - want); miss > x.Bound {
					t.Fatalf("%v within %v: rows %d and %d are %v apart, want %v (off by %.3g)", c.m, c.eps, i, j, got, want, miss)
				}
			}
		}
		one := *x // coordinate by coordinate, on a dense grid
		one.H = 1
		a := low + rng.Float32()*0.01
		for i := range 5000 {
			b := a + float32(float64(i)/4999*(x.Range-0.01))
			v := math.Pow(c.m.Restriction.Value(math.Abs(float64(a)-float64(b)), c.m.Omega), float64(c.m.P))
			got := squaredDistance(one.Row(nil, []float32{a}), one.Row(nil, []float32{b}))
			if miss := math.Abs(got - v); miss > x.Bound {
				t.Fatalf("%v within %v: at %v off by %.3g", c.m, c.eps, b-a, miss)
			}
		}
	}
}

func TestWhatHasNoExpansionIsRefused(t *testing.T) {
	e := blobs(seeded(94), 4, 3, 5, 0.6)
	for _, c := range []struct {
		m    metric.Metric
		e    *Embeddings
		eps  float64
		want string
	}{
		{metric.Metric{Restriction: metric.SoftSign, P: 2}, e, 0.1, "positive definite"},
		{metric.Metric{Restriction: metric.ArcTan, P: 2}, e, 0.1, "positive definite"},
		{metric.Metric{Kind: metric.Cosine}, e, 0.1, "no boundary-restricted metric"},
		{metric.Metric{P: 2}, e, 0, "more than 0"},
		{metric.Metric{P: 2}, e, 1, "less than 1"},
		{metric.Metric{P: 2}, e, math.NaN(), "more than 0"},
		{metric.Metric{P: 1}, e, 1e-6, "frequencies"},
		{metric.Metric{P: 2}, &Embeddings{X: []float32{1, 1}, N: 2, H: 1}, 0.1, "no range"},
	} {
		if _, err := Expand(c.m, c.e, c.eps); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v within %v: %v, want a message with %q", c.m, c.eps, err, c.want)
		}
	}
	x, err := Expand(metric.Metric{P: 2}, e, 0.01)
	fatal(t, err)
	if _, err := x.Rows(&Embeddings{X: make([]float32, 4), N: 1, H: 4}); err == nil {
		t.Error("rows of another width are expanded")
	}
}

// Neighbors by plain Euclidean distance of the expansion are those by BRM, where
// these are farther apart than twice the bound.
func TestEuclideanSearchOfTheExpansionIsBRM(t *testing.T) {
	eng := cpuEngine(t)
	e := blobs(seeded(95), 20, 6, 16, 0.7)
	m := metric.Metric{P: 2}
	x, err := Expand(m, e, 1e-4)
	fatal(t, err)
	rows, err := x.Rows(e)
	fatal(t, err)
	opt := SearchOptions{Self: LeaveOneOut(e.N)}
	plain, err := Neighbors(context.Background(), eng, rows, rows, metric.Metric{Kind: metric.SquaredEuclidean}, 20, opt)
	fatal(t, err)
	brm, err := Neighbors(context.Background(), eng, e, e, m, 20, opt)
	fatal(t, err)
	for q := range e.N {
		got, _ := plain.Of(q)
		want, distance := brm.Of(q)
		for i, row := range got {
			d, err := Distance(m, e.Row(q), e.Row(int(row)))
			fatal(t, err)
			if row != want[i] && math.Abs(d*d-distance[i]*distance[i]) > 2*x.Bound {
				t.Fatalf("query %d: neighbor %d is %d, by BRM %d, and no near tie", q, i, row, want[i])
			}
		}
	}
}

// An expansion comes back from its JSON, knows the rows that it was not made for, and is
// refused where its parts do not go together.
func TestExpansionsAreKept(t *testing.T) {
	e := blobs(seeded(91), 4, 10, 6, .5)
	x, err := Expand(metric.Metric{P: 2}, e, .05)
	fatal(t, err)
	text, err := json.Marshal(x)
	fatal(t, err)
	y, err := ParseExpansion(text)
	if err != nil || !reflect.DeepEqual(x, y) {
		t.Errorf("%+v, want %+v (%v)", y, x, err)
	}
	if n := y.Outside(e); n != 0 {
		t.Errorf("%d of its own rows are outside", n)
	}
	far := e.Select([]int{0, 1, 2})
	far.Row(1)[3] = x.Low[3] + float32(x.Range)*1.01
	if n := y.Outside(far); n != 1 {
		t.Errorf("%d rows are outside, want 1", n)
	}
	for _, c := range [][2]string{{`"dim":`, `"dim":9`}, {`"h":6`, `"h":7`}, {`"weight":[`, `"weight":[1,`}, {`"metric":"brm`, `"metric":"norm`}, {`"low":[`, `"low":[0,`}, {`"h":6`, `"h":6,"more":1`}} {
		if _, err := ParseExpansion([]byte(strings.Replace(string(text), c[0], c[1], 1))); err == nil {
			t.Errorf("%s for %s is taken", c[1], c[0])
		}
	}
}

package probe

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// around are n rows of each class around unit vectors of their own.
func around(classes, n, h int, spread float64) *eval.Embeddings {
	rng := rand.New(rand.NewPCG(1, 2))
	e := &eval.Embeddings{N: classes * n, H: h, X: make([]float32, classes*n*h)}
	for i := range e.N {
		e.Labels = append(e.Labels, 10*(i%classes))
		for j := range h {
			e.X[i*h+j] = float32(spread * rng.NormFloat64())
		}
		e.X[i*h+i%classes]++
	}
	return e
}

func TestDivideTakesTheShareOfEveryClass(t *testing.T) {
	labels := []int{4, 4, 4, 4, 9, 9, 9, 9, 9, 9, 1, 7, 7}
	bank, queries, err := Divide(labels, .5, 3)
	if err != nil {
		t.Fatal(err)
	}
	count := map[int][2]int{}
	for side, rows := range [][]int{bank, queries} {
		if !slices.IsSorted(rows) {
			t.Errorf("side %d does not ascend: %v", side, rows)
		}
		for _, i := range rows {
			n := count[labels[i]]
			n[side]++
			count[labels[i]] = n
		}
	}
	if want := map[int][2]int{4: {2, 2}, 9: {3, 3}, 7: {1, 1}}; !reflect.DeepEqual(count, want) {
		t.Errorf("rows of each class in the bank and asked about: %v, want %v; the class of one row is in neither", count, want)
	}
	again, _, _ := Divide(labels, .5, 3)
	other, _, _ := Divide(labels, .5, 4)
	if !slices.Equal(bank, again) || slices.Equal(bank, other) {
		t.Errorf("seed 3 gives %v, then %v; seed 4 gives %v", bank, again, other)
	}
	for _, bad := range []struct {
		labels []int
		share  float64
		want   string
	}{{labels, 1, "share of 1"}, {labels, math.NaN(), "NaN"}, {[]int{1, 1, 2}, .5, "1 class of two rows or more"}} {
		if _, _, err := Divide(bad.labels, bad.share, 1); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("share %v of %v: %v, want %q", bad.share, bad.labels, err, bad.want)
		}
	}
}

// One near row of a class stands against two of another farther off: by plain votes the two
// win, weighted the one does; of equal votes the nearest row counts.
func TestVotes(t *testing.T) {
	bank := &eval.Embeddings{N: 4, H: 2, X: []float32{1, .01, 0.9, 0.6, 0.6, 0.9, -1, 0}, Labels: []int{1, 2, 2, 3}}
	query := &eval.Embeddings{N: 1, H: 2, X: []float32{1, 0}, Labels: []int{1}}
	got, err := Neighbors(context.Background(), nil, bank, query, metric.Metric{Kind: metric.Cosine}, []int{1, 2, 3, 9}, eval.SearchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []eval.VoteFigures{{K: 1, Percent: 100, Weighted: 100}, {K: 2, Percent: 100, Weighted: 100}, {K: 3, Percent: 0, Weighted: 100}, {K: 9, Percent: 0, Weighted: 100}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestClassesApartAreAllRight(t *testing.T) {
	e := around(3, 20, 5, .05)
	f, err := Measure(context.Background(), nil, e, nil, metric.Metric{Kind: metric.Euclidean}, Options{Ks: []int{1, 20}, Linear: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if f.Bank != 30 || f.Queries != 30 || f.Classes != 3 {
		t.Errorf("a bank of %d, %d queries of %d classes; want 30, 30, 3", f.Bank, f.Queries, f.Classes)
	}
	for _, v := range f.Votes {
		if v.Percent != 100 || v.Weighted != 100 {
			t.Errorf("k = %d: %v", v.K, v)
		}
	}
	if f.Linear.Percent != 100 || !f.Linear.Converged {
		t.Errorf("%+v", *f.Linear)
	}
}

// A probe of labels that have nothing to do with the rows is at chance.
func TestLabelsAtRandomAreAtChance(t *testing.T) {
	e := around(1, 2000, 8, 1)
	for i := range e.Labels {
		e.Labels[i] = int(rand.New(rand.NewPCG(uint64(i), 5)).Uint64() % 4)
	}
	f, err := Measure(context.Background(), nil, e, nil, metric.Metric{Kind: metric.Euclidean}, Options{Ks: []int{1, 20}, Linear: true})
	if err != nil {
		t.Fatal(err)
	}
	const chance, three = 25, 4.2 // percent; three standard errors of 1,000 queries
	for _, got := range []float64{f.Votes[0].Percent, f.Votes[1].Percent, f.Votes[1].Weighted, f.Linear.Percent} {
		if math.Abs(got-chance) > three {
			t.Errorf("%v%% right, want %v within %v", got, chance, three)
		}
	}
}

// Collapsed rows tell nothing: alignment is perfect and uniformity at its worst.
func TestOnePoint(t *testing.T) {
	e := &eval.Embeddings{N: 8, H: 3, X: slices.Repeat([]float32{1, 2, 2}, 8), Labels: []int{0, 0, 0, 0, 1, 1, 1, 1}}
	f, err := Measure(context.Background(), nil, e, nil, metric.Metric{Kind: metric.Cosine}, Options{Ks: []int{1}, Linear: true})
	if err != nil {
		t.Fatal(err)
	}
	if *f.Alignment > 1e-12 || math.Abs(f.Uniformity) > 1e-12 {
		t.Errorf("alignment %v and uniformity %v, want 0 and 0", *f.Alignment, f.Uniformity)
	}
	if math.Abs(f.Linear.Loss-math.Ln2) > 1e-9 {
		t.Errorf("the loss of a classifier without information is %v, want log 2", f.Linear.Loss)
	}
}

// Random directions of many dimensions are nearly orthogonal: |x - y|^2 is 2, and
// uniformity -4 and a little.
func TestUniformityOfRandomDirections(t *testing.T) {
	e := around(1, sphereRows+500, 64, 1)
	for i := range e.N {
		e.X[i*e.H]-- // around the origin
	}
	_, got, err := Sphere(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	// log E exp(-4 (1 - s)) = -4 + log E exp(4s), and s has variance 1/64.
	if want := -4 + 16./2/64; math.Abs(got-want) > .01 {
		t.Errorf("uniformity %v, want %v", got, want)
	}
}

func TestGradientOfTheRegression(t *testing.T) {
	e := around(3, 4, 3, .5)
	class, distinct := eval.Compact(e.Labels)
	l := &Linear{}
	l.standardize(e)
	f := newRegression(l.inputs(e), class, len(distinct), .3)
	w, grad := make([]float64, 4*3), make([]float64, 4*3)
	for i := range w {
		w[i] = math.Sin(float64(i))
	}
	f.gradient(grad, w)
	const step = 1e-5
	for i, at := range w {
		w[i] = at + step
		above := f.value(w)
		w[i] = at - step
		below := f.value(w)
		w[i] = at
		if want := (above - below) / (2 * step); math.Abs(grad[i]-want) > 1e-9 {
			t.Errorf("weight %d: gradient %v, difference quotient %v", i, grad[i], want)
		}
	}
}

func TestWhatCannotBeMeasured(t *testing.T) {
	ctx, good := context.Background(), around(2, 4, 3, .1)
	none, one, long := *good, *good, *around(2, 4, 4, .1)
	none.Labels, one.Labels = nil, make([]int, good.N)
	euclidean := metric.Metric{Kind: metric.Euclidean}
	for name, c := range map[string]struct {
		err  func() error
		want string
	}{
		"no labels":      {func() error { _, err := Measure(ctx, nil, &none, nil, euclidean, Options{}); return err }, "no labels"},
		"bank unlabeled": {func() error { _, err := Measure(ctx, nil, good, &none, euclidean, Options{}); return err }, "the bank"},
		"other width":    {func() error { _, err := Measure(ctx, nil, &long, good, euclidean, Options{}); return err }, "rows of 3 numbers, queries of 4"},
		"no neighbors": {func() error {
			_, err := Neighbors(ctx, nil, good, good, euclidean, []int{0}, eval.SearchOptions{})
			return err
		}, "0 neighbors"},
		"one class":  {func() error { _, err := FitLinear(ctx, &one, LinearOptions{}); return err }, "one class"},
		"negative C": {func() error { _, err := FitLinear(ctx, good, LinearOptions{C: -1}); return err }, "C is -1"},
		"other width of the classifier": {func() error {
			l, err := FitLinear(ctx, good, LinearOptions{})
			if err != nil {
				return err
			}
			_, err = l.Classify(&long)
			return err
		}, "rows of 4 numbers for a classifier of rows of 3"},
	} {
		if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := FitLinear(ended, good, LinearOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the context has ended", err)
	}
}

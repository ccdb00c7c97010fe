package losses

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

func TestMatricesThatMeanNothingAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *Matrix, grad *[]float64)
		want   string
	}{
		{"values missing", func(m *Matrix, _ *[]float64) { m.V = m.V[1:] }, "8 values for a 3 x 3 matrix"},
		{"labels missing", func(m *Matrix, _ *[]float64) { m.RowLabels = m.RowLabels[1:] }, "2 labels for 3 rows"},
		{"column labels missing", func(m *Matrix, _ *[]float64) { m.ColLabels = nil }, "0 labels for 3 columns"},
		{"negative label", func(m *Matrix, _ *[]float64) { m.RowLabels[2], m.ColLabels[2] = -1, -1 }, "row 2 has label -1"},
		{"item with two labels", func(m *Matrix, _ *[]float64) { m.ColLabels[1] = 5 }, "row 1 has label 0"},
		{"short gradient", func(_ *Matrix, g *[]float64) { *g = (*g)[1:] }, "gradient has 8 values"},
		{"NaN", func(m *Matrix, _ *[]float64) { m.V[5] = math.NaN() }, "row 1, column 2"},
		{"infinity", func(m *Matrix, _ *[]float64) { m.V[7] = math.Inf(1) }, "row 2, column 1"},
		{"empty", func(m *Matrix, _ *[]float64) { *m = Matrix{} }, "0 rows and 0 columns"},
	} {
		m := &Matrix{Rows: 3, Cols: 3, V: make([]float64, 9), RowLabels: []int{0, 0, 1}, ColLabels: []int{0, 0, 1}, SelfColumns: true}
		grad := make([]float64, 9)
		c.change(m, &grad)
		_, err := (&Triplet{Margin: 1}).Eval(m, grad)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
		if finite := c.name != "NaN" && c.name != "infinity"; errors.Is(err, ErrNotFinite) == finite {
			t.Errorf("%s: ErrNotFinite is %v", c.name, !finite)
		}
	}
}

// Labels beyond the proxies (1..C given for 0..C-1, say) name label and classes.
func TestLabelWithoutProxyIsRefused(t *testing.T) {
	m := &Matrix{Rows: 2, Cols: 3, V: make([]float64, 6), RowLabels: []int{0, 3}, ColLabels: []int{0, 1, 2}, Similarity: true}
	_, err := (&ProxyAnchor{Alpha: 32}).Eval(m, make([]float64, 6))
	if err == nil || !strings.Contains(err.Error(), "row 1 has label 3") || !strings.Contains(err.Error(), "0..2") {
		t.Errorf("error %v does not name label 3 and classes 0..2", err)
	}
}

// Columns beyond the batch (a memory of earlier items) take part as positives
// and negatives; the item itself is left out by index only.
func TestColumnsBeyondTheBatchTakePart(t *testing.T) {
	m := &Matrix{
		Rows: 2, Cols: 4, RowLabels: []int{0, 1}, ColLabels: []int{0, 1, 0, 1}, SelfColumns: true,
		V: []float64{
			0, 0.9, 0.4, 0.2,
			0.9, 0, 0.3, 0.7,
		},
	}
	grad := make([]float64, 8)
	// Row 0: positive .4, negatives .9 and .2; row 1: positive .7, negatives .9
	// and .3. Margin .1: [.4-.2+.1]+ and [.7-.3+.1]+ are active, .3 and .5.
	r, err := (&Triplet{Margin: 0.1}).Eval(m, grad)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Value-0.4) > 1e-15 || r.Active != 2 || r.Total != 4 {
		t.Errorf("%+v, want value 0.4 of 2 among 4", r)
	}
	if want := []float64{0, 0, 0.5, -0.5, 0, 0, -0.5, 0.5}; !slices.Equal(grad, want) {
		t.Errorf("gradient %v, want %v", grad, want)
	}
	if _, err := (&Triplet{Margin: 0.1, Swap: true}).Eval(m, grad); err == nil {
		t.Error("swap needs values between columns, which such a matrix does not have")
	}
}

// The direction is the matrix's: minus a distance, called a similarity, gives
// the same loss and minus the gradient.
func TestSimilarityIsADistanceTheOtherWay(t *testing.T) {
	s := situations(euclidean)[0]
	flip := func(m *Matrix) *Matrix {
		f := *m
		f.Similarity = true
		f.V = slices.Clone(m.V)
		for k := range f.V {
			f.V[k] = -f.V[k]
		}
		return &f
	}
	batchOf, classesOf := batch(euclidean, s.x, s.labels), classes(euclidean, s.x, situations(euclidean)[1].x, s.labels, 1)
	for _, c := range []struct{ distance, similarity Loss }{
		{&Contrastive{U: 0.3, V: 0.9, Squared: true}, &Contrastive{U: -0.3, V: -0.9, Squared: true}},
		{&Triplet{Margin: 0.3}, &Triplet{Margin: 0.3}},
		{&Triplet{Margin: 0.3, Swap: true, Smooth: true}, &Triplet{Margin: 0.3, Swap: true, Smooth: true}},
		{&Triplet{Margin: 0.3, Miner: BatchHard{}}, &Triplet{Margin: 0.3, Miner: BatchHard{}}},
		{&NPairs{Temperature: 3}, &NPairs{Temperature: 3}},
		{&ProxyAnchor{Alpha: 3, PosMargin: 0.4, NegMargin: 0.8}, &ProxyAnchor{Alpha: 3, PosMargin: -0.4, NegMargin: -0.8}},
	} {
		m := batchOf
		if c.distance.Columns() == Classes {
			m = classesOf
		}
		a, b := make([]float64, len(m.V)), make([]float64, len(m.V))
		want, err := c.distance.Eval(m, a)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.similarity.Eval(flip(m), b)
		if err != nil {
			t.Fatal(err)
		}
		if want.Value == 0 || math.Abs(got.Value-want.Value) > 1e-14 || got.Active != want.Active {
			t.Errorf("%T: %+v as a distance, %+v as a similarity", c.distance, want, got)
		}
		for k := range a {
			if math.Abs(a[k]+b[k]) > 1e-14 {
				t.Errorf("%T: gradient %v and %v", c.distance, a[k], b[k])
			}
		}
	}
}

// An Eval after another one owes it nothing.
func TestLossesCanBeUsedAgainOnAnotherBatch(t *testing.T) {
	for _, m := range []metric.Metric{brm, {Kind: metric.Cosine}} {
		for _, name := range ofMatrices() {
			o := Options{Metric: m, Classes: 7, Dim: 4}
			used := mustNew(t, name, o)
			for _, s := range situations(m) {
				p := problemOf(used, m, s)
				got, want := make([]float64, len(p.x)), make([]float64, len(p.x))
				a := p.eval(t, p.x, got)
				b := problemOf(mustNew(t, name, o), m, s).eval(t, p.x, want)
				if a != b || !slices.Equal(got, want) {
					t.Errorf("%s on %v, %s: %+v when used before, %+v when new", name, m, s.name, a, b)
				}
			}
		}
	}
}

// Several columns a class where one is wanted, or incomplete groups of them.
func TestColumnsThatDoNotFitTheClassesAreRefused(t *testing.T) {
	for _, c := range []struct {
		loss   Loss
		labels []int
		want   string
	}{
		{&CosFace{Scale: 1}, []int{0, 1, 0}, "class 0 has columns 0 and 2"},
		{&ArcFace{Scale: 1, Centers: 2}, []int{0, 0, 1}, "3 columns are not a multiple of 2"},
		{&SoftTriple{Lambda: 1, Gamma: 1, Centers: 2}, []int{0, 1, 1, 0}, "column 1 stands for class 1"},
		{&SoftTriple{Lambda: 1, Gamma: 1, Centers: 2}, []int{0, 0, 0, 0}, "class 0 has columns 0 and 2"},
		{&ProxyAnchor{Alpha: 1}, []int{0, 9}, "column 1 stands for class 9"},
	} {
		n := len(c.labels)
		m := &Matrix{Rows: 1, Cols: n, V: make([]float64, n), RowLabels: []int{0}, ColLabels: c.labels, Similarity: true}
		if _, err := c.loss.Eval(m, make([]float64, n)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T on %v: %v, want %q in it", c.loss, c.labels, err, c.want)
		}
	}
}

// Losses whose constants mean a cosine, or a distance from 0, say so.
func TestWrongDirectionsAreRefused(t *testing.T) {
	s := situations(euclidean)[0]
	distance, similarity := batch(euclidean, s.x, s.labels), batch(dot, s.x, s.labels)
	for _, c := range []struct {
		loss Loss
		m    *Matrix
		want string
	}{
		{&Circle{Gamma: 1}, distance, "circle is written in similarities"},
		{&Angular{AlphaDegrees: 40}, distance, "angular is written in similarities"},
		{&Histogram{Bins: 4, High: 1}, distance, "histogram is written in similarities"},
		{&SpreadOut{Dim: 3}, distance, "spread-out is written in similarities"},
		{&MultiSimilarity{Alpha: 2, Beta: 40, Miner: MultiSimilarityMiner{Duplicate: 1e-5}}, distance, "Duplicate is a difference of similarities"},
		{&FastAP{Bins: 4, Max: 4}, similarity, "fastap is written in distances"},
		{&CosFace{Scale: 1}, similarity, "compares rows with classes"},
	} {
		if _, err := c.loss.Eval(c.m, make([]float64, len(c.m.V))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q in it", c.loss, err, c.want)
		}
	}
}

// A matrix whose sizes do not fit, or none at all, is an error of everything that takes
// one, and names the field.
func TestMatricesOfWrongSizesNameTheField(t *testing.T) {
	good := func(byClass bool) *Matrix { return randomMatrix(true, byClass, 1) }
	cases := []struct {
		change func(m *Matrix)
		want   string
	}{
		{func(m *Matrix) { *m = Matrix{} }, "Matrix.Rows"},
		{func(m *Matrix) { m.Rows = -1 }, "Matrix.Rows"},
		{func(m *Matrix) { m.Cols = 0 }, "Matrix.Cols"},
		{func(m *Matrix) { m.Rows, m.Cols = 1<<32, 1<<32 }, "Matrix.V"},
		{func(m *Matrix) { m.V = nil }, "Matrix.V has 0 values"},
		{func(m *Matrix) { m.RowLabels = nil }, "Matrix.RowLabels has 0 labels"},
		{func(m *Matrix) { m.ColLabels = nil }, "Matrix.ColLabels has 0 labels"},
		{func(m *Matrix) { m.RowLabels = append(slices.Clone(m.RowLabels), 1) }, "Matrix.RowLabels has 8 labels for 7 rows"},
		{func(m *Matrix) { m.RowLabels = []int{0, 0, 0, 0, 0, 0, -3} }, "Matrix.RowLabels"},
		{func(m *Matrix) { m.ColLabels = slices.Clone(m.ColLabels); m.ColLabels[1] = -3 }, "Matrix.ColLabels"},
		{func(m *Matrix) { m.RowIDs = make([]int, m.Rows) }, "Matrix.RowIDs and Matrix.ColIDs"},
		{func(m *Matrix) { m.ColIDs = []int{1} }, "Matrix.RowIDs and Matrix.ColIDs"},
	}
	for _, name := range ofMatrices() {
		l := mustNew(t, name, Options{Metric: metric.Metric{Kind: metric.Cosine}, Classes: 7, Dim: 4, Params: map[string]map[string]string{"soft-triple": {"centers": "1"}}[name]})
		for _, both := range []Loss{l, inner(l), zeroOf(inner(l))} {
			if _, err := both.Eval(nil, nil); err == nil || !strings.Contains(err.Error(), "nil") {
				t.Errorf("%s on no matrix: %v", name, err)
			}
		}
		for _, c := range cases {
			m := good(l.Columns() == Classes)
			grad := make([]float64, len(m.V))
			c.change(m)
			if _, err := l.Eval(m, grad); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q in it", name, err, c.want)
			}
		}
		m := good(l.Columns() == Classes)
		if _, err := l.Eval(m, nil); err == nil || !strings.Contains(err.Error(), "gradient has 0 values") {
			t.Errorf("%s without a gradient: %v", name, err)
		}
	}
	for _, miner := range []TripletMiner{BatchHard{}, NearestSemiHard{}, EasyHard{}, Window{}, Uniform{}, AngularMiner{}, AtMost{Miner: BatchHard{}, PerAnchor: 1}, DistanceWeighted{Dim: 4, Nearest: .5, Farthest: 1.4, Sphere: AsSphere(metric.Metric{Kind: metric.Cosine}, 1)}} {
		if err := miner.Mine(nil, &Triplets{}); err == nil || !strings.Contains(err.Error(), "the matrix is nil") {
			t.Errorf("%T on no matrix: %v", miner, err)
		}
		if err := miner.Mine(good(false), nil); err == nil || !strings.Contains(err.Error(), "list") {
			t.Errorf("%T without a list: %v", miner, err)
		}
		for _, c := range cases {
			m := good(false)
			c.change(m)
			if err := miner.Mine(m, &Triplets{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%T: %v, want %q in it", miner, err, c.want)
			}
		}
	}
	for _, miner := range []PairMiner{MultiSimilarityMiner{}, PairMargin{}} {
		if err := miner.Mine(nil, &Pairs{}); err == nil || !strings.Contains(err.Error(), "the matrix is nil") {
			t.Errorf("%T on no matrix: %v", miner, err)
		}
		if err := miner.Mine(good(false), nil); err == nil || !strings.Contains(err.Error(), "list") {
			t.Errorf("%T without a list: %v", miner, err)
		}
	}
	for _, x := range []struct{ rows, dim int }{{0, 3}, {3, 0}, {-1, -1}, {1 << 32, 1 << 32}} {
		if _, err := (ZeroMean{}).EvalRows(nil, x.rows, x.dim, nil); err == nil {
			t.Errorf("%d rows of %d without values: no error", x.rows, x.dim)
		}
	}
	if _, err := FixedClasses(&TripletBound{}, 1<<40, 1<<40, 1); err == nil {
		t.Error("2^80 numbers for centroids: no error")
	}
	if _, err := On(AsSimilarity(euclidean, 1), nil).Eval(good(false), nil); err == nil {
		t.Error("a view without a loss: no error")
	}
}

// A sum that overflows is an error, not infinity.
func TestValuesTooLargeForASumAreRefused(t *testing.T) {
	for _, name := range ofMatrices() {
		l := inner(mustNew(t, name, Options{Metric: metric.Metric{Kind: metric.Cosine}, Classes: 7, Dim: 4}))
		m := randomMatrix(true, l.Columns() == Classes, PerClass(l))
		for k := range m.V {
			m.V[k] = math.MaxFloat64 * float64(1-2*(k*k/3%2))
		}
		if slices.Contains([]string{"fastap", "lifted", "generalized-lifted"}, name) {
			m.Similarity = false
		}
		r, err := l.Eval(m, make([]float64, len(m.V)))
		if err == nil && r.Value-r.Value != 0 || err != nil && !errors.Is(err, ErrNotFinite) {
			t.Errorf("%s: %v, %v", name, r.Value, err)
		}
	}
}

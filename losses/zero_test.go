package losses

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// On a cosine the zero value of every loss is what New makes, to the last bit.
func TestZeroValuesAreTheDefaultsOnACosine(t *testing.T) {
	cosine := metric.Metric{Kind: metric.Cosine}
	needed := map[string]string{"margin": "Beta", "spread-out": "Dim"}
	infos, err := List(cosine, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Layered {
			continue
		}
		byName := mustNew(t, info.Name, Options{Metric: cosine, Classes: 7, Dim: 4})
		zero := zeroOf(inner(byName))
		if info.Name == "softmax" {
			continue // the zero value of its struct is normalized-softmax
		}
		if v, ok := byName.(*viewed); ok {
			zero = On(v.view, zero)
		}
		if w, ok := inner(zero).(written); ok && w.about().name != info.Name {
			t.Errorf("%s calls itself %s", info.Name, w.about().name)
		}
		for _, s := range situations(cosine) {
			p := problemOf(byName, cosine, s)
			got, want := make([]float64, len(p.x)), make([]float64, len(p.x))
			a := p.eval(t, p.x, want)
			if field := needed[info.Name]; field != "" {
				m := batch(cosine, s.x, s.labels)
				if _, err := zero.Eval(m, make([]float64, len(m.V))); err == nil || !strings.Contains(err.Error(), field+" is ") {
					t.Errorf("%s: %v, want a sentence on %s", info.Name, err, field)
				}
				continue
			}
			for use := range 2 { // the second has what the first left
				if b := problemOf(zero, cosine, s).eval(t, p.x, got); a != b || !slices.Equal(got, want) {
					t.Errorf("%s, %s, use %d: the zero value gives %+v, New %+v", info.Name, s.name, use, b, a)
				}
			}
		}
		if !reflect.DeepEqual(exported(inner(zero)), exported(zeroOf(inner(zero)))) {
			t.Errorf("%s: the zero value has set its own fields: %+v", info.Name, inner(zero))
		}
	}
}

// Without a view: matrices of cosines, and for losses in distances of 1 - cosine, of
// r or of their own values, those.
func TestZeroValuesOnPlainMatrices(t *testing.T) {
	cosine := metric.Metric{Kind: metric.Cosine}
	for _, name := range ofMatrices() {
		byName := mustNew(t, name, Options{Metric: cosine, Classes: 7, Dim: 4})
		zero := zeroOf(inner(byName))
		if name == "softmax" || name == "margin" || name == "spread-out" || name == "center" {
			continue // center moves by a constant
		}
		s := situations(cosine)[0]
		p := problemOf(byName, cosine, s)
		grad := make([]float64, len(p.x))
		want := p.eval(t, p.x, grad)
		m := batch(cosine, s.x, s.labels)
		if zero.Columns() == Classes {
			rows := rowsOf{p.x[len(s.x.x):], 7 * PerClass(zero), s.x.h}
			m = classes(cosine, s.x, rows, s.labels, PerClass(zero))
		}
		r, err := zero.Eval(m, make([]float64, len(m.V)))
		if err != nil {
			if !strings.Contains(err.Error(), "distances") || !slices.Contains([]string{"lifted", "generalized-lifted", "fastap"}, name) {
				t.Errorf("%s on cosines: %v", name, err)
			}
			continue
		}
		if math.Abs(r.Value-want.Value) > 1e-12 {
			t.Errorf("%s on cosines: %v, want %v", name, r.Value, want.Value)
		}
	}
	// Distances of unit vectors: what New makes for them.
	for _, name := range []string{"contrastive", "triplet", "quadruplet", "lifted", "generalized-lifted"} {
		byName := mustNew(t, name, Options{Metric: euclidean})
		s := situations(euclidean)[0]
		m := batch(euclidean, s.x, s.labels)
		want, err := byName.Eval(m, make([]float64, len(m.V)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := zeroOf(inner(byName)).Eval(m, make([]float64, len(m.V)))
		if err != nil || math.Abs(got.Value-want.Value) > 1e-12 {
			t.Errorf("%s on distances: %v, %v, want %v", name, got.Value, err, want.Value)
		}
	}
	for _, l := range []Loss{&ProxyAnchor{}, &MultiSimilarity{}, &Circle{}, &Angular{}, &Histogram{}, &SoftTriple{}} {
		m := randomMatrix(false, l.Columns() == Classes, 1)
		if _, err := l.Eval(m, make([]float64, len(m.V))); err == nil || !strings.Contains(err.Error(), "AsSimilarity") {
			t.Errorf("%T on distances: %v, want the view named", l, err)
		}
	}
}

// One set field makes all count, and the first that means nothing is named.
func TestFieldsThatMeanNothingAreNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		l    Loss
		want string
	}{
		{&MultiSimilarity{Beta: 40}, "losses: multi-similarity: Alpha is 0, want 0 < Alpha (the default is 2); once one field is set"},
		{&MultiSimilarity{Alpha: 2, Beta: nan}, "Beta is NaN, want 0 < Beta"},
		{&MultiSimilarity{Alpha: 2, Beta: 40, Miner: (*MultiSimilarityMiner)(nil)}, "Miner is a nil pointer"},
		{&MultiSimilarity{Alpha: 2, Beta: 40, Miner: MultiSimilarityMiner{Epsilon: -1}}, "multi-similarity miner: Epsilon is -1, want 0 <= Epsilon"},
		{&ProxyAnchor{PosMargin: .1}, "proxy-anchor: Alpha is 0, want 0 < Alpha (the default is 32)"},
		{&ProxyAnchor{Alpha: 1, NegMargin: -inf}, "NegMargin is -Inf, want a finite number"},
		{&NTXent{Temperature: -1}, "ntxent: Temperature is -1, want 0 < Temperature (the default is 0.07)"},
		{&SupCon{Temperature: 1e-300}, "Temperature is 1e-300, want at least 1e-30"},
		{&NPairs{Classic: true}, "npairs: Temperature is 0"},
		{&NPairs{Temperature: 1e300}, "Temperature is 1e+300, want at most 1e+30"},
		{&PairwiseCrossEntropy{FirstOnly: true}, "Temperature is 0"},
		{&NormalizedSoftmax{Temperature: inf}, "Temperature is +Inf"},
		{&CosFace{Margin: .3}, "cosface: Scale is 0, want 0 < Scale (the default is 64)"},
		{&ArcFace{Scale: 64, MarginDegrees: 180}, "MarginDegrees is 180, want 0 <= MarginDegrees < 180"},
		{&ArcFace{Scale: 64, Centers: -1}, "Centers is -1"},
		{&SoftTriple{Lambda: 20}, "soft-triple: Gamma is 0, want 0 < Gamma (the default is 0.1)"},
		{&SoftTriple{Lambda: 20, Gamma: .1, Centers: math.MaxInt}, "Centers is 9223372036854775807, want 0 <= Centers <= 1000"},
		{&Circle{M: .4}, "Gamma is 0, want 0 < Gamma (the default is 80)"},
		{&Angular{RawNegatives: true}, "AlphaDegrees is 0, want 0 < AlphaDegrees < 90 (the default is 40)"},
		{&Contrastive{U: 1, Reduction: 3}, "Reduction is 3, want one of MeanNonZero, MeanAll, PerAnchor"},
		{&Triplet{Margin: -1}, "triplet: Margin is -1, want 0 <= Margin (the default is 0.1)"},
		{&Triplet{Margin: 1, Reduction: 9}, "Reduction is 9"},
		{&Triplet{Margin: 1, Window: &Window{Above: 1}}, "window: UpTo is 0, want more than Above, 1"},
		{&Triplet{Miner: Uniform{Seed: 1}}, "uniform miner: PerAnchor is 0, want 1 <= PerAnchor <= 1000000 (the default is 1)"},
		{&Triplet{Miner: DistanceWeighted{}}, "distance-weighted miner: Dim is 0, want 2 <= Dim <= 2147483647"},
		{&Triplet{Miner: DistanceWeighted{Dim: 8}}, "Nearest is 0, want 0 < Nearest < 2 (the default is 0.5)"},
		{&Triplet{Miner: DistanceWeighted{Dim: 8, Nearest: .5, Farthest: 1.4}}, "Sphere is the zero View, on similarities, want AsSphere of the metric"},
		{&Triplet{Miner: AngularMiner{AboveDegrees: 20}}, "Squared is the zero View, on similarities, want AsSquared of the metric"},
		{&Triplet{Miner: AtMost{}}, "at-most miner: Miner is nil, want a miner to limit"},
		{&Triplet{Miner: AtMost{Miner: BatchHard{}}}, "at-most miner: PerAnchor is 0, want 1 <= PerAnchor"},
		{&Triplet{Miner: EasyHard{Positive: 7}}, "easy-hard miner: Positive is 7, want one of Hardest, Easiest, JustBeyond"},
		{&Quadruplet{Margin1: 1, Reduction: PerAnchor}, "quadruplet: Reduction is 2, want one of MeanNonZero, MeanAll"},
		{&Histogram{Bins: 10}, "High is 0, want more than Low, 0 (the default is 1)"},
		{&Histogram{Low: -1, High: 1}, "histogram: Bins is 0, want 1 <= Bins <= 100000 (the default is 100)"},
		{&SpreadOut{}, "spread-out: Dim is 0, want 1 <= Dim <= 2147483647"},
		{&Margin{}, "margin: Beta is empty, want one boundary, or one for each class"},
		{&Margin{Beta: []float64{1, nan}}, "margin: Beta[1] is NaN, want a finite number"},
		{&ProxyNCA{OthersOnly: true}, "proxy-nca: Scale is 0, want 0 < Scale (the default is 18)"},
		{&ProxyNCA{Scale: 1, Smoothing: 1}, "Smoothing is 1, want 0 <= Smoothing < 1"},
		{&NCA{Scale: -2}, "nca: Scale is -2, want 0 < Scale"},
		{&Lifted{PosMargin: 1, NegMargin: nan}, "lifted: NegMargin is NaN, want a finite number"},
		{&GeneralizedLifted{PosMargin: inf}, "generalized-lifted: PosMargin is +Inf, want a finite number"},
	} {
		m := randomMatrix(true, c.l.Columns() == Classes, 1)
		_, err := c.l.Eval(m, make([]float64, len(m.V)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q in it", c.l, err, c.want)
		}
		if w, ok := c.l.(written); ok && !strings.Contains(err.Error(), "miner") && !strings.Contains(err.Error(), "window") {
			if again := checkLoss(w, true); again == nil || again.Error() != err.Error() {
				t.Errorf("%T: before a matrix %v, on one %v", c.l, again, err)
			}
		}
	}
}

// On distances contrastive without margins would only pull.
func TestContrastiveWithoutMarginsIsRefused(t *testing.T) {
	m := randomMatrix(false, false, 1)
	_, err := (&Contrastive{Squared: true}).Eval(m, make([]float64, len(m.V)))
	if err == nil || !strings.Contains(err.Error(), "contrastive: V is 0, want 0 < U < V on distances: at 0 nothing pushes negative pairs (the default is 1.414)") {
		t.Errorf("%v", err)
	}
}

// Whatever stands in an exported field of a loss, a miner or a term gives an error or
// finite numbers. Every exported field is seen: none of them set alone leaves the
// paper's constants.
func TestAbsurdFieldsNeverPanicNorGiveNaN(t *testing.T) {
	var all []any
	for _, name := range ofMatrices() {
		for _, m := range []metric.Metric{{Kind: metric.Cosine}, euclidean} {
			all = append(all, inner(mustNew(t, name, Options{Metric: m, Classes: 3, Dim: 4})))
		}
	}
	for _, info := range ListTerms() {
		term, err := NewTerm(info.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, term)
	}
	all = append(all, BatchHard{}, NearestSemiHard{}, EasyHard{}, SemiHard(.2), Uniform{PerAnchor: 2}, AtMost{Miner: BatchHard{}, PerAnchor: 1},
		AngularMiner{AboveDegrees: 20}, DistanceWeighted{Dim: 4, Nearest: .5, Farthest: 1.4}, MultiSimilarityMiner{Epsilon: .1}, PairMargin{.2, .8})
	for _, x := range all {
		typ := reflect.TypeOf(x)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		for i := range typ.NumField() {
			if !typ.Field(i).IsExported() {
				continue
			}
			for _, start := range []any{x, reflect.Zero(typ).Interface()} {
				for _, value := range absurd(typ.Field(i).Type) {
					v := reflect.New(typ)
					set(v.Elem(), reflect.Indirect(reflect.ValueOf(start)))
					v.Elem().Field(i).Set(value)
					what := fmt.Sprintf("%v with %s = %v", typ, typ.Field(i).Name, value)
					if p, ok := v.Interface().(parameters); ok && !value.IsZero() {
						f := fields{}
						if p.fields(&f); !f.set {
							t.Errorf("%s: the field is not seen", what)
						}
					}
					use(t, what, v.Interface())
				}
			}
		}
	}
}

// use evaluates a loss, a miner or a term on small matrices of both directions.
func use(t *testing.T, what string, x any) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v", what, r)
		}
	}()
	for _, similarity := range []bool{true, false} {
		m := randomMatrix(similarity, false, 1)
		var value float64
		var err error
		grad := make([]float64, len(m.V))
		switch x := x.(type) {
		case Loss:
			m = randomMatrix(similarity, x.Columns() == Classes, min(max(PerClass(x), 1), 10))
			grad = make([]float64, len(m.V))
			var r Result
			r, err = x.Eval(m, grad)
			value = r.Value
			NeedsSquare(x)
			engineForm(x, similarity)
			if term := ClassTerm(x); term != nil {
				own := &Matrix{Rows: m.Cols, Cols: PerClass(x), V: make([]float64, m.Cols*PerClass(x)), RowLabels: m.ColLabels, Similarity: similarity}
				r, termErr := term.Eval(own, make([]float64, len(own.V)))
				if termErr == nil && r.Value-r.Value != 0 {
					t.Errorf("%s: the class term is %v", what, r.Value)
				}
			}
		case TripletMiner:
			err = x.Mine(m, &Triplets{})
			_, onLoss := (&Triplet{Margin: .1, Miner: x}).Eval(m, grad)
			if (err == nil) != (onLoss == nil) {
				t.Errorf("%s: the miner says %v, the loss %v", what, err, onLoss)
			}
		case PairMiner:
			err = x.Mine(m, &Pairs{})
		case RowTerm:
			value, err = x.EvalRows(m.V, m.Rows, m.Cols, grad)
		default:
			t.Fatalf("%T is no loss, miner or term", x)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "losses: ") {
				t.Errorf("%s: the error is %v", what, err)
			}
			continue
		}
		if value-value != 0 || slices.ContainsFunc(grad, func(g float64) bool { return g-g != 0 }) {
			t.Errorf("%s: value %v, gradient %v", what, value, grad)
		}
	}
}

// absurd is what a caller may put into a field.
func absurd(t reflect.Type) []reflect.Value {
	var list []any
	switch t.Kind() {
	case reflect.Float64:
		list = []any{0., math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), -1., 1e9, -1e9, 1e30, -1e30, 1e-30, 1e300, -1e300, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300, 90., 180., 1., 2.}
	case reflect.Int:
		list = []any{0, -1, 1, 2, 3, 1 << 20, 1 << 40, math.MaxInt, math.MinInt}
	case reflect.Bool:
		list = []any{true, false}
	case reflect.Uint8:
		list = []any{0, 1, 2, 3, 255}
	case reflect.Uint64:
		list = []any{uint64(0), uint64(math.MaxUint64)}
	case reflect.Slice:
		list = []any{[]float64(nil), []float64{}, []float64{math.NaN()}, []float64{1, math.Inf(1)}, []float64{0}, []float64{1e300}, []float64{1, 1, 1}, []float64{1, 1}}
	case reflect.Pointer:
		list = []any{(*Window)(nil), &Window{}, &Window{math.NaN(), 1}, &Window{1, 0}, &Window{math.Inf(-1), math.Inf(1)}, &Window{math.Inf(1), math.Inf(-1)}}
	case reflect.Interface:
		if t == reflect.TypeFor[TripletMiner]() {
			list = []any{BatchHard{}, (*BatchHard)(nil), wildMiner{}, Uniform{}, DistanceWeighted{}, AtMost{}, AngularMiner{}, EasyHard{Positive: 200}}
		} else {
			list = []any{MultiSimilarityMiner{}, (*MultiSimilarityMiner)(nil), wildPairs{}, PairMargin{}, PairMargin{math.NaN(), 0}}
		}
	case reflect.Struct:
		cosine := metric.Metric{Kind: metric.Cosine}
		list = []any{View{}, AsSquared(cosine, 1), AsSimilarity(cosine, 1), AsSphere(cosine, 1), AsSquared(cosine, 1e-300), AsSphere(metric.Metric{Kind: metric.Euclidean}, 0), AsSquared(metric.Metric{}, math.NaN())}
	default:
		panic(fmt.Sprintf("no values for a field of type %v", t))
	}
	values := make([]reflect.Value, len(list))
	for i, x := range list {
		v := reflect.ValueOf(x)
		if v.Type() != t && v.CanConvert(t) {
			v = v.Convert(t)
		}
		values[i] = v
	}
	return values
}

// wildMiner and wildPairs return what a miner must not.
type wildMiner struct{}

func (wildMiner) Mine(_ *Matrix, out *Triplets) error {
	*out = Triplets{Anchor: []int{0, 99}, Positive: []int{1, -1}, Negative: []int{2, 3}}
	return nil
}

type wildPairs struct{}

func (wildPairs) Mine(_ *Matrix, out *Pairs) error {
	*out = Pairs{PosAnchor: []int{3, 0}, Positive: []int{1, 1}}
	return nil
}

// set copies the exported fields.
func set(to, from reflect.Value) {
	for i := range to.NumField() {
		if to.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// zeroOf is a new zero value of a loss's struct.
func zeroOf(l Loss) Loss { return reflect.New(reflect.TypeOf(l).Elem()).Interface().(Loss) }

// exported is a copy of a loss with its exported fields only.
func exported(l Loss) any {
	v := reflect.New(reflect.TypeOf(l).Elem())
	set(v.Elem(), reflect.ValueOf(l).Elem())
	return v.Interface()
}

// randomMatrix is a batch of two classes, or one with three classes of several rows.
func randomMatrix(similarity, byClass bool, per int) *Matrix {
	kind := metric.Euclidean
	if similarity {
		kind = metric.Cosine
	}
	m := metric.Metric{Kind: kind}
	s := situations(m)[0]
	if !byClass {
		return batch(m, s.x, s.labels)
	}
	rows := rowsOf{make([]float64, 3*per*s.x.h), 3 * per, s.x.h}
	for k := range rows.x {
		rows.x[k] = math.Sin(float64(1 + k*k))
	}
	return classes(m, s.x, rows.normalized(), s.labels, per)
}

// The zero values of miners are those of their papers, and of terms those of NewTerm.
func TestZeroValuesOfMinersAndTerms(t *testing.T) {
	for _, similarity := range []bool{true, false} {
		m := randomMatrix(similarity, false, 1)
		margin, o := math.Sqrt2/10, unitVectors(similarity)
		if similarity {
			margin = .1
		}
		for _, c := range []struct{ zero, want TripletMiner }{
			{Window{}, SemiHard(mustNew(t, "triplet", o).(*Triplet).Margin)},
			{Window{}, SemiHard(margin)},
			{Uniform{}, Uniform{PerAnchor: 1}},
			{AngularMiner{}, AngularMiner{AboveDegrees: 20, Squared: AsSquared(o.Metric, 1)}},
			{EasyHard{}, BatchHard{}},
		} {
			var got, want Triplets
			if err := errors.Join(c.zero.Mine(m, &got), c.want.Mine(m, &want)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%T: %v, %v, want %v", c.zero, got, err, want)
			}
		}
		c := mustNew(t, "contrastive", o).(*Contrastive)
		var got, want Pairs
		if err := errors.Join(PairMargin{}.Mine(m, &got), PairMargin{PosMargin: c.U, NegMargin: c.V}.Mine(m, &want)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("pair margin: %v, %v, want %v", got, err, want)
		}
	}
	m := randomMatrix(true, false, 1)
	var got, want Pairs
	if err := errors.Join(MultiSimilarityMiner{}.Mine(m, &got), MultiSimilarityMiner{Epsilon: .1, Duplicate: 1e-5}.Mine(m, &want)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("multi-similarity miner: %v, %v, want %v", got, err, want)
	}
	for name, zero := range map[string]RowTerm{"sec": &SEC{}, "mdr": &MDR{}, "zero-mean": ZeroMean{}, "orthogonality": Orthogonality{}} {
		byName, err := NewTerm(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := make([]float64, len(m.V)), make([]float64, len(m.V))
		x, errX := byName.EvalRows(m.V, m.Rows, m.Cols, a)
		y, errY := zero.EvalRows(m.V, m.Rows, m.Cols, b)
		if errX != nil || errY != nil || x != y || x == 0 || !slices.Equal(a, b) {
			t.Errorf("%s: %v, %v; by name %v, %v", name, y, errY, x, errX)
		}
	}
}

// What a name and its settings ask for is meant, zeros too.
func TestZerosThatWereAskedForStayZeros(t *testing.T) {
	m := randomMatrix(true, false, 1)
	for _, info := range ListTerms() {
		params := map[string]string{"weight": "0"}
		if info.Name == "mdr" {
			params["nu"] = "0"
		}
		term, err := NewTerm(info.Name, params)
		if err != nil {
			t.Fatal(err)
		}
		if value, err := term.EvalRows(m.V, m.Rows, m.Cols, make([]float64, len(m.V))); err != nil || value != 0 {
			t.Errorf("%s of weight 0 is %v, %v", info.Name, value, err)
		}
	}
	l := mustNew(t, "multi-similarity", Options{Metric: metric.Metric{Kind: metric.Cosine}, Params: map[string]string{"epsilon": "0", "duplicates": "keep"}})
	var got, paper Pairs
	if err := errors.Join(inner(l).(*MultiSimilarity).Miner.Mine(m, &got), MultiSimilarityMiner{}.Mine(m, &paper)); err != nil || len(got.PosAnchor) >= len(paper.PosAnchor) && len(got.NegAnchor) >= len(paper.NegAnchor) {
		t.Errorf("without slack %v, %v, with the paper's %v", got, err, paper)
	}
}

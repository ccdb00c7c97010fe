package losses

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

// logRatio is a loss as a program outside writes it: the squared difference of each
// positive value to each negative one less a margin, without looking at margins that
// hold.
type logRatio struct {
	Margin float64
	Miner  PairMiner
	next   *logRatio
	Next   *logRatio
}

func (*logRatio) Columns() Columns { return Batch }

func (l *logRatio) Eval(m *Matrix, grad []float64) (Result, error) {
	clear(grad)
	var r Result
	for i, label := range m.RowLabels {
		for p, other := range m.ColLabels {
			if other != label || m.Self(i, p) {
				continue
			}
			for n, third := range m.ColLabels {
				if third == label {
					continue
				}
				r.Total++
				x := m.Away()*(m.V[i*m.Cols+p]-m.V[i*m.Cols+n]) + l.Margin
				if x <= 0 {
					continue
				}
				r.Active++
				r.Value += x * x
				grad[i*m.Cols+p] += 2 * x * m.Away()
				grad[i*m.Cols+n] -= 2 * x * m.Away()
			}
		}
	}
	return r, nil
}

func register(t *testing.T, name string, make func(Options) (Loss, error)) {
	t.Helper()
	Register(name, make)
	t.Cleanup(func() { registered.Remove(name) })
}

func TestARegisteredLossIsFoundByItsName(t *testing.T) {
	cosine := Options{Metric: metric.Metric{Kind: metric.Cosine}, Params: map[string]string{"a": "1"}}
	var got Options
	register(t, "log-ratio", func(o Options) (Loss, error) {
		got = o
		return On(AsSimilarity(o.Metric, o.Scale), &logRatio{Margin: .25, Miner: MultiSimilarityMiner{Epsilon: .5}}), nil
	})
	l, err := New("log-ratio", cosine)
	if err != nil {
		t.Fatal(err)
	}
	if got.Scale != 1 || got.Params["a"] != "1" || got.Metric != cosine.Metric {
		t.Errorf("made with %+v", got)
	}
	if err := CheckGradient(l, randomMatrix(true, false, 1)); err != nil {
		t.Error(err)
	}
	again, err := New("log-ratio", cosine)
	if err != nil || again == l {
		t.Errorf("the second is the first, %v", err)
	}
	if names := Names(); names[len(names)-1] != "log-ratio" {
		t.Errorf("names %q", names)
	}
	infos, err := List(cosine.Metric, 1)
	if last := infos[len(infos)-1]; err != nil || last.Name != "log-ratio" || last.Columns != Batch {
		t.Errorf("listed as %+v, %v", last, err)
	}
	term, err := MakeTerm("log-ratio", Options{Metric: cosine.Metric, Params: map[string]string{"weight": "0.5"}})
	if err != nil || term.Weight != .5 || inner(term.Loss).(*logRatio).Margin != .25 {
		t.Errorf("as a term %+v, %v", term, err)
	}
	all, err := Effective("log-ratio", cosine)
	want := map[string]string{"type": "losses.logRatio", "Margin": "0.25", "Miner": "losses.MultiSimilarityMiner{Epsilon: 0.5}"}
	if err != nil || !maps.Equal(all, want) {
		t.Errorf("effective %q, %v, want %q", all, err, want)
	}
}

func TestFieldsOfALossAreTextThatDoesNotChange(t *testing.T) {
	l := &logRatio{Margin: math.Inf(1)}
	l.Next, l.next = l, l
	register(t, "circle-of-pointers", func(Options) (Loss, error) { return l, nil })
	a, err := Effective("circle-of-pointers", Options{Metric: metric.Metric{Kind: metric.Cosine}})
	if err != nil || a["Margin"] != "+Inf" || strings.Contains(a["Next"], "0x") || !strings.HasSuffix(a["Next"], "...}}}}") {
		t.Errorf("%q, %v", a, err)
	}
}

func TestWhatARegisteredLossDoesWrongIsSaid(t *testing.T) {
	cosine := Options{Metric: metric.Metric{Kind: metric.Cosine}}
	none := func(Options) (Loss, error) { return (*logRatio)(nil), nil }
	register(t, "none", none)
	register(t, "fails", func(Options) (Loss, error) { return nil, errors.New("it wants a margin") })
	register(t, "absurd", func(Options) (Loss, error) { return &Triplet{Margin: -1}, nil })
	for name, want := range map[string]string{
		"none":    "loss none on cosine: the function that was registered returned no loss",
		"fails":   "loss fails on cosine: it wants a margin",
		"absurd":  "loss absurd on cosine: losses: triplet: Margin is -1",
		"unknown": `unknown loss "unknown", want one of contrastive`,
	} {
		if _, err := New(name, cosine); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", name, err, want)
		}
	}
	for name, make := range map[string]func(Options) (Loss, error){"triplet": none, "sec": none, "none": none, "x": nil} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "losses.Register: ") {
					t.Errorf("%q: %v", name, r)
				}
			}()
			Register(name, make)
		}()
	}
}

func TestCheckGradientKnowsRightFromWrong(t *testing.T) {
	m := randomMatrix(false, false, 1)
	for _, l := range []Loss{&logRatio{Margin: .2}, &NPairs{Temperature: 1}} {
		if err := CheckGradient(l, m); err != nil {
			t.Errorf("%T: %v", l, err)
		}
	}
	for _, l := range []Loss{doubled{&logRatio{Margin: .2}}, forgetful{}} {
		if err := CheckGradient(l, m); err == nil || !strings.Contains(err.Error(), "the gradient is") {
			t.Errorf("%T: %v", l, err)
		}
	}
	if err := CheckGradient(&logRatio{}, nil); err == nil {
		t.Error("no matrix is right")
	}
	if slices.ContainsFunc(m.V, math.IsNaN) {
		t.Error("the matrix was changed")
	}
}

// doubled has twice the gradient.
type doubled struct{ Loss }

func (l doubled) Eval(m *Matrix, grad []float64) (Result, error) {
	r, err := l.Loss.Eval(m, grad)
	scale(grad, 2)
	return r, err
}

// forgetful does not write its gradient.
type forgetful struct{}

func (forgetful) Columns() Columns                        { return Batch }
func (forgetful) Eval(*Matrix, []float64) (Result, error) { return Result{Value: 1}, nil }

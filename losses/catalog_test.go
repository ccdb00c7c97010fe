package losses

import (
	"math"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/metric"
)

var brm = metric.Metric{Kind: metric.BRM, P: 2}

// Defaults on BRM (sigmoid, p = 2): D0 = .523 at c = 1 and .721 at c = 2, so
// contrastive ends at g(c/2) and D0, the triplet margin is D0/10,
// N-pairs multiplies D^2 by 16/D0^2 = 58.5 and 30.8, proxy-anchor sees
// 1 - D^2/.273 and 1 - D^2/.519 (quadrature done once in another program).
func TestDefaultsFollowTheScaleOfTheMetric(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.005*want {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	for _, c := range []struct{ scale, u, v, tau, temperature, square float64 }{
		{1, .2363, .523, .0523, 58.5, .273},
		{2, .4166, .721, .0721, 30.8, .519},
	} {
		o := Options{Metric: brm, Scale: c.scale}
		contrastive := mustNew(t, "contrastive", o).(*Contrastive)
		near("u", contrastive.U, c.u)
		near("v", contrastive.V, c.v)
		near("triplet margin", mustNew(t, "triplet", o).(*Triplet).Margin, c.tau)
		npairs := mustNew(t, "npairs", o).(*viewed)
		near("temperature on D^2", npairs.loss.(*NPairs).Temperature*npairs.view.Value(1), c.temperature)
		anchor := mustNew(t, "proxy-anchor", o).(*viewed)
		near("square of D0", 1/(1-anchor.view.Value(1)), c.square)
	}
}

// On unit rows Euclidean distance, its square and the cosine say the same, so
// a loss behind a view must be the same number for all three.
func TestViewsMakeMetricsOfUnitRowsAgree(t *testing.T) {
	for _, name := range []string{"npairs", "proxy-anchor"} {
		var want float64
		for i, m := range []metric.Metric{{Kind: metric.Cosine}, {Kind: metric.Euclidean}, {Kind: metric.SquaredEuclidean}, {Kind: metric.Dot}} {
			s := situations(m)[0]
			s.x = situations(metric.Metric{Kind: metric.Cosine})[0].x
			l := mustNew(t, name, Options{Metric: m})
			p := problemOf(l, m, s)
			for j := len(s.x.x); j < len(p.x); j += s.x.h { // proxies of unit length
				norm := length(p.x[j : j+s.x.h])
				for k := range s.x.h {
					p.x[j+k] /= norm
				}
			}
			got := p.eval(t, p.x, make([]float64, len(p.x))).Value
			if i == 0 {
				want = got
			} else if math.Abs(got-want) > 1e-12*want {
				t.Errorf("%s on %v: %v, on cosine %v", name, m, got, want)
			}
		}
	}
}

func TestMarginsInUnitsOfTheMetric(t *testing.T) {
	arctan := metric.Metric{Kind: metric.BRM, P: 2, Restriction: metric.ArcTan}
	squaredArctan := metric.Metric{Kind: metric.BRM, P: 2, Restriction: metric.ArcTan, Power: true}
	cosine := metric.Metric{Kind: metric.Cosine}
	for _, c := range []struct {
		metric metric.Metric
		text   string
		want   float64
	}{
		{brm, "0.4B", 0.4},
		{arctan, "0.4B", 0.4 * math.Pi / 2},
		{squaredArctan, "0.4B", 0.4 * math.Pi * math.Pi / 4},
		{brm, "0.5D0", 0.5 * brm.UnrelatedValue(1)},
		{brm, "0.5 D0", 0.5 * brm.UnrelatedValue(1)},
		{brm, "1sphere", brm.SphereValue(1, 1)},
		{euclidean, "0.5D0", math.Sqrt2 / 2},
		{euclidean, "1.25", 1.25},
		{cosine, "0.5D0", 0.5},        // a cosine distance of 0.5
		{cosine, "0.25B", 0.5},        // of the cosine distance's bound 2
		{cosine, "1sphere", 0.5},      // 60 degrees
		{cosine, "1.4142sphere", 0.0}, // 90 degrees
	} {
		u, v := c.text, "0.99B"
		if c.metric.Kind == metric.Euclidean {
			v = "1.99sphere"
		}
		l := mustNew(t, "contrastive", Options{Metric: c.metric, Params: map[string]string{"u": u, "v": v}})
		if got := l.(*Contrastive).U; math.Abs(got-c.want) > 1e-4 {
			t.Errorf("u = %s on %v is %v, want %v", c.text, c.metric, got, c.want)
		}
	}
	tau := mustNew(t, "triplet", Options{Metric: cosine, Params: map[string]string{"margin": "0.1B"}}).(*Triplet).Margin
	if math.Abs(tau-0.2) > 1e-12 {
		t.Errorf("a triplet margin of 0.1B on a cosine is %v, want 0.2", tau)
	}
}

// Wrong-way margins, unknown names and bad numbers: each message says what is
// allowed.
func TestRefusals(t *testing.T) {
	cosine := metric.Metric{Kind: metric.Cosine}
	for _, c := range []struct {
		loss   string
		metric metric.Metric
		params map[string]string
		want   []string
	}{
		{"tripplet", brm, nil, []string{`unknown loss "tripplet"`, "contrastive, triplet, npairs, proxy-anchor"}},
		{"triplet", brm, map[string]string{"margn": "1"}, []string{`unknown parameter "margn"`, "margin, mining, per-anchor"}},
		{"triplet", brm, map[string]string{"margin": "-0.1"}, []string{"margin = -0.1", "0 < margin < 1"}},
		{"triplet", brm, map[string]string{"margin": "1.2B"}, []string{"margin = 1.2", "0 < margin < 1"}},
		{"triplet", euclidean, map[string]string{"margin": "0.3B"}, []string{"euclidean has no bound B", "D0"}},
		{"triplet", brm, map[string]string{"margin": "wide"}, []string{`"wide" is no margin`, "0.4B"}},
		{"triplet", brm, map[string]string{"margin": "NaN"}, []string{"no margin"}},
		{"triplet", brm, map[string]string{"mining": "softest"}, []string{`"softest"`, "all | semihard | hard"}},
		{"triplet", brm, map[string]string{"swap": "maybe"}, []string{"true or false"}},
		{"contrastive", brm, map[string]string{"u": "0.6", "v": "0.5"}, []string{"0 <= u < v <= 1"}},
		{"contrastive", brm, map[string]string{"v": "1.4"}, []string{"v = 1.4", "0 <= v <= 1"}},
		{"contrastive", brm, map[string]string{"u": "2.5sphere"}, []string{"between 0 and 2 apart"}},
		{"contrastive", cosine, map[string]string{"u": "0", "v": "1"}, []string{"-1 <= v < u <= 1"}},
		{"npairs", brm, map[string]string{"temperature": "-1"}, []string{"temperature = -1", "0 < temperature"}},
		{"npairs", brm, map[string]string{"temperature": "Inf"}, []string{"no number"}},
		{"proxy-anchor", brm, map[string]string{"delta": "1"}, []string{"0 <= delta < 1"}},
		{"triplet", brm, map[string]string{"mining": "distance-weighted"}, []string{"dimension of the embedding is 0"}},
		{"triplet", brm, map[string]string{"per-anchor": "1.5"}, []string{"per-anchor = 1.5", "whole number"}},
		{"proxy-nca", brm, map[string]string{"denominator": "others", "smoothing": "0.1"}, []string{"denominator = all"}},
		{"margin", brm, map[string]string{"learn": "class"}, []string{"number of classes is 0"}},
		{"lifted", brm, map[string]string{"pos-margin": "1", "neg-margin": "0.5"}, []string{"pos-margin < neg-margin"}},
		{"center", brm, map[string]string{"alpha": "1"}, []string{`unknown parameter "alpha", there is none`}},
		{"triplet", metric.Metric{Kind: metric.BRM}, nil, []string{"p is 0, want 1 or 2"}},
	} {
		_, err := New(c.loss, Options{Metric: c.metric, Params: c.params})
		if err == nil {
			t.Errorf("%s on %v with %v: no error", c.loss, c.metric, c.params)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s on %v with %v: %q does not say %q", c.loss, c.metric, c.params, err, want)
			}
		}
	}
	if _, err := New("triplet", Options{Metric: brm, Scale: -1}); err == nil || !strings.Contains(err.Error(), "embedding scale is -1") {
		t.Errorf("negative scale: %v", err)
	}
}

// Every loss can be made with its defaults on every metric, and what the list
// prints as a default is accepted back.
func TestListedDefaultsAreAccepted(t *testing.T) {
	for _, m := range testMetrics() {
		for _, c := range []float64{0.5, 1, 2, 8} {
			infos, err := List(m, c)
			if err != nil {
				t.Fatal(err)
			}
			for _, info := range infos {
				params := map[string]string{}
				for _, p := range info.Params {
					if p.Meaning == "" || p.Range == "" {
						t.Errorf("%s: parameter %s is not described", info.Name, p.Name)
					}
					params[p.Name] = p.Default
				}
				for _, o := range []Options{{Params: params}, {}} {
					o.Metric, o.Scale, o.Classes, o.Dim = m, c, 5, 8
					l, err := New(info.Name, o)
					if err != nil {
						t.Errorf("%v, c = %v: %v", m, c, err)
						continue
					}
					if l.Columns() != info.Columns {
						t.Errorf("%s: compares with %v, listed %v", info.Name, l.Columns(), info.Columns)
					}
				}
			}
		}
	}
}

func mustNew(t *testing.T, name string, o Options) Loss {
	t.Helper()
	l, err := New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What Options leave out, or cannot mean, is named by its field.
func TestOptionsNameTheField(t *testing.T) {
	cosine := metric.Metric{Kind: metric.Cosine}
	for _, c := range []struct {
		loss string
		o    Options
		want string
	}{
		{"triplet", Options{}, "Options.Metric is not set"},
		{"triplet", Options{Metric: metric.Metric{Kind: 99}}, "Options.Metric"},
		{"triplet", Options{Metric: cosine, Scale: math.NaN()}, "Options.Scale: embedding scale is NaN"},
		{"triplet", Options{Metric: cosine, Scale: math.Inf(1)}, "Options.Scale: embedding scale is +Inf"},
		{"triplet", Options{Metric: euclidean, Scale: 1e300}, "Options.Scale"},
		{"npairs", Options{Metric: metric.Metric{Kind: metric.Dot}, Scale: 1e-200}, "Options.Scale"},
		{"spread-out", Options{Metric: cosine}, "Options.Dim: dimension of the embedding is 0"},
		{"margin", Options{Metric: cosine, Classes: math.MaxInt, Params: map[string]string{"learn": "class"}}, "Options.Classes: number of classes is 9223372036854775807"},
		{"ntxent", Options{Metric: cosine, Params: map[string]string{"temperature": "1e-300"}}, "Temperature is 1e-300"},
	} {
		if _, err := New(c.loss, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.loss, err, c.want)
		}
		if _, err := MakeTerm(c.loss, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("term %s: %v, want %q in it", c.loss, err, c.want)
		}
	}
	if _, err := List(metric.Metric{}, 0); err == nil || !strings.Contains(err.Error(), "Options.Metric is not set") {
		t.Errorf("list: %v", err)
	}
}

package metric

import (
	"math"
	"strings"
	"testing"
)

func TestMetricNamesRoundTrip(t *testing.T) {
	for _, m := range everyMetric() {
		got, err := Parse(m.String())
		if err != nil {
			t.Fatal(err)
		}
		if got != m.Canonical() {
			t.Errorf("%q gives %+v, want %+v", m.String(), got, m)
		}
	}
}

func TestMetricNamesAsWritten(t *testing.T) {
	for text, want := range map[string]Metric{
		"euclidean":                     {Kind: Euclidean},
		"sqeuclidean":                   {Kind: SquaredEuclidean},
		"cosine":                        {Kind: Cosine},
		"dot":                           {Kind: Dot},
		"manhattan":                     {Kind: Manhattan},
		"snr":                           {Kind: SignalToNoise},
		"poincare":                      {Kind: Poincare, Curvature: 0.1, Clip: 2.3},
		"poincare:c=1,clip=0":           {Kind: Poincare, Curvature: 1},
		"lorentz":                       {Kind: Lorentz, Curvature: 1},
		"lorentz:c=0.3333,clip=5":       {Kind: Lorentz, Curvature: 0.3333, Clip: 5},
		"brm":                           {Kind: BRM, Restriction: Sigmoid, P: 2},
		"brm:tanh,p=1":                  {Kind: BRM, Restriction: TanH, P: 1},
		"brm:isru":                      {Kind: BRM, Restriction: ISRU, Omega: 1, P: 2},
		"brm:isru,omega=0.5,power":      {Kind: BRM, Restriction: ISRU, Omega: 0.5, P: 2, Power: true},
		"brm:power":                     {Kind: BRM, P: 2, Power: true},
		"brm:p=1":                       {Kind: BRM, P: 1},
		"brm:isru,omega=0.1,p=1":        {Kind: BRM, Restriction: ISRU, Omega: 0.1, P: 1},
		"brm:isru,omega=1e-07":          {Kind: BRM, Restriction: ISRU, Omega: 1e-7, P: 2},
		"brm:arctan":                    {Kind: BRM, Restriction: ArcTan, P: 2},
		"brm:softsign,power":            {Kind: BRM, Restriction: SoftSign, P: 2, Power: true},
		"brm:isru,omega=0.333333333333": {Kind: BRM, Restriction: ISRU, Omega: 0.333333333333, P: 2},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%q prints as %q", text, got.String())
		}
	}
}

func TestEqualMetricsCompareEqual(t *testing.T) {
	for _, group := range [][]string{
		{"brm", "brm:sigmoid", "brm:p=2", "brm:sigmoid,p=2", "brm:p=2, sigmoid"},
		{"brm:isru", "brm:isru,omega=1", "brm:omega=1.0,isru"},
		{"brm:tanh,p=1", "brm:tanh,p=1,power", "brm:power,p=1,tanh"}, // D^1 is D
		{"poincare", "poincare:c=0.1", "poincare:clip=2.3, c=1e-1"},
	} {
		first, err := Parse(group[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range group {
			if m, err := Parse(text); err != nil || m != first {
				t.Errorf("%q: %+v, %v, want %+v", text, m, err, first)
			}
		}
	}
	messy := Metric{Kind: Cosine, Restriction: TanH, Omega: 3, P: 2, Power: true}
	if messy.Canonical() != (Metric{Kind: Cosine}) {
		t.Errorf("canonical cosine is %+v", messy.Canonical())
	}
	messy.Kind, messy.Curvature = Lorentz, 2
	if messy.Canonical() != (Metric{Kind: Lorentz, Curvature: 2}) {
		t.Errorf("canonical lorentz is %+v", messy.Canonical())
	}
}

func TestBadMetricNames(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        {"unknown metric", "brm, euclidean, sqeuclidean, manhattan, cosine, dot, snr, poincare, lorentz"},
		"l2":                      {`"l2"`, "euclidean", "cosine"},
		"Cosine":                  {"unknown metric", "cosine"},
		"cosine:p=1":              {"cosine takes no options"},
		"euclidean:":              {"takes no options"},
		"snr:c=1":                 {"snr takes no options"},
		"poincare:":               {"unknown option", "c=NUMBER"},
		"poincare:c":              {`c is ""`},
		"poincare:c=0":            {"c is 0", "positive"},
		"poincare:c=nan":          {"c is NaN", "positive"},
		"lorentz:clip=-1":         {"clip is -1", "0 for none"},
		"lorentz:clip=inf":        {"clip is +Inf"},
		"lorentz:c=1,c=1":         {"c is given twice"},
		"lorentz:tanh":            {`"tanh"`},
		"brm:":                    {"unknown option", "sigmoid|softsign|arctan|tanh|isru"},
		"brm:relu":                {`"relu"`, "sigmoid|softsign|arctan|tanh|isru"},
		"brm:p=3":                 {`p is "3"`, "1 or 2"},
		"brm:p":                   {"unknown option"},
		"brm:isru,omega=0":        {`omega is "0"`, "positive"},
		"brm:isru,omega=-1":       {"positive"},
		"brm:isru,omega=inf":      {"finite"},
		"brm:isru,omega=nan":      {"finite"},
		"brm:isru,omega=x":        {`omega is "x"`},
		"brm:tanh,omega=2":        {"omega belongs to isru", "tanh"},
		"brm:tanh,sigmoid":        {"restriction is given twice"},
		"brm:p=1,p=1":             {"p is given twice"},
		"brm:power=1":             {`"power=1"`},
		"brm:tanh=1":              {`"tanh=1"`},
		"brm:isru,omega=1,,power": {"unknown option"},
	} {
		_, err := Parse(text)
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: error %q lacks %q", text, err, part)
			}
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for _, c := range []struct {
		m    Metric
		want string
	}{
		{Metric{}, "p is 0"},
		{Metric{Kind: BRM, P: 3}, "p is 3"},
		{Metric{Kind: 99}, "kind 99"},
		{Metric{Kind: Poincare}, "c is 0"},
		{Metric{Kind: Lorentz, Curvature: math.Inf(1)}, "c is +Inf"},
		{Metric{Kind: Lorentz, Curvature: 1, Clip: -1}, "clip is -1"},
		{Metric{Kind: BRM, Restriction: 7, P: 2}, "restriction 7"},
		{Metric{Kind: BRM, Restriction: ISRU, P: 2}, "omega"},
		{Metric{Kind: BRM, Restriction: ISRU, Omega: math.NaN(), P: 2}, "omega"},
		{Metric{Kind: BRM, Restriction: ISRU, Omega: math.Inf(1), P: 2}, "omega"},
	} {
		if err := c.m.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.m, err, c.want)
		}
		if v := c.m.Value([]float32{1}, []float32{0}); c.m.Kind != Poincare && c.m.Kind != Lorentz && c.want != "omega" && !math.IsNaN(v) {
			t.Errorf("%+v: a metric that does not exist has the value %v", c.m, v)
		}
		if c.m.String() == "" {
			t.Errorf("%+v prints as nothing", c.m)
		}
	}
	for _, m := range everyMetric() {
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// What is said of a metric's options is what Parse takes.
func TestMetricsAreDescribed(t *testing.T) {
	infos := Infos()
	if len(infos) != len(metricNames) {
		t.Fatalf("%d of %d families are described", len(infos), len(metricNames))
	}
	for k, info := range infos {
		m := info.Metric
		if m.Kind != Kind(k) || m.Validate() != nil {
			t.Errorf("description %d is of %+v", k, m)
		}
		if got, err := Parse(m.Kind.String()); err != nil || got != m {
			t.Errorf("%v: defaults are %+v, described as %+v", m.Kind, got, m)
		}
		for _, o := range info.Options {
			if m.Kind == BRM {
				continue // options that exclude each other: TestMetricNamesAsWritten
			}
			if got, err := Parse(m.Kind.String() + ":" + o.Name + "=" + o.Default); err != nil || got != m {
				t.Errorf("%v: default %s of %s gives %+v, %v", m.Kind, o.Default, o.Name, got, err)
			}
		}
	}
}

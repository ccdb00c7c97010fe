package linear

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/internal/enginetest/reference"
	"github.com/vernier-ml/vernier/metric"
)

func TestRCAReducesToItsRankAndSaysSo(t *testing.T) { // metric-learn #49, #260
	p := blobs(3, 10, 4, 1)
	for i := range p.Labels {
		p.X.Set(i, 3, p.X.At(i, 0)+p.X.At(i, 1))
	}
	r := fit(t, RCA{}, &Problem{X: p.X, Chunks: p.Labels})
	if h, _ := r.L.Dims(); h != 3 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "rank 3 of 4") {
		t.Errorf("L has %d rows, notes %q", h, r.Notes)
	}
	// The covariance within chunks is the identity after the map.
	inner, err := innerCovariance(transform(p.X, r.L), p.Labels)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(inner, identity(3, 3), 1e-9) {
		t.Errorf("covariance within chunks after the map: %v", mat.Formatted(inner))
	}
}

func TestRCAChunkNumbersMayBeAny(t *testing.T) { // metric-learn #275
	p := blobs(3, 10, 4, 2)
	shifted := make([]int, len(p.Labels))
	for i, y := range p.Labels {
		shifted[i] = []int{1, 40, 7}[y]
	}
	a, b := fit(t, RCA{}, &Problem{X: p.X, Chunks: p.Labels}), fit(t, RCA{}, &Problem{X: p.X, Chunks: shifted})
	if !mat.EqualApprox(a.M(), b.M(), 1e-12) {
		t.Error("chunk numbers changed the metric")
	}
	if _, err := (RCA{}).Fit(context.Background(), &Problem{X: p.X, Chunks: allRows(30)}); err == nil || !strings.Contains(err.Error(), "no chunk has two rows") {
		t.Errorf("chunks of one row: %v", err)
	}
}

func TestNCANeedsNoMemoryPerPairOfRows(t *testing.T) { // metric-learn #45: n = 1021, d = 122
	p := blobs(4, 256, 122, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := fit(t, NCA{MaxIterations: 1}, p)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 300<<20 {
		t.Errorf("%d MiB allocated", got>>20)
	}
	if r.ObjectiveEnd <= r.ObjectiveStart {
		t.Errorf("objective %v to %v", r.ObjectiveStart, r.ObjectiveEnd)
	}
}

func TestNCALearnsFromASampleOfTheRows(t *testing.T) {
	p := blobs(3, 50, 4, 4)
	r := fit(t, NCA{MaxRows: 60}, p)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "60 of 150") {
		t.Errorf("notes %q", r.Notes)
	}
}

// gradientCheck compares grad with central differences of f at l.
func gradientCheck(t *testing.T, what string, l, grad *mat.Dense, f func() float64) {
	t.Helper()
	const step = 1e-5
	for i, v := range l.RawMatrix().Data {
		l.RawMatrix().Data[i] = v + step
		up := f()
		l.RawMatrix().Data[i] = v - step
		down := f()
		l.RawMatrix().Data[i] = v
		if want := (up - down) / (2 * step); math.Abs(grad.RawMatrix().Data[i]-want) > 1e-5*(1+math.Abs(want)) {
			t.Errorf("%s: derivative %d is %v, finite difference %v", what, i, grad.RawMatrix().Data[i], want)
			return
		}
	}
}

func TestGradientsByFiniteDifferences(t *testing.T) {
	p := blobs(3, 8, 4, 5)
	l := mat.NewDense(3, 4, nil)
	rng := newRand(1, 1)
	for i := range l.RawMatrix().Data {
		l.RawMatrix().Data[i] = .5 * rng.NormFloat64()
	}
	nca := newNCAObjective(context.Background(), nil, p.X, p.Labels)
	g, scratch := mat.NewDense(3, 4, nil), mat.NewDense(3, 4, nil)
	nca.value(l, g)
	gradientCheck(t, "nca", l, g, func() float64 { return nca.value(l, scratch) })

	set, err := newActiveSet(context.Background(), nil, p.X, p.Labels, 2, .3)
	if err != nil {
		t.Fatal(err)
	}
	set.round = .1
	if err := set.renew(context.Background(), l); err != nil {
		t.Fatal(err)
	}
	z, q := transform(p.X, l), mat.NewDense(24, 3, nil)
	set.value(z, z, q)
	g.Mul(q.T(), p.X)
	g.Scale(2, g)
	gradientCheck(t, "lmnn", l, g, func() float64 { return set.value(transform(p.X, l), nil, nil).total })
}

func TestConstraintsGivenAreUsed(t *testing.T) {
	p := blobs(3, 30, 5, 9)
	s, d, err := SamplePairs(p.Labels, 300, 1)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := SampleTriplets(p.Labels, 300, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string]*Problem{
		"brm-c": {X: p.X, Similar: s, Dissimilar: d},
		"brm-r": {X: p.X, Triplets: tr},
		"lsml":  {X: p.X, Triplets: tr},
		"lca":   {X: p.X, Similar: s, Dissimilar: d},
		"gmml":  {X: p.X, Similar: s, Dissimilar: d},
	} {
		r := fit(t, newLearner(t, name), given)
		plain := fit(t, Euclidean{}, p)
		got, err := r.ScoreTriplets(p.X, tr)
		if err != nil {
			t.Fatal(err)
		}
		before, err := plain.ScoreTriplets(p.X, tr)
		if err != nil {
			t.Fatal(err)
		}
		if got <= before {
			t.Errorf("%s orders %v of the triplets, the Euclidean distance %v", name, got, before)
		}
	}
}

func TestLCANeverLowersTheLikelihood(t *testing.T) {
	p := blobs(3, 20, 4, 10)
	s, d, err := SamplePairs(p.Labels, 200, 2)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newCoincidence(p.X, s, d, 2)
	if err != nil {
		t.Fatal(err)
	}
	last := e.expect()
	for k := range 50 {
		if err := e.maximize(); err != nil {
			t.Fatal(err)
		}
		now := e.expect()
		if now < last-1e-9*math.Abs(last) {
			t.Fatalf("step %d: log-likelihood fell from %v to %v", k, last, now)
		}
		last = now
	}
}

func TestLCALikelihoodIsThatOfTheModel(t *testing.T) {
	p := blobs(2, 4, 2, 11)
	e, err := newCoincidence(p.X, []Pair{{0, 2}}, []Pair{{0, 1}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	got := e.expect()
	// Integrate the coincidence over the latent difference on a grid.
	z := transform(p.X, e.w)
	probability := func(a, b int) float64 {
		const step, reach = .05, 12.0
		u := [2]float64{z.At(a, 0) - z.At(b, 0), z.At(a, 1) - z.At(b, 1)}
		sum := 0.0
		for x := -reach; x <= reach; x += step {
			for y := -reach; y <= reach; y += step {
				density := math.Exp(-((x-u[0])*(x-u[0])+(y-u[1])*(y-u[1]))/(2*e.s)) / (2 * math.Pi * e.s)
				sum += density * math.Exp(-(x*x+y*y)/2) * step * step
			}
		}
		return sum
	}
	if want := math.Log(probability(0, 2)) + math.Log(1-probability(0, 1)); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
		t.Errorf("log-likelihood %v, by integration %v", got, want)
	}
}

func TestITMLKeepsItsBoundsWithoutSlack(t *testing.T) {
	p := blobs(2, 10, 3, 12)
	prob := &Problem{X: p.X, Similar: []Pair{{0, 2}, {1, 3}}, Dissimilar: []Pair{{0, 1}, {2, 5}}}
	r := fit(t, ITML{Upper: .5, Lower: 6, Gamma: math.Inf(1), Tolerance: 1e-10, MaxIterations: 5000}, prob)
	for _, d := range squaredPairs(nil, transform(p.X, r.L), prob.Similar) {
		if d > .5*(1+1e-6) {
			t.Errorf("similar pair at squared distance %v, bound 0.5", d)
		}
	}
	for _, d := range squaredPairs(nil, transform(p.X, r.L), prob.Dissimilar) {
		if d < 6*(1-1e-6) {
			t.Errorf("dissimilar pair at squared distance %v, bound 6", d)
		}
	}
}

func TestEngineAgreesWithHost(t *testing.T) {
	eng := reference.New()
	p := blobs(3, 40, 6, 13)
	train, test := p.X.Slice(0, 90, 0, 6).(*mat.Dense), p.X.Slice(90, 120, 0, 6).(*mat.Dense)
	for _, metric := range []metric.Metric{euclideanMetric, {P: 2}} {
		r := &Result{L: identity(6, 6), Metric: metric}
		a, err := Neighbors(context.Background(), nil, r, train, test, 5)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Neighbors(context.Background(), eng, r, train, test, 5)
		if err != nil {
			t.Fatal(err)
		}
		for k := range a {
			if a[k] != b[k] {
				t.Fatalf("%v: neighbor %d is %d on the host, %d on the engine", metric, k, a[k], b[k])
			}
		}
	}
	wide := blobs(3, 14, 50, 14) // large enough for products on the engine
	for _, name := range []string{"lmnn", "brm-r", "brm-c"} {
		host := fit(t, newLearner(t, name), wide)
		l, err := New(name, Env{Seed: 1, Engine: eng})
		if err != nil {
			t.Fatal(err)
		}
		on := fit(t, quick(l), wide)
		if math.Abs(host.ObjectiveEnd-on.ObjectiveEnd) > .02*(1+math.Abs(host.ObjectiveEnd)) {
			t.Errorf("%s: objective %v on the host, %v on the engine", name, host.ObjectiveEnd, on.ObjectiveEnd)
		}
	}
}

func TestNCAObjectiveOnAnEngine(t *testing.T) {
	p := blobs(3, 40, 6, 16)
	g, on := mat.NewDense(6, 6, nil), mat.NewDense(6, 6, nil)
	want := newNCAObjective(context.Background(), nil, p.X, p.Labels).value(identity(6, 6), g)
	got := newNCAObjective(context.Background(), reference.New(), p.X, p.Labels).value(identity(6, 6), on)
	if math.Abs(got-want) > 1e-4*want || !mat.EqualApprox(g, on, 1e-4*mat.Norm(g, 2)) {
		t.Errorf("objective %v on the host, %v on the engine", want, got)
	}
}

func TestAllPairsFromLabels(t *testing.T) {
	p := blobs(3, 7, 4, 15)
	var similar, dissimilar []Pair
	for i := range p.Labels {
		for j := range i {
			if p.Labels[i] == p.Labels[j] {
				similar = append(similar, Pair{i, j})
			} else {
				dissimilar = append(dissimilar, Pair{i, j})
			}
		}
	}
	s, d, ns, nd, err := pairScatters(p, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if int(ns) != len(similar) || int(nd) != len(dissimilar) {
		t.Errorf("%v and %v pairs, want %d and %d", ns, nd, len(similar), len(dissimilar))
	}
	if !mat.EqualApprox(s, scatterOf(p.X, similar), 1e-8) || !mat.EqualApprox(d, scatterOf(p.X, dissimilar), 1e-8) {
		t.Error("scatter over all pairs is not that of the list of all pairs")
	}
}

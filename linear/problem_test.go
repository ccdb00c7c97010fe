package linear

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// blobs draws rows of c classes around centers that differ in the first two
// columns only; the others are noise of a larger scale.
func blobs(classes, perClass, d int, seed uint64) *Problem {
	rng := newRand(seed, 99)
	p := &Problem{X: mat.NewDense(classes*perClass, d, nil)}
	for i := range classes * perClass {
		c := i % classes
		row := p.X.RawRowView(i)
		for j := range row {
			row[j] = 2 * rng.NormFloat64()
		}
		angle := 2 * math.Pi * float64(c) / float64(classes)
		row[0] = 2*math.Cos(angle) + .4*rng.NormFloat64()
		row[1] = 2*math.Sin(angle) + .4*rng.NormFloat64()
		p.Labels = append(p.Labels, c)
	}
	return p
}

func newLearner(t *testing.T, name string) Learner {
	t.Helper()
	l, err := New(name, Env{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if l.Name() != name {
		t.Fatalf("learner %q is called %q", name, l.Name())
	}
	return quick(l)
}

// quick bounds the iterative learners for tests of behavior, not of accuracy.
func quick(l Learner) Learner {
	switch l := l.(type) {
	case BRMC:
		l.Steps, l.Batch = 150, 128
		return l
	case BRMR:
		l.Steps, l.Batch = 150, 128
		return l
	case CAP:
		l.MaxIterations = 100
		return l
	case LCA:
		l.MaxIterations = 200
		return l
	}
	return l
}

func TestEveryLearnerFindsTheInformativeColumns(t *testing.T) {
	p, test := blobs(3, 40, 5, 1), blobs(3, 40, 5, 2)
	wrong := func(r *Result) float64 {
		e, err := KNN{}.Error(context.Background(), r, p.X, p.Labels, test.X, test.Labels)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	plain := wrong(fit(t, Euclidean{}, p))
	for _, name := range Names() {
		if name == "euclidean" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := fit(t, newLearner(t, name), p)
			if r.Learner != name {
				t.Errorf("the result says %q", r.Learner)
			}
			e := wrong(r)
			switch name {
			case "covariance", "sdml", "lsml": // weaker by nature
				if e > plain {
					t.Errorf("error %v, Euclidean %v", e, plain)
				}
			default:
				if e > plain/2 {
					t.Errorf("error %v, Euclidean %v: less than half was hoped for", e, plain)
				}
			}
			if start, end := r.ObjectiveStart, r.ObjectiveEnd; !math.IsNaN(start) && name != "itml" && (end > start) == r.Minimized && end != start {
				t.Errorf("the objective went from %v to %v, minimized: %v", start, end, r.Minimized)
			}
		})
	}
}

func TestUnknownLabelsChangeNothing(t *testing.T) {
	p := blobs(3, 20, 4, 3)
	n, d := p.X.Dims()
	more := &Problem{X: mat.NewDense(n+7, d, nil), Labels: append(append([]int{}, p.Labels...), -1, -1, -1, -1, -1, -1, -1)}
	more.X.Slice(0, n, 0, d).(*mat.Dense).Copy(p.X)
	for i := n; i < n+7; i++ {
		for j := range d {
			more.X.Set(i, j, float64(100*i+j))
		}
	}
	for _, name := range Names() {
		if name == "covariance" || name == "euclidean" {
			continue // they use no labels
		}
		a, b := fit(t, newLearner(t, name), p), fit(t, newLearner(t, name), more)
		if strings.HasPrefix(name, "brm") || strings.HasPrefix(name, "euclidean-") {
			if a.L.RawMatrix().Rows != b.L.RawMatrix().Rows || math.IsNaN(mat.Sum(b.L)) {
				t.Errorf("%s: L is broken by unlabeled rows", name)
			}
			continue // the unit of margins is a median over all rows
		}
		if !mat.EqualApprox(a.M(), b.M(), 1e-6*mat.Norm(a.M(), 2)) {
			t.Errorf("%s: rows of unknown label changed the metric", name)
		}
	}
}

func TestSameSeedSameMetric(t *testing.T) {
	p := blobs(2, 25, 3, 4)
	for _, name := range Names() {
		a, b := fit(t, newLearner(t, name), p), fit(t, newLearner(t, name), p)
		if !mat.Equal(a.L, b.L) {
			t.Errorf("%s: two fits with one seed differ", name)
		}
	}
}

// hardCases are tables that break careless learners. None may panic or return
// a metric that is not finite.
func hardCases() map[string]*Problem {
	base := func() *Problem { return blobs(3, 12, 4, 5) }
	change := func(f func(row []float64, i int)) *Problem {
		p := base()
		for i := range p.Labels {
			f(p.X.RawRowView(i), i)
		}
		return p
	}
	single := base()
	single.Labels[0] = 7 // a class of one row
	wide := blobs(2, 4, 30, 6)
	return map[string]*Problem{
		"constant column":        change(func(r []float64, _ int) { r[2] = 1 }),
		"duplicate column":       change(func(r []float64, _ int) { r[3] = r[0] }),
		"collinear columns":      change(func(r []float64, _ int) { r[3] = r[0] + 2*r[1] - 3*r[2] }),
		"duplicate rows":         change(func(r []float64, i int) { copy(r, []float64{float64(i % 3), 1, float64(i % 2), 0}) }),
		"class of one row":       single,
		"more columns than rows": wide,
		"huge scale":             change(func(r []float64, _ int) { r[0] *= 1e6 }),
		"tiny scale": change(func(r []float64, _ int) {
			for j := range r {
				r[j] *= 1e-6
			}
		}),
	}
}

func TestHardTablesGiveAMetricOrAnError(t *testing.T) {
	for what, p := range hardCases() {
		for _, name := range Names() {
			r, err := newLearner(t, name).Fit(context.Background(), p)
			if err != nil {
				if !strings.HasPrefix(err.Error(), name+": ") || len(err.Error()) < len(name)+12 {
					t.Errorf("%s on %s: unclear error %q", name, what, err)
				}
				t.Logf("%s on %s: %v", name, what, err)
				continue
			}
			for _, v := range r.L.RawMatrix().Data {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%s on %s: L holds %v", name, what, v)
					break
				}
			}
		}
	}
}

func TestBadProblemsAreNamed(t *testing.T) {
	good := blobs(2, 10, 3, 7)
	with := func(f func(p *Problem)) *Problem {
		p := &Problem{X: mat.DenseCopyOf(good.X), Labels: append([]int{}, good.Labels...)}
		f(p)
		return p
	}
	one := func(p *Problem) {
		for i := range p.Labels {
			p.Labels[i] = 4
		}
	}
	for _, c := range []struct {
		what, learner, want string
		p                   *Problem
	}{
		{"no problem", "lda", "no rows", nil},
		{"one row", "lda", "1 row", &Problem{X: mat.NewDense(1, 2, nil), Labels: []int{0}}},
		{"NaN", "nca", "row 3, column 1 is NaN", with(func(p *Problem) { p.X.Set(3, 1, math.NaN()) })},
		{"infinity", "euclidean", "row 0, column 0", with(func(p *Problem) { p.X.Set(0, 0, math.Inf(1)) })},
		{"short labels", "lmnn", "19 labels for 20 rows", with(func(p *Problem) { p.Labels = p.Labels[1:] })},
		{"negative label", "lmnn", "label -2", with(func(p *Problem) { p.Labels[5] = -2 })},
		{"one class", "lda", "class 4", with(one)},
		{"one class", "lmnn", "class 4", with(one)},
		{"one class", "itml", "2 classes", with(one)},
		{"one class", "brm-r", "2 classes", with(one)},
		{"no label known", "nca", "every label is unknown", with(func(p *Problem) {
			for i := range p.Labels {
				p.Labels[i] = -1
			}
		})},
		{"no labels at all", "geigen", "pairs or labels", with(func(p *Problem) { p.Labels = nil })},
		{"no labels at all", "brm-r", "labels are needed", with(func(p *Problem) { p.Labels = nil })},
		{"one kind of pair", "mmc", "both kinds", with(func(p *Problem) { p.Similar = []Pair{{0, 2}} })},
		{"pair out of range", "itml", "rows run from 0 to 19", with(func(p *Problem) { p.Similar = []Pair{{0, 20}} })},
		{"row paired with itself", "itml", "compares row 4 with itself", with(func(p *Problem) { p.Dissimilar = []Pair{{4, 4}} })},
		{"triplet", "brm-r", "triplet 0", with(func(p *Problem) { p.Triplets = []Triplet{{1, 1, 2}} })},
		{"quadruplet", "lsml", "quadruplet 0", with(func(p *Problem) { p.Quadruplets = []Quadruplet{{1, 2, -1, 2}} })},
		{"chunks", "rca", "chunk numbers", with(func(p *Problem) { p.Chunks = []int{1} })},
	} {
		_, err := newLearner(t, c.learner).Fit(context.Background(), c.p)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: error %v, want one with %q", c.learner, c.what, err, c.want)
		}
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	p := blobs(2, 10, 3, 8)
	half := 1.5
	for want, l := range map[string]Learner{
		"t is 1.5":               GMML{T: &half},
		"9 directions":           NCA{Dim: 9},
		"regularization is 2":    LMNN{Regularization: 2},
		"gamma is -1":            ITML{Gamma: -1},
		"embedding \"odd\"":      LFDA{Embedding: "odd"},
		"u is 0.9 and v is 0.1":  BRMC{U: .9, V: .1},
		"tau is -1":              BRMR{Tau: -1},
		"omega":                  BRMR{Stochastic: Stochastic{Restriction: 4, Omega: -1}},
		"p is 3":                 BRMC{Stochastic: Stochastic{P: 3}},
		"balance -1":             SDML{Balance: -1},
		"5 latent dimensions":    LCA{Dim: 5},
		"3 directions asked for": LDA{Dim: 3},
	} {
		if _, err := l.Fit(context.Background(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := New("lmmn", Env{}); err == nil || !strings.Contains(err.Error(), "lmnn") {
		t.Errorf("error of a misspelled learner: %v", err)
	}
}

func TestCanceledFitsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range []string{"nca", "lmnn", "lmnn-convex", "cap", "itml", "mmc", "mmc-diag", "lsml", "sdml", "lca", "brm-c", "brm-r"} {
		if _, err := newLearner(t, name).Fit(ctx, blobs(2, 10, 3, 9)); err == nil || !strings.Contains(err.Error(), "cancel") {
			t.Errorf("%s: error %v after the context ended", name, err)
		}
	}
}

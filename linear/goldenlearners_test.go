package linear

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/internal/golden"
)

func fit(t *testing.T, l Learner, p *Problem) *Result {
	t.Helper()
	r, err := l.Fit(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func paired(c *golden.Case, s goldenSet) *Problem {
	return &Problem{X: s.train, Similar: goldenPairs(c, "sim_a", "sim_b"), Dissimilar: goldenPairs(c, "dis_a", "dis_b")}
}

func goldenEuclidean(t *testing.T, c *golden.Case, s goldenSet) {
	compareMetric(t, c, s, fit(t, Euclidean{}, &Problem{X: s.train}), false)
}

func goldenGEigen(t *testing.T, c *golden.Case, s goldenSet) {
	g := GEigen{Lambda: c.Params.Float("lambda", 0)}
	r := fit(t, g, paired(c, s))
	compareMetric(t, c, s, r, true)
	golden.Close64(t, "mu", r.Eigenvalues, c.Outputs["mu"], c.Tolerance)
	if want, ok := c.Outputs["L_sign_fixed"]; ok {
		tol := c.Tolerance
		tol.ATol += tol.RTol * golden.MaxAbs(want.Data)
		golden.Close64(t, "L", flat(r.L), want, tol)
	}
	for name, want := range c.Outputs {
		if !strings.HasPrefix(name, "M_top") {
			continue
		}
		g.Dim = int(name[len("M_top")] - '0')
		tol := c.Tolerance
		tol.ATol += tol.RTol * golden.MaxAbs(want.Data)
		golden.Close64(t, name, flat(fit(t, g, paired(c, s)).M()), want, tol)
	}
	g.Dim = 2
	compareError(t, c, s, fit(t, g, paired(c, s)), "test_error_5nn_top2", 0)
}

func goldenGMML(t *testing.T, c *golden.Case, s goldenSet) {
	at := c.Params.Float("t", .5)
	p := paired(c, s)
	r := fit(t, GMML{T: &at, Lambda: c.Params.Float("lambda", 0)}, p)
	compareMetric(t, c, s, r, true)
	golden.Close64(t, "trace of S", []float64{mat.Trace(scatterOf(p.X, p.Similar))}, c.Outputs["S_trace"], c.Tolerance)
	golden.Close64(t, "trace of D", []float64{mat.Trace(scatterOf(p.X, p.Dissimilar))}, c.Outputs["D_trace"], c.Tolerance)
}

func goldenITML(t *testing.T, c *golden.Case, s goldenSet) {
	bounds := c.Inputs["bounds_squared_distance"].Data
	r := fit(t, ITML{Upper: bounds[0], Lower: bounds[1], Gamma: c.Params.Float("gamma", 1), Tolerance: 1e-9, MaxIterations: 20000}, paired(c, s))
	compareMetric(t, c, s, r, true)
	golden.Close64(t, "divergence", []float64{r.ObjectiveEnd}, c.Outputs["logdet_divergence_to_identity"], c.Tolerance)
}

func goldenLDA(t *testing.T, c *golden.Case, s goldenSet) {
	r := fit(t, LDA{Dim: c.Params.Int("n_components", 0)}, &Problem{X: s.train, Labels: s.trainLabels})
	compareMetric(t, c, s, r, true)
	if want, ok := c.Outputs["eigen_M"]; ok && len(want.Shape) == 2 { // the eigen solver divides by n, not n - C
		n, classes := len(s.trainLabels), len(distinctLabels(s.trainLabels))
		m := r.M()
		m.ScaleSym(float64(n)/float64(n-classes), m)
		tol := c.Tolerance
		tol.ATol += tol.RTol * golden.MaxAbs(want.Data)
		golden.Close64(t, "M of the eigen solver", flat(m), want, tol)
	}
	want := c.Outputs["explained_variance_ratio"]
	sum, ratios := 0.0, []float64{}
	for _, v := range r.Eigenvalues {
		sum += max(v, 0)
	}
	for _, v := range r.Eigenvalues[:len(want.Data)] {
		ratios = append(ratios, v/sum)
	}
	golden.Close64(t, "explained variance", ratios, want, c.Tolerance)
	own := c.Outputs["own_generalised_eigenvalues"]
	for k, v := range own.Data {
		if got := r.Eigenvalues[k] / r.Eigenvalues[0]; math.Abs(got-v/own.Data[0]) > c.Tolerance.ATol+c.Tolerance.RTol*v/own.Data[0] {
			t.Errorf("eigenvalue %d over the first is %v, want %v", k, got, v/own.Data[0])
		}
	}
}

func goldenLFDA(t *testing.T, c *golden.Case, s goldenSet) {
	f := LFDA{K: c.Params.Int("k", 0), Dim: c.Params.Int("n_components", 0), Embedding: Embedding(c.Params.String("embedding_type", ""))}
	r := fit(t, f, &Problem{X: s.train, Labels: s.trainLabels})
	// metric-learn's own formulas differ from the paper's; own_ outputs follow it.
	if want, ok := c.Outputs["own_M"]; ok {
		tol := c.Tolerance
		tol.ATol += tol.RTol * golden.MaxAbs(want.Data)
		golden.Close64(t, "M", flat(r.M()), want, tol)
	}
	want := c.Outputs["own_eigenvalues"]
	golden.Close64(t, "eigenvalues", r.Eigenvalues[:len(want.Data)], want, c.Tolerance)
	compareError(t, c, s, r, "own_test_error_5nn", 0)
}

func goldenLSML(t *testing.T, c *golden.Case, s goldenSet) {
	near, far := goldenPairs(c, "sim_a", "sim_b"), goldenPairs(c, "dis_a", "dis_b")
	p := &Problem{X: s.train}
	for k := range near {
		p.Quadruplets = append(p.Quadruplets, Quadruplet{near[k][0], near[k][1], far[k][0], far[k][1]})
	}
	r := fit(t, LSML{}, p)
	want := c.Outputs["objective_final"].Scalar()
	if r.ObjectiveEnd > want+1e-7*math.Abs(want) {
		t.Errorf("objective %v, to reach: %v", r.ObjectiveEnd, want)
	}
	if strings.Contains(c.Name, "optimum") {
		compareMetric(t, c, s, r, true)
	} else if start, ok := c.Outputs["objective_identity"]; ok {
		golden.Close64(t, "objective at the identity", []float64{r.ObjectiveStart}, start, golden.Tolerance{RTol: 1e-6, ATol: 1e-8})
	}
}

func goldenMMC(t *testing.T, c *golden.Case, s goldenSet) {
	p := paired(c, s)
	r := fit(t, MMC{}, p)
	if strings.Contains(c.Name, "optimum") {
		compareMetric(t, c, s, r, true)
	}
	own := 0.0
	for _, d := range squaredPairs(nil, transform(p.X, r.L), p.Similar) {
		own += d
	}
	golden.Close64(t, "t", []float64{own}, c.Outputs["t"], golden.Tolerance{RTol: 1e-6})
	level := c.Outputs["sum_dissimilar_distance"].Scalar()
	if v, ok := c.Outputs["sum_dissimilar_distance_rescaled"]; ok {
		level = v.Scalar()
	}
	if r.ObjectiveEnd < level*(1-1e-6) {
		t.Errorf("sum of dissimilar distances %v, to reach: %v", r.ObjectiveEnd, level)
	}
}

func goldenDiagonalMMC(t *testing.T, c *golden.Case, s goldenSet) {
	r := fit(t, DiagonalMMC{C: c.Params.Float("diagonal_c", 1)}, paired(c, s))
	for _, name := range []string{"objective_minimise", "objective_final"} {
		if want, ok := c.Outputs[name]; ok && r.ObjectiveEnd > want.Scalar()+1e-6*math.Abs(want.Scalar()) {
			t.Errorf("objective %v, to reach: %v", r.ObjectiveEnd, want.Scalar())
		}
	}
	if strings.Contains(c.Name, "optimum") {
		w := make([]float64, len(c.Outputs["w"].Data))
		for k := range w {
			w[k] = r.M().At(k, k)
		}
		golden.Close64(t, "w", w, c.Outputs["w"], c.Tolerance)
	}
}

func goldenNCA(t *testing.T, c *golden.Case, s goldenSet) {
	f := newNCAObjective(context.Background(), nil, s.train, s.trainLabels)
	l0 := goldenMatrix(c.Inputs["L0"])
	h, d := l0.Dims()
	g := mat.NewDense(h, d, nil)
	golden.Close64(t, "objective at L0", []float64{f.value(l0, g)}, c.Outputs["objective_at_L0"], c.Tolerance)
	tol := c.Tolerance
	tol.ATol += tol.RTol * golden.MaxAbs(c.Outputs["gradient_at_L0"].Data)
	golden.Close64(t, "gradient at L0", flat(g), c.Outputs["gradient_at_L0"], tol)

	start := goldenMatrix(c.Inputs["L_init"])
	h, _ = start.Dims()
	r := fit(t, NCA{Init: start, Dim: h, MaxIterations: 300, Restarts: 4}, &Problem{X: s.train, Labels: s.trainLabels})
	golden.Close64(t, "objective at the start", []float64{r.ObjectiveStart}, c.Outputs["objective_at_init"], c.Tolerance)
	if want := c.Outputs["objective_final"].Scalar(); r.ObjectiveEnd < want*(1-1e-5) {
		t.Errorf("objective %v, to reach: %v", r.ObjectiveEnd, want)
	}
	compareError(t, c, s, r, "test_error_5nn", max(3, len(s.testLabs)/20))
}

func goldenLMNN(t *testing.T, c *golden.Case, s goldenSet) {
	ctx := context.Background()
	k, reg := c.Params.Int("n_neighbors", 3), c.Params.Float("regularization", .5)
	set, err := newActiveSet(ctx, nil, s.train, s.trainLabels, k, reg)
	if err != nil {
		t.Fatal(err)
	}
	useGoldenTargets(t, c, s, set)
	l0 := goldenMatrix(c.Inputs["L0"])
	h, d := l0.Dims()
	if err := set.renew(ctx, l0); err != nil {
		t.Fatal(err)
	}
	n, _ := s.train.Dims()
	z, q := transform(s.train, l0), mat.NewDense(n, h, nil)
	v := set.value(z, z, q)
	exact := golden.Tolerance{RTol: 1e-6, ATol: 1e-6}
	golden.Close64(t, "objective at L0", []float64{v.total, v.pull, v.push}, c.Outputs["objective_at_L0"], exact)
	golden.Close64(t, "active at L0", []float64{float64(v.active)}, c.Outputs["active_at_L0"], golden.Tolerance{})
	g := mat.NewDense(h, d, nil)
	g.Mul(q.T(), s.train)
	g.Scale(2, g)
	want := c.Outputs["gradient_at_L0"]
	exact.ATol = 1e-6 * golden.MaxAbs(want.Data)
	if len(want.Shape) == 2 {
		golden.Close64(t, "gradient at L0", flat(g), want, exact)
	} else { // of a large one the norm comes first
		golden.Close64(t, "norm of the gradient at L0", []float64{mat.Norm(g, 2)}, golden.Tensor{Data: want.Data[:1]}, exact)
	}

	p := &Problem{X: s.train, Labels: s.trainLabels}
	r := fit(t, LMNN{K: k, Regularization: reg, MaxIterations: 1000}, p)
	golden.Close64(t, "objective at the identity", []float64{r.ObjectiveStart}, golden.Tensor{Data: c.Outputs["objective_identity"].Data[:1]}, golden.Tolerance{RTol: 1e-6})
	if want := c.Outputs["objective_best_known"].Scalar(); r.ObjectiveEnd > want*(1+c.Tolerance.RTol) {
		t.Errorf("objective %v, best known: %v", r.ObjectiveEnd, want)
	}
	compareError(t, c, s, r, "test_error_5nn", max(3, len(s.testLabs)/20))
	convex := fit(t, ConvexLMNN{K: k, Regularization: reg}, p)
	if want := c.Outputs["objective_best_known"].Scalar(); !convex.Converged || convex.ObjectiveEnd > want*(1+5*c.Tolerance.RTol) {
		t.Errorf("objective of the convex form %v, to reach: %v, converged: %v", convex.ObjectiveEnd, want, convex.Converged)
	}
}

// useGoldenTargets compares the distances of target neighbors, since ties may
// be broken differently, and continues with the case's own.
func useGoldenTargets(t *testing.T, c *golden.Case, s goldenSet, set *activeSet) {
	t.Helper()
	want := c.Outputs["target_neighbors"]
	k := want.Shape[1]
	for i, row := range set.targets {
		if len(row) != k {
			t.Fatalf("row %d has %d targets, want %d", i, len(row), k)
		}
		for c := range row {
			theirs := want.Ints()[i*k+c]
			got := squared(s.train.RawRowView(i), s.train.RawRowView(row[c]))
			if d := squared(s.train.RawRowView(i), s.train.RawRowView(theirs)); math.Abs(got-d) > 1e-7*(1+d) {
				t.Errorf("target %d of row %d is at %v, want %v", c, i, got, d)
			}
			row[c] = theirs
		}
	}
}

func goldenRCA(t *testing.T, c *golden.Case, s goldenSet) {
	r := fit(t, RCA{Dim: c.Params.Int("n_components", 0)}, &Problem{X: s.train, Chunks: c.Inputs["chunks"].Ints()})
	compareMetric(t, c, s, r, true)
}

func goldenSDML(t *testing.T, c *golden.Case, s goldenSet) {
	p := paired(c, s)
	balance, sparsity := c.Params.Float("balance_param", 0), c.Params.Float("sparsity_param", 0)
	r := fit(t, SDML{Balance: balance, Sparsity: sparsity}, p)
	compareMetric(t, c, s, r, true)
	if want := c.Outputs["objective"].Scalar(); r.ObjectiveEnd > want+c.Tolerance.ATol {
		t.Errorf("objective %v, to reach: %v", r.ObjectiveEnd, want)
	}
	diff := scatterOf(p.X, p.Similar)
	subSym(diff, diff, scatterOf(p.X, p.Dissimilar))
	prior, err := SDML{Balance: balance}.prior(diff, len(p.Similar))
	if err != nil {
		t.Fatal(err)
	}
	golden.Close64(t, "P", flat(prior), c.Outputs["P"], golden.Tolerance{RTol: 1e-6, ATol: 1e-7})
}

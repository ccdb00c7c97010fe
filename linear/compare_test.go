package linear

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// csvOf writes a problem as a table.
func csvOf(p *Problem) string {
	var b strings.Builder
	_, d := p.X.Dims()
	for j := range d {
		fmt.Fprintf(&b, "x%d,", j)
	}
	b.WriteString("label\n")
	for i, y := range p.Labels {
		for _, v := range p.X.RawRowView(i) {
			fmt.Fprintf(&b, "%g,", v)
		}
		fmt.Fprintf(&b, "class %d\n", y)
	}
	return b.String()
}

func TestCompareIsFairAndRepeatable(t *testing.T) {
	tab := read(t, csvOf(blobs(3, 30, 25, 1)), ReadOptions{})
	learners, err := Candidates([]string{"euclidean", "lda", "gmml"})
	if err != nil {
		t.Fatal(err)
	}
	run := func() *Comparison {
		c, err := Compare(context.Background(), tab, learners, Trials{Trials: 4, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := run(), run()
	for i, r := range a.Results {
		if len(r.Errors) != 4 || r.Failed != "" {
			t.Fatalf("%+v", r)
		}
		for k, e := range r.Errors {
			if e != b.Results[i].Errors[k] {
				t.Errorf("%s, trial %d: %v and %v", r.Learner, k, e, b.Results[i].Errors[k])
			}
		}
	}
	if e, l := a.Result("euclidean").Mean, a.Result("lda").Mean; l >= e {
		t.Errorf("LDA errs in %v%%, Euclidean in %v%%", l, e)
	}
}

func TestCompareReportsALearnerThatFails(t *testing.T) {
	tab := read(t, csvOf(blobs(2, 20, 3, 2)), ReadOptions{})
	odd := Candidate{"odd", func(Env) Learner { return LMNN{Regularization: 3} }}
	plain := Candidate{"euclidean", func(Env) Learner { return Euclidean{} }}
	c, err := Compare(context.Background(), tab, []Candidate{odd, plain}, Trials{Trials: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Results[0]; !strings.Contains(r.Failed, "regularization") || len(r.Errors) != 0 {
		t.Errorf("%+v", r)
	}
	if r := c.Results[1]; len(r.Errors) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestCompareNeedsTwoClasses(t *testing.T) {
	tab := read(t, "a,label\n1,x\n2,x\n3,x\n", ReadOptions{})
	if _, err := Compare(context.Background(), tab, nil, Trials{}); err == nil || !strings.Contains(err.Error(), "has those of [\"x\"]") {
		t.Errorf("error %v", err)
	}
}

func TestNoise(t *testing.T) {
	x := mat.NewDense(200, 50, nil)
	Noise{Kind: Gaussian, Level: .1}.add(x, newRand(1, 1))
	if v := mat.Norm(x, 2) * mat.Norm(x, 2) / 10000; math.Abs(v-.1) > .01 {
		t.Errorf("variance %v, want 0.1", v)
	}
	x.Zero()
	Noise{Kind: Impulse, Level: .1}.add(x, newRand(1, 1))
	hit := 0
	for _, v := range x.RawMatrix().Data {
		if v != 0 {
			hit++
		}
	}
	if hit < 900 || hit > 1100 {
		t.Errorf("%d of 10000 features hit, want about 1000", hit)
	}
	for _, bad := range []Noise{{Kind: "pink"}, {Kind: Impulse, Level: 2}, {Kind: Gaussian, Level: -1}} {
		if bad.validate() == nil {
			t.Errorf("%+v passed", bad)
		}
	}
}

func TestPrincipalComponentsKeepDistances(t *testing.T) {
	p := blobs(2, 20, 4, 3)
	for i := range p.Labels {
		p.X.Set(i, 3, p.X.At(i, 0)-p.X.At(i, 2)) // rank 3
	}
	v, err := Principal(p.X, 4)
	if err != nil {
		t.Fatal(err)
	}
	z := transform(p.X, v)
	if h, _ := v.Dims(); h != 3 {
		t.Errorf("%d components, the rank is 3", h)
	}
	if a, b := squared(p.X.RawRowView(0), p.X.RawRowView(7)), squared(z.RawRowView(0), z.RawRowView(7)); math.Abs(a-b) > 1e-9*a {
		t.Errorf("squared distance %v became %v", a, b)
	}
	if _, err := Principal(p.X, 0); err == nil {
		t.Error("no component is no projection")
	}
}

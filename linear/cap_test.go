package linear

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The penalty's gradient by finite differences on a matrix whose eigenvalues lie
// on both sides of the threshold.
func TestCappedTraceGradient(t *testing.T) {
	rng := newRand(3, 1)
	l := mat.NewDense(5, 5, nil)
	for i := range l.RawMatrix().Data {
		l.RawMatrix().Data[i] = .6 * rng.NormFloat64()
	}
	m := gram(l)
	c := cappedTrace{weight: 2.5, threshold: .5}
	e, err := eigenOf(m)
	if err != nil {
		t.Fatal(err)
	}
	if !(e.values[0] > c.threshold && e.values[4] < c.threshold) {
		t.Fatalf("eigenvalues %v are on one side of %v", e.values, c.threshold)
	}
	g := mat.NewSymDense(5, nil)
	c.addGradient(g, e)
	at := func(i, j int, step float64) float64 {
		n := mat.NewSymDense(5, nil)
		n.CopySym(m)
		n.SetSym(i, j, n.At(i, j)+step)
		e, err := eigenOf(n)
		if err != nil {
			t.Fatal(err)
		}
		return c.value(e)
	}
	const h = 1e-6
	for i := range 5 {
		for j := i; j < 5; j++ {
			want := (at(i, j, h) - at(i, j, -h)) / (2 * h)
			got := g.At(i, j)
			if i != j {
				got *= 2 // both halves move
			}
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("d/dM[%d][%d] is %v, differences say %v", i, j, got, want)
			}
		}
	}
}

// Two columns hold the classes and six hold noise: CAP drops most of the noise,
// where the same steps without the penalty keep it.
func TestCAPDropsDirectionsOfNoise(t *testing.T) {
	const n, d = 120, 8
	rng := newRand(5, 2)
	x, labels := mat.NewDense(n, d, nil), make([]int, n)
	for i := range n {
		labels[i] = i % 3
		for j := range d {
			x.Set(i, j, rng.NormFloat64())
		}
		x.Set(i, 0, .3*x.At(i, 0)+2*math.Cos(2*math.Pi*float64(labels[i])/3))
		x.Set(i, 1, .3*x.At(i, 1)+2*math.Sin(2*math.Pi*float64(labels[i])/3))
	}
	p := &Problem{X: x, Labels: labels}
	rank := func(l Learner) (int, *Result) {
		r, err := l.Fit(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		e, err := eigenOf(gram(r.L))
		if err != nil {
			t.Fatal(err)
		}
		return e.rank(), r
	}
	capped, r := rank(CAP{Gamma: 0.3})
	free, _ := rank(CAP{Gamma: 1e-9})
	if capped > 4 || free <= capped {
		t.Errorf("rank %d with the penalty, %d without; want 4 or less, and more", capped, free)
	}
	if !(r.ObjectiveEnd < r.ObjectiveStart) {
		t.Errorf("objective from %v to %v", r.ObjectiveStart, r.ObjectiveEnd)
	}
	if _, err := (CAP{Gamma: -1}).Fit(context.Background(), p); err == nil {
		t.Error("a negative weight is accepted")
	}
}

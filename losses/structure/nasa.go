package structure

import (
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// NASA is neighborhood-adaptive structure augmented metric learning (Li et al. 2022, the
// form with real numbers). Rows x are divided by the mean distance of different rows, with
// gradient. A second head gives each row i weights of coordinates w_i = 0.5 +
// sigmoid(z_i), by which it measures distances of its own:
//
//	D(i,j) = sqrt(sum_k w_ik max((e_ik - e_jk)^2, 1e-12))
//
// Each is drawn to the nearer of two levels, high, the mean m of all n^2 distances |e_i -
// e_j|, and low = max(0.2 m, m - Deviations s), s their deviation (divisor n^2 - 1); both
// are constants for the gradient. With u = |D - high|, v = |D - low| and c =
// 1/(1 + exp(Sharpness (u - v))) the term is
//
//	Weight * mean over i != j of c u + (1 - c) v
//
// Labels count nothing. Of one row, and of rows that are all equal, it is 0.
//
// The zero value has the authors' constants for Cars: Weight 2, Deviations 3, Sharpness 10.
type NASA struct {
	Weight, Deviations, Sharpness float64
}

// floor of squared differences, as in the authors' code.
const floor = 1e-12

// Kinds returns Raw and Structure.
func (NASA) Kinds() []Kind { return []Kind{Raw, Structure} }

// Eval implements Term.
func (t NASA) Eval(labels []int, views []View) (float64, error) {
	var own NASA
	for _, f := range []struct {
		name     string
		to       *float64
		v, paper float64
	}{{"Weight", &own.Weight, t.Weight, 2}, {"Deviations", &own.Deviations, t.Deviations, 3}, {"Sharpness", &own.Sharpness, t.Sharpness, 10}} {
		var err error
		if *f.to, err = setting("nasa", f.name, f.v, f.paper); err != nil {
			return 0, err
		}
	}
	n := len(labels)
	if err := check("nasa", n, 2, views); err != nil {
		return 0, err
	}
	x, z := views[0], views[1]
	mean := 0.
	for i := range n {
		for j := range i {
			mean += math.Sqrt(x.square(i, j)) * 2 / float64(n*(n-1))
		}
	}
	if mean == 0 {
		return 0, nil
	}
	e := View{Dim: x.Dim, X: make([]float64, len(x.X)), Grad: make([]float64, len(x.X))}
	for k, v := range x.X {
		e.X[k] = v / mean
	}
	high, low := levels(e, n, own.Deviations)
	value := own.distances(e, z, n, high, low)
	if x.Grad == nil {
		return value, nil
	}
	along := 0.
	for k, g := range e.Grad {
		x.Grad[k] = g / mean
		along += g * x.X[k]
	}
	by := -along / (mean * mean) * 2 / float64(n*(n-1))
	for i := range n {
		for j := range i {
			if d := math.Sqrt(x.square(i, j)); d > 0 {
				x.pull(i, j, by/(2*d))
			}
		}
	}
	return value, nil
}

// levels are high and low.
func levels(e View, n int, deviations float64) (high, low float64) {
	all := float64(n * n)
	for i := range n {
		for j := range i {
			high += 2 * math.Sqrt(e.square(i, j)) / all
		}
	}
	squares := float64(n) * high * high // of the diagonal
	for i := range n {
		for j := range i {
			d := math.Sqrt(e.square(i, j)) - high
			squares += 2 * d * d
		}
	}
	return high, max(.2*high, high-deviations*math.Sqrt(squares/(all-1)))
}

// distances returns the term of scaled rows and adds its gradient by them to e.Grad, and by
// the numbers of the head to z.Grad.
func (t NASA) distances(e, z View, n int, high, low float64) (value float64) {
	h := e.Dim
	share := t.Weight / float64(n*(n-1))
	w, dw := make([]float64, h), make([]float64, h)
	for i := range n {
		for k := range w {
			w[k] = .5 + 1/(1+math.Exp(-z.X[i*h+k]))
		}
		clear(dw)
		for j := range n {
			if j == i {
				continue
			}
			sum := 0.
			for k := range w {
				d := e.X[i*h+k] - e.X[j*h+k]
				sum += w[k] * max(d*d, floor)
			}
			dist := math.Sqrt(sum)
			u, v := math.Abs(dist-high), math.Abs(dist-low)
			c := 1 / (1 + math.Exp(t.Sharpness*(u-v)))
			value += share * (c*u + (1-c)*v)
			bend := (u - v) * t.Sharpness * c * (1 - c)
			slope := share * ((c-bend)*sign(dist-high) + (1-c+bend)*sign(dist-low)) / (2 * dist)
			for k := range w {
				d := e.X[i*h+k] - e.X[j*h+k]
				dw[k] += slope * max(d*d, floor)
				if d*d > floor {
					g := 2 * slope * w[k] * d
					e.Grad[i*h+k] += g
					e.Grad[j*h+k] -= g
				}
			}
		}
		if z.Grad != nil {
			for k, g := range dw {
				s := w[k] - .5
				z.Grad[i*h+k] = g * s * (1 - s)
			}
		}
	}
	return value
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// HeadWidth is the hidden width of the authors' structure head.
const HeadWidth = 512

// Head adds NASA's structure head on features (B, C) to the layers that only training
// needs: linear to HeadWidth, batch normalization, linear to dim, batch normalization, both
// with statistics that stay 0 and 1, so that they scale and shift. The sigmoid is the
// term's.
func Head(g *layers.Graph, features *layers.Node, width, dim int) *layers.Node {
	const name = "training.nasa."
	defer g.In(layers.Training)()
	x := features
	for i, out := range []int{width, dim} {
		layer := name + "fc1"
		if i == 1 {
			layer = name + "fc2"
		}
		x = g.BatchNormModule(layer+".norm", g.LinearModule(layer, x, out), 1e-5, 0, true)
	}
	return x
}

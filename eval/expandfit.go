package eval

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/metric"
)

// expandFit searches for the terms of an Expansion.
type expandFit struct {
	m            metric.Metric
	far, largest float64
	t, f         []float64 // points of the fit, dense at 0, and F there
}

// expandTerms are one candidate and the bound of its error.
type expandTerms struct {
	frequency, weight []float64
	linear, bound     float64
}

const (
	expandPoints = 256
	expandCheck  = 1 << 13
	lawsonSteps  = 8
	spacings     = 28
)

func newExpandFit(m metric.Metric, far, largest float64) *expandFit {
	f := &expandFit{m: m, far: far, largest: largest}
	for i := range expandPoints {
		x := float64(i+1) / expandPoints
		f.t = append(f.t, far*x*(0.25+0.75*x))
	}
	for _, t := range f.t {
		f.f = append(f.f, f.value(t))
	}
	return f
}

func (f *expandFit) value(t float64) float64 {
	v := f.m.Restriction.Value(t, f.m.Omega)
	if f.m.P == 2 {
		v *= v
	}
	return v
}

// best returns the best n frequencies, of those that are multiples of a spacing or
// odd multiples of its half: F, extended beyond the range as it likes, is then a
// Fourier series, whose period decides between the range and the highest frequency.
// It ends early with one that keeps within eps.
func (f *expandFit) best(n int, eps float64) expandTerms {
	best := expandTerms{bound: math.Inf(1)}
	for i := range spacings {
		// A period of 1 to 6 ranges, both signs of t counted.
		spacing := math.Pi / f.far * math.Pow(6, -float64(i)/(spacings-1)) * 1.2
		for _, half := range []float64{0, 0.5} {
			fs := make([]float64, n)
			for k := range fs {
				fs[k] = (float64(k+1) - half) * spacing
			}
			if t, near := f.fit(fs); near < best.bound {
				if t.bound = f.bound(t); t.bound < best.bound {
					best = t
				}
				if best.bound <= eps {
					return best
				}
			}
		}
	}
	return best
}

// fit finds weights, none negative, of small largest error over the points, by
// least squares whose points are weighted again by their errors (Lawson 1961). It
// returns that error, too; terms of weight 0 are left out.
func (f *expandFit) fit(fs []float64) (best expandTerms, least float64) {
	n := len(fs) + 1
	a := mat.NewDense(expandPoints, n, nil)
	for i, t := range f.t {
		a.Set(i, 0, t*t/f.far/f.far)
		for k, w := range fs {
			a.Set(i, k+1, 1-math.Cos(w*t))
		}
	}
	weight := make([]float64, expandPoints)
	for i := range weight {
		weight[i] = 1.0 / expandPoints
	}
	least = math.Inf(1)
	for range lawsonSteps {
		x := nonNegative(a, f.f, weight)
		largest, sum := 0.0, 0.0
		for i := range weight {
			e := -f.f[i]
			for k, v := range x {
				e += v * a.At(i, k)
			}
			largest = math.Max(largest, math.Abs(e))
			weight[i] *= math.Abs(e) + 1e-15
			sum += weight[i]
		}
		for i := range weight {
			weight[i] = weight[i]/sum + 1e-4/expandPoints
		}
		if largest < least {
			least = largest
			best = expandTerms{linear: x[0] / f.far / f.far}
			for k, v := range x[1:] {
				if v > 0 {
					best.frequency, best.weight = append(best.frequency, fs[k]), append(best.weight, v)
				}
			}
		}
	}
	return best, least
}

// bound is proven: the largest error at many points d apart, which between them can
// grow by max|error”| d^2/8, and what rounding of the rows to float32 adds.
func (f *expandFit) bound(t expandTerms) float64 {
	d := f.far / expandCheck
	curvature := f.curvature() + 2*t.linear
	norm := t.linear * f.largest * f.largest
	for k, w := range t.weight {
		curvature += w * t.frequency[k] * t.frequency[k]
		norm += w / 2
	}
	largest := 0.0
	for i := range expandCheck + 1 {
		x := float64(i) * d
		e := t.linear*x*x - f.value(x)
		for k, w := range t.weight {
			e += w * (1 - math.Cos(t.frequency[k]*x))
		}
		largest = math.Max(largest, math.Abs(e))
	}
	largest += curvature * d * d / 8
	// Both rows move by unitRoundoff of their length at most.
	moved := 2 * unitRoundoff * math.Sqrt(norm)
	farthest := math.Sqrt(f.value(f.far) + largest)
	return largest + 2*farthest*moved + moved*moved
}

// curvature bounds |F”| on t >= 0: 2 R'(0)^2 for p = 2, see sketch, and max|R”|.
func (f *expandFit) curvature() float64 {
	if f.m.P == 2 {
		s := f.m.Restriction.Slope(0, f.m.Omega)
		return 2 * s * s
	}
	switch f.m.Restriction {
	case metric.Sigmoid:
		return 0.193 // 1/(3 sqrt 3)
	case metric.SoftSign:
		return 2 // at 0
	case metric.ArcTan:
		return 0.65 // 3 sqrt 3/8
	case metric.TanH:
		return 0.77 // 4/(3 sqrt 3)
	}
	return 0.859 * math.Sqrt(f.m.Omega) // isru: at t = 1/(2 sqrt omega)
}

// nonNegative minimizes sum_i weight_i (a x - f)_i^2 for x >= 0 (Lawson and Hanson
// 1974, chapter 23, on the normal equations as Bro and De Jong 1997).
func nonNegative(a *mat.Dense, f, weight []float64) []float64 {
	rows, n := a.Dims()
	g, r := mat.NewSymDense(n, nil), make([]float64, n)
	for j := range n {
		for k := j; k < n; k++ {
			sum := 0.0
			for i := range rows {
				sum += weight[i] * a.At(i, j) * a.At(i, k)
			}
			if j == k {
				sum *= 1 + 1e-13 // keeps nearly equal columns apart
			}
			g.SetSym(j, k, sum)
		}
		for i := range rows {
			r[j] += weight[i] * a.At(i, j) * f[i]
		}
	}
	x, free := make([]float64, n), make([]bool, n)
	for range 3 * n {
		at, most := -1, 1e-12
		for j := range n {
			slope := r[j]
			for k := range n {
				slope -= g.At(j, k) * x[k]
			}
			if !free[j] && slope > most {
				at, most = j, slope
			}
		}
		if at < 0 {
			break
		}
		free[at] = true
		if !solveFree(g, r, x, free) {
			free[at] = false
			break
		}
	}
	return x
}

// solveFree moves x to the minimum over its free variables, stopping where one
// becomes 0, which is then held. It returns false if the equations are singular.
func solveFree(g *mat.SymDense, r, x []float64, free []bool) bool {
	for {
		var index []int
		for j, is := range free {
			if is {
				index = append(index, j)
			}
		}
		if len(index) == 0 {
			return true
		}
		sub, right := mat.NewSymDense(len(index), nil), mat.NewVecDense(len(index), nil)
		for i, j := range index {
			right.SetVec(i, r[j])
			for k := i; k < len(index); k++ {
				sub.SetSym(i, k, g.At(j, index[k]))
			}
		}
		var c mat.Cholesky
		if !c.Factorize(sub) {
			return false
		}
		var z mat.VecDense
		if err := c.SolveVecTo(&z, right); err != nil {
			if _, ok := err.(mat.Condition); !ok {
				return false
			}
		}
		step, held := 1.0, -1
		for i, j := range index {
			if v := z.AtVec(i); v <= 0 {
				if s := x[j] / (x[j] - v); s < step || held < 0 {
					step, held = math.Min(step, s), j
				}
			}
		}
		for i, j := range index {
			x[j] += step * (z.AtVec(i) - x[j])
		}
		if held < 0 {
			return true
		}
		x[held], free[held] = 0, false
	}
}

// Package lbfgs minimizes functions of many variables that may have kinks.
package lbfgs

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Limits bound a minimization.
type Limits struct {
	Iterations int
	// Change ends it when the objective fell by less than Change*max(1, |f|) in
	// each of three iterations; Gradient when the largest entry of the gradient
	// times the largest of x, which has the unit of the objective, is below
	// Gradient*max(1, |f|).
	Change, Gradient float64
}

// Outcome is how a minimization went: the objective before and after, and whether a
// criterion of Limits ended it at a point that counts as minimal.
type Outcome struct {
	Start, End float64
	Iterations int
	Converged  bool
}

// memory of L-BFGS in pairs.
const memory = 12

// Minimize runs L-BFGS from x, in place. f sets grad and returns the value; +Inf
// says that x is not allowed, which the first x must not be. The line search
// bisects for the weak Wolfe conditions, which also suits functions with kinks
// (Lewis and Overton 2013, Algorithm 2.6): those of LMNN and LSML have some. NCA and MMC
// are smooth, but gonum's optimize.LBFGS does not leave their starts in two of the tests
// (TestNCALeavesAFlatStart, TestNCANeedsNoMemoryPerPairOfRows), where its line search
// gives up.
func Minimize(ctx context.Context, x []float64, f func(x, grad []float64) float64, d Limits) (Outcome, error) {
	n := len(x)
	g := make([]float64, n)
	fx := f(x, g)
	out := Outcome{Start: fx, End: fx}
	if math.IsNaN(fx) || math.IsInf(fx, 0) {
		return out, fmt.Errorf("the objective is %v at the start", fx)
	}
	h := history{}
	next, gNext, dir := make([]float64, n), make([]float64, n), make([]float64, n)
	still := 0
	for out.Iterations < d.Iterations {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if Slope(x, g, fx) <= d.Gradient {
			out.Converged = true
			return out, nil
		}
		h.direction(dir, g)
		if floats.Dot(dir, g) >= 0 { // rounding spoilt the curvature
			h = history{}
			h.direction(dir, g)
		}
		step := 1.0
		if len(h.s) == 0 {
			step = 1 / floats.Norm(g, 2)
			if size := floats.Norm(x, 2); size > 0 {
				step *= min(1, size)
			}
		}
		fNext, ok := wolfe(f, x, fx, g, dir, step, next, gNext)
		if !ok {
			if len(h.s) == 0 { // not even along the gradient
				out.Converged = Slope(x, g, fx) <= LevelSlope
				return out, nil
			}
			h = history{}
			continue
		}
		out.Iterations++
		h.push(next, x, gNext, g)
		if fx-fNext <= d.Change*max(1, math.Abs(fx)) {
			still++
		} else {
			still = 0
		}
		copy(x, next)
		copy(g, gNext)
		fx = fNext
		out.End = fx
		if still == 3 {
			// What a Newton step would gain does not depend on the scale of x.
			h.direction(dir, g)
			out.Converged = -floats.Dot(dir, g) <= LevelSlope*max(1, math.Abs(fx))
			return out, nil
		}
	}
	return out, nil
}

// LevelSlope is the slope, relative to the objective, at which an objective that falls
// no longer counts as minimal and not as stuck.
const LevelSlope = 1e-4

// Slope is the largest entry of the gradient times that of x, relative to the
// objective.
func Slope(x, g []float64, fx float64) float64 {
	inf := math.Inf(1)
	return floats.Norm(g, inf) * floats.Norm(x, inf) / max(1, math.Abs(fx))
}

// wolfe searches along dir and leaves the point and its gradient in next and
// gNext. It fails if no step lowers f beyond rounding.
func wolfe(f func(x, g []float64) float64, x []float64, fx float64, g, dir []float64, step float64, next, gNext []float64) (float64, bool) {
	const armijo, curvature, tries = 1e-4, .9, 40
	slope := floats.Dot(g, dir)
	low, high := 0.0, math.Inf(1)
	bestF, bestStep := math.Inf(1), 0.0
	for range tries {
		floats.AddScaledTo(next, x, step, dir)
		v := f(next, gNext)
		switch {
		case !(v <= fx+armijo*step*slope): // also NaN
			high = step
		case floats.Dot(gNext, dir) < curvature*slope:
			if v < bestF {
				bestF, bestStep = v, step
			}
			low = step
		default:
			return v, true
		}
		if math.IsInf(high, 1) {
			step *= 2
		} else {
			step = (low + high) / 2
		}
		if high-low < 1e-14*max(1, high) {
			break
		}
	}
	if bestStep == 0 {
		return 0, false
	}
	floats.AddScaledTo(next, x, bestStep, dir)
	return f(next, gNext), true
}

// history is the memory of L-BFGS (Nocedal and Wright 2006, Algorithm 7.4).
type history struct {
	s, y [][]float64
	rho  []float64
}

func (h *history) push(next, x, gNext, g []float64) {
	s, y := make([]float64, len(x)), make([]float64, len(x))
	floats.SubTo(s, next, x)
	floats.SubTo(y, gNext, g)
	sy := floats.Dot(s, y)
	if sy <= 1e-14*floats.Norm(s, 2)*floats.Norm(y, 2) {
		return
	}
	h.s, h.y, h.rho = append(h.s, s), append(h.y, y), append(h.rho, 1/sy)
	if len(h.s) > memory {
		h.s, h.y, h.rho = h.s[1:], h.y[1:], h.rho[1:]
	}
}

func (h *history) direction(dir, g []float64) {
	copy(dir, g)
	floats.Scale(-1, dir)
	k := len(h.s)
	if k == 0 {
		return
	}
	alpha := make([]float64, k)
	for i := k - 1; i >= 0; i-- {
		alpha[i] = h.rho[i] * floats.Dot(h.s[i], dir)
		floats.AddScaled(dir, -alpha[i], h.y[i])
	}
	floats.Scale(1/(h.rho[k-1]*floats.Dot(h.y[k-1], h.y[k-1])), dir)
	for i := range k {
		beta := h.rho[i] * floats.Dot(h.y[i], dir)
		floats.AddScaled(dir, alpha[i]-beta, h.s[i])
	}
}

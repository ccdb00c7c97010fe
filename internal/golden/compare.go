package golden

import (
	"fmt"
	"math"
	"testing"
)

// Float32 arithmetic may miss a golden number by Rel32 times the largest
// magnitude in its tensor, plus Abs32.
const (
	Rel32 = 2e-5
	Abs32 = 1e-7
)

// Close64 fails the test unless got agrees with want to a tolerance. NaN agrees
// with NaN only, an infinity with itself only.
func Close64(t testing.TB, what string, got []float64, want Tensor, tol Tolerance) {
	t.Helper()
	report(t, what, Compare(got, want.Data, func(w float64) float64 { return tol.ATol + tol.RTol*math.Abs(w) }))
}

// Close32 fails the test unless every number of got is within
// Rel32*max|want| + Abs32 of want.
func Close32(t testing.TB, what string, got []float32, want Tensor) {
	t.Helper()
	Within32(t, what, got, want.Data, Rel32, Abs32)
}

// Within32 fails the test unless every number of got is within
// rel*max|want| + abs of want.
func Within32(t testing.TB, what string, got []float32, want []float64, rel, abs float64) {
	t.Helper()
	limit := abs + rel*MaxAbs(want)
	wide := make([]float64, len(got))
	for i, x := range got {
		wide[i] = float64(x)
	}
	report(t, what, Compare(wide, want, func(float64) float64 { return limit }))
}

func report(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// MaxAbs returns the largest finite magnitude in x, 0 if there is none.
func MaxAbs(x []float64) float64 {
	most := 0.0
	for _, v := range x {
		if a := math.Abs(v); a > most && !math.IsInf(v, 0) {
			most = a
		}
	}
	return most
}

// Compare returns nil if every |got - want| is at most limit(want), otherwise an
// error with the first number that is not, how many are not, and the largest
// error of all.
func Compare(got, want []float64, limit func(want float64) float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d numbers, want %d", len(got), len(want))
	}
	first, bad, worst, largest := -1, 0, 0, -1.0
	for i, w := range want {
		e := difference(got[i], w)
		if e > largest {
			worst, largest = i, e
		}
		if e > limit(w) {
			if bad++; first < 0 {
				first = i
			}
		}
	}
	if bad == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d numbers differ; first [%d]: got %v, want %v (off by %.3g, limit %.3g); largest error %.3g at [%d]",
		bad, len(want), first, got[first], want[first], difference(got[first], want[first]), limit(want[first]), largest, worst)
}

// difference is |a - b|, with 0 for equal non-finite numbers and +Inf for
// different ones.
func difference(a, b float64) float64 {
	switch {
	case a == b || math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a) || math.IsNaN(b) || math.IsInf(a, 0) || math.IsInf(b, 0):
		return math.Inf(1)
	}
	return math.Abs(a - b)
}

package metric

import (
	"math"
	"testing"
)

var restrictionCases = []struct {
	r     Restriction
	omega float64
}{{Sigmoid, 0}, {SoftSign, 0}, {ArcTan, 0}, {TanH, 0}, {ISRU, 1}, {ISRU, 0.5}, {ISRU, 1e-6}, {ISRU, 1e6}}

// closeRel reports |got - want| <= tol*|want|.
func closeRel(got, want, tol float64) bool { return math.Abs(got-want) <= tol*math.Abs(want) }

func TestRestrictionKnownValues(t *testing.T) {
	for _, c := range []struct {
		r              Restriction
		omega, t, want float64
	}{
		{Sigmoid, 0, math.Log(3), 0.5}, // 2/(1+1/3) - 1
		{SoftSign, 0, 3, 0.75},
		{ArcTan, 0, 1, math.Pi / 4},
		{TanH, 0, math.Log(3) / 2, 0.5}, // (3-1)/(3+1)
		{ISRU, 1, 0.75, 0.6},            // 3/4 over 5/4
		{ISRU, 4, 1, 1 / math.Sqrt(5)},
		{ISRU, 0.25, 3, 3 / math.Sqrt(3.25)},
	} {
		if got := c.r.Value(c.t, c.omega); !closeRel(got, c.want, 4e-16) {
			t.Errorf("%v(%v), omega %v: got %v, want %v", c.r, c.t, c.omega, got, c.want)
		}
	}
}

func TestRestrictionAtTinyArgumentsKeepsItsDigits(t *testing.T) {
	for _, c := range restrictionCases {
		half := 1.0
		if c.r == Sigmoid {
			half = 0.5
		}
		for _, x := range []float64{1e-9, 1e-30, 1e-150, 1e-300} {
			// R(t) = R'(0) t (1 + O(t)), and omega t^2 is far below an ulp.
			if got := c.r.Value(x, c.omega); !closeRel(got, half*x, 4e-16+2*x) {
				t.Errorf("%v(%v): got %v, want %v", c.r, x, got, half*x)
			}
			if got := c.r.Slope(x, c.omega); !closeRel(got, half, 4e-16+4*x) {
				t.Errorf("%v'(%v): got %v, want %v", c.r, x, got, half)
			}
		}
	}
}

func TestRestrictionIsIncreasingBoundedAndFinite(t *testing.T) {
	for _, c := range restrictionCases {
		if c.r.Value(0, c.omega) != 0 {
			t.Errorf("%v(0) is %v", c.r, c.r.Value(0, c.omega))
		}
		bound, last, lastSlope := c.r.Bound(c.omega), 0.0, math.Inf(1)
		for e := -310.0; e <= 308; e += 0.125 {
			x := math.Pow(10, e)
			v, s := c.r.Value(x, c.omega), c.r.Slope(x, c.omega)
			if !(v >= last*(1-4e-16)) || !(v <= bound*(1+4e-16)) {
				t.Fatalf("%v(%v) is %v after %v, bound %v", c.r, x, v, last, bound)
			}
			if !(s >= 0 && s <= lastSlope*(1+1e-15)) {
				t.Fatalf("%v'(%v) is %v after %v", c.r, x, s, lastSlope)
			}
			last, lastSlope = v, s
		}
		for _, x := range []float64{1e308, math.MaxFloat64, math.Inf(1)} {
			if v := c.r.Value(x, c.omega); !closeRel(v, bound, 4e-16) {
				t.Errorf("%v(%v) is %v, want the bound %v", c.r, x, v, bound)
			}
		}
	}
}

func TestRestrictionSlopeIsTheDerivative(t *testing.T) {
	for _, c := range restrictionCases {
		for _, x := range []float64{0.01, 0.3, 1, 2.5, 7} {
			if c.omega == 1e6 {
				x /= 1e3 // the bend of isru is at 1/sqrt(omega)
			}
			h := 1e-5 * x
			want := (c.r.Value(x+h, c.omega) - c.r.Value(x-h, c.omega)) / (2 * h)
			if got := c.r.Slope(x, c.omega); math.Abs(got-want) > 1e-8 {
				t.Errorf("%v'(%v): got %v, differences say %v", c.r, x, got, want)
			}
		}
	}
}

func TestRestrictionOfNaNIsNaN(t *testing.T) {
	for _, c := range restrictionCases {
		if v := c.r.Value(math.NaN(), c.omega); !math.IsNaN(v) {
			t.Errorf("%v(NaN) is %v", c.r, v)
		}
	}
}

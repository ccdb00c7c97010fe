package losses

import "math"

// interval is where a number may lie.
type interval struct {
	low, high float64
	openLow   bool // low itself is refused
	openHigh  bool
}

// holds reports whether x lies in the interval; NaN and infinity lie in
// none.
func (i interval) holds(x float64) bool {
	if math.IsInf(x, 0) {
		return false
	}
	return (x > i.low || x == i.low && !i.openLow) && (x < i.high || x == i.high && !i.openHigh)
}

// text says which values of the named number lie in the interval.
func (i interval) text(name string) string {
	low, high := "", ""
	if !math.IsInf(i.low, -1) {
		low = format(i.low) + " <= "
		if i.openLow {
			low = format(i.low) + " < "
		}
	}
	if !math.IsInf(i.high, 1) {
		high = " <= " + format(i.high)
		if i.openHigh {
			high = " < " + format(i.high)
		}
	}
	if low == "" && high == "" {
		return "any number"
	}
	return low + name + high
}

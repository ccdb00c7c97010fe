// Package finite tells numbers from NaN and infinities.
package finite

// Is reports whether x is neither NaN nor infinite.
func Is(x float64) bool { return x-x == 0 }

//go:build race

package cpu

// draws says how many random cases a test runs: the race detector makes each
// many times slower.
func draws(n int) int { return n / 6 }

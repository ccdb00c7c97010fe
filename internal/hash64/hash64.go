// Package hash64 spreads numbers and texts over 64 bits: seeds of draws that depend on a
// key alone, and sums that tell rows apart. Nothing here keeps a secret.
package hash64

// Gamma is what SplitMix64 adds to its state for each number (Steele, Lea and Flood
// 2014): 2^64 divided by the golden ratio, odd.
const Gamma = 0x9e3779b97f4a7c15

// Mix is the finalizer of SplitMix64. It leaves 0 as it is: add Gamma to numbers that are
// small.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Text is FNV-1a of a text.
func Text(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}

package data

import "math/rand/v2"

// Draws are made per key, never from a shared stream: an image's augmentation
// depends on (seed, epoch, item, visit) and not on which worker met it when.

// mix is the finaliser of splitmix64 (Steele, Lea & Flood 2014).
func mix(s uint64) uint64 {
	s = (s ^ s>>30) * 0xbf58476d1ce4e5b9
	s = (s ^ s>>27) * 0x94d049bb133111eb
	return s ^ s>>31
}

// mixAll folds several numbers into one; their order matters.
func mixAll(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h = mix(h+p) + 0x9e3779b97f4a7c15
	}
	return mix(h)
}

// mixString is FNV-1a, 64 bits, then mix.
func mixString(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h)
}

// newRand returns the generator of a key.
func newRand(parts ...uint64) *rand.Rand {
	h := mixAll(parts...)
	return rand.New(rand.NewPCG(h, mix(h^0xd1b54a32d192ed03)))
}

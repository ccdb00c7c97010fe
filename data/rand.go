package data

import (
	"math/rand/v2"

	"github.com/vernier-ml/vernier/internal/hash64"
)

// Draws are made per key, never from a shared stream: an image's augmentation
// depends on (seed, epoch, item, visit) and not on which worker met it when.

// mixAll folds several numbers into one; their order matters.
func mixAll(parts ...uint64) uint64 {
	h := uint64(hash64.Gamma)
	for _, p := range parts {
		h = hash64.Mix(h+p) + hash64.Gamma
	}
	return hash64.Mix(h)
}

// mixString is a text as a part of a key.
func mixString(s string) uint64 { return hash64.Mix(hash64.Text(s)) }

// newRand returns the generator of a key.
func newRand(parts ...uint64) *rand.Rand {
	h := mixAll(parts...)
	return rand.New(rand.NewPCG(h, hash64.Mix(h^0xd1b54a32d192ed03)))
}

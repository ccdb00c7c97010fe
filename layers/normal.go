package layers

import "math/rand/v2"

// tokenDeviation is the deviation of a vision transformer's initial weights.
const tokenDeviation = 0.02

// Normal draws from a normal distribution of the given standard deviation.
func Normal(deviation float64) Init {
	return func(dst []float32, r *rand.Rand) {
		for i := range dst {
			dst[i] = float32(deviation * r.NormFloat64())
		}
	}
}

package layers

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkFlowWeights is the host's part of a geometry flow layer: from Gram
// matrices of 60 items, of which some share neighbors, to the matrix.
func BenchmarkFlowWeights(b *testing.B) {
	const n, size = 60, 128
	for _, channels := range []int{3, 64} {
		for _, delta := range []float64{.8, 1, 1.1} {
			rng := rand.New(rand.NewPCG(1, 2))
			grams := make([]float32, channels*n*n)
			for c := range channels {
				x := make([]float64, n*size)
				for i := range n {
					for p := range size {
						x[i*size+p] = rng.NormFloat64() * float64(1+i%15) / 8
					}
				}
				for i := range n {
					for j := range n {
						sum := 0.0
						for p := range size {
							sum += x[i*size+p] * x[j*size+p]
						}
						grams[(c*n+i)*n+j] = float32(sum)
					}
				}
			}
			spec := DefaultFlow()
			spec.Delta = delta
			f := &flow{spec: spec, n: n, channels: channels, numbers: channels * size}
			if _, err := f.matrix(grams); err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%d channels/%.0f neighbors", channels, f.stats.Neighbors), func(b *testing.B) {
				for range b.N {
					if _, err := f.matrix(grams); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

package linear

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Noise corrupts encoded rows, as BRM section 5.4.1 does to test robustness.
type Noise struct {
	Kind NoiseKind
	// Level is the variance of Gaussian noise, or the share of features that an
	// impulse replaces.
	Level float64
	// OnTrain corrupts the training rows too.
	OnTrain bool
}

// NoiseKind is a distribution of noise.
type NoiseKind string

// The kinds of noise.
const (
	NoNoise  NoiseKind = ""
	Gaussian NoiseKind = "gaussian"
	// Impulse replaces features by plus or minus 5, five deviations of a
	// standardized column.
	Impulse NoiseKind = "impulse"
)

const impulseHeight = 5

func (n Noise) validate() error {
	switch n.Kind {
	case NoNoise, Gaussian:
	case Impulse:
		if n.Level > 1 {
			return fmt.Errorf("impulses on a share %v of the features, want 0 to 1", n.Level)
		}
	default:
		return fmt.Errorf("noise %q, want %s or %s", n.Kind, Gaussian, Impulse)
	}
	if n.Level < 0 {
		return fmt.Errorf("noise level %v is negative", n.Level)
	}
	return nil
}

func (n Noise) add(x *mat.Dense, rng *rand.Rand) {
	for i := range x.RawMatrix().Rows {
		row := x.RawRowView(i)
		for j := range row {
			switch n.Kind {
			case Gaussian:
				row[j] += math.Sqrt(n.Level) * rng.NormFloat64()
			case Impulse:
				if rng.Float64() < n.Level {
					row[j] = impulseHeight
					if rng.IntN(2) == 0 {
						row[j] = -impulseHeight
					}
				}
			}
		}
	}
}

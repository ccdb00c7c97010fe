package layers

import (
	"fmt"
	"math"
)

// FlowSpec is a geometry flow layer. DefaultFlow returns the defaults; what Li
// et al. leave open, and what is chosen here, stands beside each field.
type FlowSpec struct {
	// Lambda is the strength of Eq. 14, 0.5 in the paper's experiments. 0 is the
	// identity.
	Lambda float64
	// Delta makes items neighbors that are at most so far apart in the
	// normalized distance. The paper gives no value.
	Delta float64
	// Distance says how the Euclidean distance of two items' inputs is
	// normalized. The paper says only that it is.
	Distance FlowDistance
	// Curvature off sets R to 0: w = 1 for all neighbors, plain Laplacian
	// smoothing (the paper's Table III).
	Curvature bool
	// Eps is the factor of R in w = 1 - Eps R (Eq. 11). The paper gives no value.
	// 0 stands for 2/(pi C): since R is a sum over C channels (A4), Eps times the
	// angle is then its mean share of a right angle, between 0 and 1.
	Eps float64
	// Raw divides the angle by the Euclidean distance itself (A3 as it is
	// written), in the units of the inputs, where otherwise the normalized one
	// stands: on pixels 0 to 255 that R is about 0.
	Raw bool
	// Components is the number of principal vectors of a neighborhood (A1); as
	// many as its rank if these are fewer. The paper gives none.
	Components int
	// Variance, if not 0, takes instead as many principal vectors as hold this
	// share of a neighborhood's variance.
	Variance float64
	// Alone leaves an item out of its own neighborhood. The paper does not say;
	// with the item a pair with no other neighbors has one neighborhood, and so
	// no curvature.
	Alone bool
	// Orthogonal takes a right angle where one of two neighborhoods has no
	// direction, because it is empty, one item, or of equal items; otherwise 0.
	Orthogonal bool
	// Negative keeps weights below 0, which Eq. 11 gives at strong curvature;
	// otherwise they are 0. With them Proposition 1 is false, and an item whose
	// weights add up to -1/Lambda or less has no output: an error.
	Negative bool
	// Full lets the gradient run through the weights to the inputs they are made
	// of. Otherwise they are constants, as in Eq. 15.
	Full bool
}

// FlowDistance names a normalization of distances.
type FlowDistance string

// The normalizations.
const (
	// FlowMean divides by the mean distance of two items of the batch.
	FlowMean FlowDistance = "mean"
	// FlowMax divides by the largest.
	FlowMax FlowDistance = "max"
	// FlowRMS divides by the root of the number of an item's values, which leaves
	// the root mean square of their differences.
	FlowRMS FlowDistance = "rms"
	// FlowNone takes the Euclidean distance.
	FlowNone FlowDistance = "none"
)

// FlowDistances lists the normalizations.
func FlowDistances() []string {
	return []string{string(FlowMean), string(FlowMax), string(FlowRMS), string(FlowNone)}
}

// DefaultFlow returns the standing choices.
func DefaultFlow() FlowSpec {
	return FlowSpec{Lambda: .5, Delta: .8, Distance: FlowMean, Curvature: true, Components: 2}
}

// Validate names the field at fault.
func (f FlowSpec) Validate() error {
	switch {
	case !(f.Lambda >= 0) || math.IsInf(f.Lambda, 0):
		return fmt.Errorf("geometry flow: lambda is %v, want a number of at least 0", f.Lambda)
	case !(f.Delta > 0):
		return fmt.Errorf("geometry flow: delta is %v, want a number above 0", f.Delta)
	case !(f.Eps >= 0) || math.IsInf(f.Eps, 0):
		return fmt.Errorf("geometry flow: eps is %v, want a number above 0, or auto", f.Eps)
	case !(f.Variance >= 0 && f.Variance <= 1):
		return fmt.Errorf("geometry flow: variance is %v, want a share above 0 and at most 1, or 0 for a fixed number of components", f.Variance)
	case f.Components < 1 && f.Variance == 0:
		return fmt.Errorf("geometry flow: %d components, want at least 1", f.Components)
	}
	switch f.Distance {
	case FlowMean, FlowMax, FlowRMS, FlowNone:
		return nil
	}
	return fmt.Errorf("geometry flow: unknown distance %q (there is: %v)", f.Distance, FlowDistances())
}

// eps is the factor of R for the given number of channels.
func (f FlowSpec) eps(channels int) float64 {
	if f.Eps == 0 {
		return 2 / (math.Pi * float64(channels))
	}
	return f.Eps
}

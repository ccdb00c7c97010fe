package links

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// Peaks adds to a map F (B, C, H, W) HW times the value of the largest place of each channel, at
// that place, the first of equal ones: the mean of what a linear layer makes of the result is
// what it makes of average and maximum of F together.
type Peaks struct{}

// Shape implements layers.HostOp.
func (Peaks) Shape(in ...[]int) ([]int, error) {
	if len(in) != 1 || len(in[0]) != 4 {
		return nil, fmt.Errorf("peaks are of one map (B, C, H, W), not of %v", in)
	}
	return in[0], nil
}

// Forward implements layers.HostOp.
func (Peaks) Forward(y layers.Array, x ...layers.Array) error {
	places := x[0].Shape[2] * x[0].Shape[3]
	copy(y.V, x[0].V)
	for from := 0; from < len(y.V); from += places {
		top := from
		for k := from; k < from+places; k++ {
			if x[0].V[k] > x[0].V[top] {
				top = k
			}
		}
		y.V[top] += float32(places) * x[0].V[top]
	}
	return nil
}

// Backward implements layers.HostOp: maps of units are constants for the gradient.
func (Peaks) Backward(dx []layers.Array, _, _ layers.Array, _ ...layers.Array) error {
	clear(dx[0].V)
	return nil
}

// Kernel lays weights (h, C) out as those of a convolution (h, C, 1, 1).
type Kernel struct{}

// Shape implements layers.HostOp.
func (Kernel) Shape(in ...[]int) ([]int, error) {
	if len(in) != 1 || len(in[0]) != 2 {
		return nil, fmt.Errorf("a kernel is made of weights (h, C), not of %v", in)
	}
	return []int{in[0][0], in[0][1], 1, 1}, nil
}

// Forward implements layers.HostOp.
func (Kernel) Forward(y layers.Array, x ...layers.Array) error {
	copy(y.V, x[0].V)
	return nil
}

// Backward implements layers.HostOp.
func (Kernel) Backward(dx []layers.Array, dy, _ layers.Array, _ ...layers.Array) error {
	copy(dx[0].V, dy.V)
	return nil
}

// Certainty is how far the places of a unit's map differ, (B, h) for maps (B, h, H, W): each line
// of a map less its least value, all divided by their sum, and of that the deviation (divisor
// HW-1); 0 for a map whose lines are constant. That the least value is the line's and not
// the map's is so in the authors' code.
type Certainty struct{}

// Shape implements layers.HostOp.
func (Certainty) Shape(in ...[]int) ([]int, error) {
	if len(in) != 1 || len(in[0]) != 4 {
		return nil, fmt.Errorf("certainties are of one map (B, h, H, W), not of %v", in)
	}
	if in[0][2]*in[0][3] < 2 {
		return nil, fmt.Errorf("the maps %v have one place, of which there is no deviation: take larger images, or an earlier block", in[0])
	}
	return in[0][:2], nil
}

// Forward implements layers.HostOp.
func (Certainty) Forward(y layers.Array, x ...layers.Array) error {
	height, width := x[0].Shape[2], x[0].Shape[3]
	rest := make([]float64, height*width)
	for i := range y.V {
		sum := 0.
		for r := range height {
			line := x[0].V[(i*height+r)*width:][:width]
			least := line[0]
			for _, v := range line {
				least = min(least, v)
			}
			for c, v := range line {
				rest[r*width+c] = float64(v) - float64(least)
				sum += rest[r*width+c]
			}
		}
		y.V[i] = 0
		if sum <= 0 {
			continue
		}
		mean, squares := 1/float64(len(rest)), 0.
		for _, v := range rest {
			squares += (v/sum - mean) * (v/sum - mean)
		}
		y.V[i] = float32(math.Sqrt(squares / float64(len(rest)-1)))
	}
	return nil
}

// Backward implements layers.HostOp: certainties are constants for the gradient.
func (Certainty) Backward(dx []layers.Array, _, _ layers.Array, _ ...layers.Array) error {
	clear(dx[0].V)
	return nil
}

// unitRows brings rows of a width to length 1. A row of 0 stays.
func unitRows(x []float64, width int) {
	for from := 0; from < len(x); from += width {
		row, sum := x[from:from+width], 0.
		for _, v := range row {
			sum += v * v
		}
		length := max(math.Sqrt(sum), 1e-12)
		for k := range row {
			row[k] /= length
		}
	}
}

package enginetest

import (
	"math"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/internal/golden"
)

// statistics returns the mean and inverse deviation of each channel.
func statistics(x array, eps float32) (mean, invStd array) {
	c, cells := x.shape[1], volume(x.shape[2:])
	mean, invStd = array{[]int{c}, make([]float32, c)}, array{[]int{c}, make([]float32, c)}
	count := float64(len(x.v) / c)
	for k := range c {
		var sum, squares float64
		each := func(f func(v float64)) {
			for n := range x.shape[0] {
				for i := range cells {
					f(float64(x.v[(n*c+k)*cells+i]))
				}
			}
		}
		each(func(v float64) { sum += v })
		m := sum / count
		each(func(v float64) { squares += (v - m) * (v - m) })
		mean.v[k] = float32(m)
		invStd.v[k] = float32(1 / math.Sqrt(squares/count+float64(eps)))
	}
	return mean, invStd
}

// rowNormGradientSize is the size of the terms whose difference the gradient
// is: scale*|dy|/divisor of the row with the smallest divisor.
func rowNormGradientSize(x, dy array, spec engine.RowNormSpec) float64 {
	size, h := 0.0, x.shape[1]
	for i := range x.shape[0] {
		row := widen(x.v[i*h : (i+1)*h])
		sum := 0.0
		for _, v := range row {
			sum += v * v
		}
		divisor := max(math.Sqrt(sum), float64(spec.Eps))
		if spec.Smooth {
			divisor = math.Sqrt(sum + float64(spec.Eps))
		}
		if divisor > 0 {
			size = max(size, float64(spec.Scale)*golden.MaxAbs(widen(dy.v[i*h:(i+1)*h]))/divisor)
		}
	}
	return size
}

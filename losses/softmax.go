package losses

import "math"

// logSumExp returns log(sum exp x) and turns x into the softmax of x, its
// gradient. Of nothing it is -infinity.
func logSumExp(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for k, v := range x {
		x[k] = math.Exp(v - top)
		sum += x[k]
	}
	inverse := 1 / sum
	for k := range x {
		x[k] *= inverse
	}
	return top + math.Log(sum)
}

// softplus returns log(1 + exp x) and its derivative 1/(1 + exp -x), without
// overflow. At -infinity both are 0.
func softplus(x float64) (value, slope float64) {
	e := math.Exp(-math.Abs(x))
	if x > 0 {
		return x + math.Log1p(e), 1 / (1 + e)
	}
	return math.Log1p(e), e / (1 + e)
}

package linear

import (
	"slices"

	"github.com/vernier-ml/vernier/eval"
)

// quantile of numbers in any order, see eval.Quantile.
func quantile(x []float64, q float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return eval.Quantile(s, q)
}

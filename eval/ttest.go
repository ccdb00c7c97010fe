package eval

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// PairedT is Student's paired t-test of a and b, figures of the same trials: t
// of the mean difference a - b with n-1 degrees of freedom, and the two-sided
// probability p of at least such a t if there were no difference. Without any
// difference t is 0 and p is 1; with the same difference in every trial t is
// infinite and p is 0.
//
// Trials that share data, as random splits of one table do, make the test
// somewhat too ready to see a difference.
func PairedT(a, b []float64) (t, p float64, err error) {
	n := len(a)
	if n != len(b) || n < 2 {
		return 0, 0, fmt.Errorf("a paired t-test needs as many figures of both, at least 2; there are %d and %d", n, len(b))
	}
	diff := make([]float64, n)
	for i := range a {
		diff[i] = a[i] - b[i]
	}
	mean, std := stat.MeanStdDev(diff, nil)
	if std == 0 {
		if mean == 0 {
			return 0, 1, nil
		}
		return math.Copysign(math.Inf(1), mean), 0, nil
	}
	t = mean / (std / math.Sqrt(float64(n)))
	dist := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
	return t, 2 * dist.CDF(-math.Abs(t)), nil
}

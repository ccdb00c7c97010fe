package probe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/vernier-ml/vernier/eval"
)

// sphereRows is the largest number of rows whose pairs all count for uniformity; of more
// rows that many are drawn.
const sphereRows = 4096

// Sphere returns alignment and uniformity of rows brought to length 1 (Wang and Isola 2020,
// Understanding contrastive representation learning through alignment and uniformity on the
// hypersphere, Sect. 4.2, with their exponents alpha = 2 and t = 2):
//
//	alignment  = mean over pairs of one class of |x - y|^2
//	uniformity = log of the mean over all pairs of exp(-2 |x - y|^2)
//
// Both are better when smaller. Alignment is from 0 to 4, uniformity from -4, which rows
// evenly on a sphere of many dimensions come near to, to 0, which is one point. Alignment
// is NaN where no class has two rows. Rows of length 0 stay where they are.
func Sphere(e *eval.Embeddings, seed uint64) (alignment, uniformity float64, err error) {
	if err := e.ValidateLabeled(); err != nil {
		return 0, 0, fmt.Errorf("probe: %w", err)
	}
	if e.N < 2 {
		return 0, 0, fmt.Errorf("probe: uniformity of %d rows, want 2 or more", e.N)
	}
	unit := unitRows(e)
	return align(unit, e.Labels, e.H), uniform(drawn(unit, e.N, e.H, seed), e.H), nil
}

// unitRows are the rows at length 1, in float64.
func unitRows(e *eval.Embeddings) []float64 {
	unit := make([]float64, len(e.X))
	for i := range e.N {
		sum := 0.
		for _, v := range e.Row(i) {
			sum += float64(v) * float64(v)
		}
		if sum == 0 {
			continue
		}
		by := 1 / math.Sqrt(sum)
		for j, v := range e.Row(i) {
			unit[i*e.H+j] = by * float64(v)
		}
	}
	return unit
}

// align adds up the pairs of every class from its sums: over the pairs of n rows the
// squared distances are n * (sum of |x|^2) - |sum of x|^2.
func align(unit []float64, labels []int, h int) float64 {
	class, distinct := eval.Compact(labels)
	rows, squares, sums := make([]float64, len(distinct)), make([]float64, len(distinct)), make([]float64, len(distinct)*h)
	for i, c := range class {
		rows[c]++
		for j, v := range unit[i*h : (i+1)*h] {
			squares[c] += v * v
			sums[c*h+j] += v
		}
	}
	total, pairs := 0., 0.
	for c, n := range rows {
		own := n * squares[c]
		for _, v := range sums[c*h : (c+1)*h] {
			own -= v * v
		}
		total, pairs = total+max(own, 0), pairs+n*(n-1)/2
	}
	return total / pairs
}

// drawn returns sphereRows of the rows at most.
func drawn(unit []float64, n, h int, seed uint64) []float64 {
	if n <= sphereRows {
		return unit
	}
	rows := rand.New(rand.NewPCG(seed, 8)).Perm(n)[:sphereRows]
	slices.Sort(rows)
	some := make([]float64, 0, sphereRows*h)
	for _, i := range rows {
		some = append(some, unit[i*h:(i+1)*h]...)
	}
	return some
}

func uniform(unit []float64, h int) float64 {
	sum, pairs := 0., 0.
	for i := 0; i < len(unit); i += h {
		a := unit[i : i+h]
		for k := 0; k < i; k += h {
			d := 0.
			for j, v := range unit[k : k+h] {
				d += (a[j] - v) * (a[j] - v)
			}
			sum, pairs = sum+math.Exp(-2*d), pairs+1
		}
	}
	return math.Log(sum / pairs)
}

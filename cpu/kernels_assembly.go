//go:build amd64 || arm64

package cpu

// The kernels in assembly have signatures of plain slices and numbers; these
// functions bring them into the table's form.

func pairs(sums func(s, a, b []float32, ldb int, limit, root float32), grad func(da, db, a, b, coef []float32, limit, root float32)) pairKernels {
	return pairKernels{
		sums: func(s, a, b []float32, ldb int, r curveArgs) { sums(s, a, b, ldb, r.limit, r.root) },
		grad: func(da, db, a, b, coef []float32, r curveArgs) { grad(da, db, a, b, coef, r.limit, r.root) },
	}
}

// depthwiseSumsBy splits the taps among kernels, which are for 1, 3, 5, 7 and 9 taps at a
// time.
func depthwiseSumsBy(kernels ...func(sums, g, src []float32, at []int)) func(sums, g, src []float32, at []int) {
	return func(sums, g, src []float32, at []int) {
		for len(at) > 0 {
			i := min(len(at)-1, 2*(len(kernels)-1)) / 2
			kernels[i](sums, g, src, at)
			sums, at = sums[2*i+1:], at[2*i+1:]
		}
	}
}

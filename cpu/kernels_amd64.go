package cpu

// These functions bring kernels in assembly that arm64 lacks, or writes differently, into
// the table's form.

// pairsByGrid is pairs for the power p of kernels that take a grid.
func pairsByGrid(p int, sums func(s, a, b []float32, ldb int, limit, root float32, grid []float32), grad func(da, db, a, b, coef []float32, limit, root float32, grid []float32)) pairKernels {
	return pairKernels{
		sums: func(s, a, b []float32, ldb int, r curveArgs) { sums(s, a, b, ldb, r.limit, r.root, r.grids.value) },
		grad: func(da, db, a, b, coef []float32, r curveArgs) {
			grad(da, db, a, b, coef, r.limit, r.root, r.grids.slope[p-1])
		},
	}
}

// transposeBy transposes up to vec rows at a time.
func transposeBy(vec int, tile func(dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int)) func(dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int) {
	return func(dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int) {
		for r := 0; r < width; r += vec {
			n := min(vec, rows-r)
			if n <= 0 {
				for c := range cols {
					clear(dst[c*dstStride+r : c*dstStride+width])
				}
				return
			}
			tile(dst[r:], dstStride, src[r*srcStride:], srcStride, n, cols, min(vec, width-r))
		}
	}
}

// gatherBy reads a vector by runs if it has few.
func gatherBy(
	runs func(dst []float32, dstStride int, src []float32, srcStride, count int, runs []uint64),
	lanes func(dst []float32, dstStride int, src []float32, srcStride, count int, at []int32),
) func(dst []float32, dstStride int, src []float32, srcStride, count int, v *patchVector) {
	return func(dst []float32, dstStride int, src []float32, srcStride, count int, v *patchVector) {
		if v.runs != nil {
			runs(dst, dstStride, src, srcStride, count, v.runs)
		} else {
			lanes(dst, dstStride, src, srcStride, count, v.at)
		}
	}
}

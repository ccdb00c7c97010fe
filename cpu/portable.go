package cpu

// portable returns the kernels in plain Go: the oracle of the others' tests and
// the only variant on machines without AVX.
func portable() *kernels {
	return &kernels{
		name: "portable",
		mr:   4, nr: 4, vec: 4, depth: 256, deep: 256,
		tiles:      portableTiles(),
		narrow:     &narrowKernels{tiles: narrowTiles(4, portableTiles()), pairs: narrowPairs},
		transpose:  transpose,
		copyRows:   copyRows,
		copyPanels: copyPanels,
		fetch:      func([]float32) {},
		gather:     gather,
		gatherTaps: gatherTaps,
		add:        add,
		multiply:   multiply,
		scale:      scale,
		relu:       relu,
		reluGrad:   reluGrad,
		boundGrad:  boundGrad,
		maximum:    maximum,
		maximum3:   maximum3,
		add3:       add3,
		finite:     finite,
		route:      route,
		split:      split,
		depthwise:  depthwise, depthwiseSums: depthwiseSums,
		merge:    merge,
		affine:   affine,
		sum:      sum,
		spread:   spread,
		project:  project,
		normGrad: normGrad,

		layerNorm:     layerNorm,
		layerNormSums: layerNormSums,
		layerNormGrad: layerNormGrad,
		normSums:      normSums,
		gelu:          gelu,
		geluGrad:      geluGrad,
		geluQuick:     geluQuick,
		geluQuickGrad: geluQuickGrad,
		largest:       largest,
		exp:           expRow,
		softmaxGrad:   softmaxGrad,

		quadratic: quadratic, columnExp: columnExp, columnGrad: columnGrad,

		sgd:   sgd,
		adamW: adamW,
		winograd: winogradKernels{
			tilesIn: fromMap(4, 6, tileIn), tilesOut: tilesOut(4),
			filtersIn: fromMap(4, 3, filterIn), filtersOut: toMap(4, 3, filterOut), gradientsIn: fromMap(4, 4, gradientIn),
			rows: portableRowsTiles(),
		},
		countBelow: countBelow, between: between,
		pairs: portablePairs(),
	}
}

func transpose(dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int) {
	for r := range rows {
		for c, x := range src[r*srcStride : r*srcStride+cols] {
			dst[c*dstStride+r] = x
		}
	}
	if rows < width {
		for c := range cols {
			clear(dst[c*dstStride+rows : c*dstStride+width])
		}
	}
}

func copyRows(dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int) {
	for r := range rows {
		to := dst[r*dstStride : r*dstStride+width]
		copy(to, src[r*srcStride:r*srcStride+cols])
		clear(to[cols:])
	}
}

func copyPanels(dst []float32, panelStride int, src []float32, srcStride, rows, panels int) {
	const nr = 4
	for r := range rows {
		for p := range panels {
			copy(dst[p*panelStride+r*nr:][:nr], src[r*srcStride+p*nr:])
		}
	}
}

func gather(dst []float32, dstStride int, src []float32, srcStride, count int, v *patchVector) {
	for i := range count {
		to, base := dst[i*dstStride:], i*srcStride
		for l, at := range v.at {
			if at < 0 {
				to[l] = 0
			} else {
				to[l] = src[base+int(at)]
			}
		}
	}
}

func gatherTaps(dst []float32, dstStride int, src []float32, taps int, runs []uint64) {
	const vec = 4
	for t := range taps {
		to := dst[t*dstStride:][:vec]
		clear(to)
		for more := true; more; runs = runs[1:] {
			off, lanes := int(int32(runs[0])), runs[0]>>32
			for l := range to {
				if lanes>>l&1 != 0 {
					to[l] = src[off+l]
				}
			}
			more = runs[0]&moreRuns != 0
		}
	}
}

// portableTiles has one 4 x 4 tile, of which r rows are stored.
func portableTiles() [][]tileFunc {
	tiles := make([]tileFunc, 5)
	for r := 1; r <= 4; r++ {
		tiles[r] = func(dst []float32, ldd int, c []float32, ldc int, a []float32, lda int, b []float32, ldb, k int, scale, shift, residual []float32, ldr int, ceiling float32) {
			s := tile4x4(a, lda, b, ldb, k, r)
			for i := range r {
				for j, x := range s[i] {
					if c != nil {
						x += c[i*ldc+j]
					}
					if scale != nil {
						x *= scale[i]
					}
					if shift != nil {
						x += shift[i]
					}
					if residual != nil {
						x += residual[i*ldr+j]
					}
					dst[i*ldd+j] = bound(x, ceiling)
				}
			}
		}
	}
	return [][]tileFunc{tiles}
}

func tile4x4(a []float32, lda int, b []float32, ldb, k, rows int) (s [4][4]float32) {
	// Two rows at a time: their sums and operands fit the registers.
	for r := 0; r < rows; r += 2 {
		var s00, s01, s02, s03, s10, s11, s12, s13 float32
		second := min(1, rows-1-r) // the last row stands for one that is not there
		x, y := a[r:], b
		for range k {
			x0, x1 := x[0], x[second]
			y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
			s00 += x0 * y0
			s01 += x0 * y1
			s02 += x0 * y2
			s03 += x0 * y3
			s10 += x1 * y0
			s11 += x1 * y1
			s12 += x1 * y2
			s13 += x1 * y3
			x, y = x[min(lda, len(x)):], y[min(ldb, len(y)):]
		}
		s[r] = [4]float32{s00, s01, s02, s03}
		s[r+1] = [4]float32{s10, s11, s12, s13}
	}
	return s
}

func countBelow(x []float32, limit float32) int {
	n := 0
	for _, v := range x {
		if v < limit {
			n++
		}
	}
	return n
}

func between(dst []int32, x []float32, low, high float32) int {
	n := 0
	for i, v := range x {
		if low <= v && v <= high {
			dst[n] = int32(i)
			n++
		}
	}
	return n
}

package cpu

import "github.com/vernier-ml/vernier/metric"

// neon returns the kernels of neon_arm64.s.
func neon() *kernels {
	return &kernels{
		name: "neon",
		mr:   8, nr: 12, vec: 4, depth: 256, deep: 256,
		tiles:      neonTiles(),
		across:     neonAcrossTiles(),
		transpose:  transposeNEON,
		copyRows:   copyRowsNEON,
		copyPanels: copyPanelsNEON,
		fetch:      fetchNEON,
		gather:     gatherNEON,
		gatherTaps: gatherTapsNEON,
		add:        addNEON,
		multiply:   multiplyNEON,
		scale:      scaleNEON,
		relu:       reluNEON,
		reluGrad:   reluGradNEON,
		boundGrad:  boundGradNEON,
		maximum:    maximumNEON,
		maximum3:   maximum3NEON,
		add3:       add3NEON,
		finite:     finiteNEON,
		route:      routeNEON,
		split:      splitNEON,
		depthwise:  depthwiseNEON, depthwiseSums: depthwiseSumsBy(depthwiseSums1NEON, depthwiseSums3NEON, depthwiseSums5NEON, depthwiseSums7NEON, depthwiseSums9NEON),
		merge:    mergeNEON,
		affine:   affineNEON,
		sum:      sumNEON,
		spread:   spreadNEON,
		project:  projectNEON,
		normGrad: normGradNEON,

		layerNorm:     layerNormNEON,
		layerNormSums: layerNormSumsNEON,
		layerNormGrad: layerNormGradNEON,
		normSums:      normSumsNEON,
		gelu:          geluNEON,
		geluGrad:      geluGradNEON,
		geluQuick:     geluQuickNEON,
		geluQuickGrad: geluQuickGradNEON,
		largest:       largestNEON,
		exp:           expNEON,
		softmaxGrad:   softmaxGradNEON,

		quadratic: quadraticNEON, columnExp: columnExpNEON, columnGrad: columnGradNEON,

		sgd: func(w, g, v []float32, s sgdStep) {
			sgdNEON(w, g, v, s.rate, s.decay, s.momentum, s.nesterov)
		},
		adamW: func(w, g, m, v []float32, s adamWStep) {
			adamWNEON(w, g, m, v, s.keep, s.beta1, s.gain1, s.beta2, s.gain2, s.rate, s.unbias2, s.eps)
		},
		winograd: winogradKernels{
			tilesIn: tilesInNEON, tilesOut: tilesOutNEON,
			filtersIn: filtersInNEON, filtersOut: filtersOutNEON, gradientsIn: gradientsInNEON,
			rows: neonRowsTiles(),
		},
		countBelow: countBelowNEON, between: betweenNEON,
		pairs: neonPairs(),
	}
}

// transposeNEON transposes squares of vectors by their kernel, and what is left at the
// edges in Go.
func transposeNEON(dst []float32, dstStride int, src []float32, srcStride, rows, cols, width int) {
	const vec = 4
	high, wide := rows/vec*vec, cols/vec*vec
	if high > 0 && wide > 0 {
		transposeBlocksNEON(dst, dstStride, src, srcStride, high, wide)
	}
	if high > 0 && wide < cols {
		transpose(dst[wide*dstStride:], dstStride, src[wide:], srcStride, high, cols-wide, high)
	}
	if high < width {
		transpose(dst[high:], dstStride, src[min(high*srcStride, len(src)):], srcStride, rows-high, cols, width-high)
	}
}

// gatherNEON copies vectors whose lanes are neighbors, and reads others lane by lane.
func gatherNEON(dst []float32, dstStride int, src []float32, srcStride, count int, v *patchVector) {
	if len(v.runs) == 1 && v.runs[0]>>32 == 0xf {
		gatherWholeNEON(dst, dstStride, src[v.at[0]:], srcStride, count)
	} else {
		gatherLanesNEON(dst, dstStride, src, srcStride, count, v.at)
	}
}

func neonTiles() [][]tileFunc {
	return [][]tileFunc{
		{nil, tile1x1NEON, tile2x1NEON, tile3x1NEON, tile4x1NEON, tile5x1NEON, tile6x1NEON, tile7x1NEON, tile8x1NEON},
		{nil, tile1x2NEON, tile2x2NEON, tile3x2NEON, tile4x2NEON, tile5x2NEON, tile6x2NEON, tile7x2NEON, tile8x2NEON},
		{nil, tile1x3NEON, tile2x3NEON, tile3x3NEON, tile4x3NEON, tile5x3NEON, tile6x3NEON, tile7x3NEON, tile8x3NEON},
	}
}

func neonAcrossTiles() [][]acrossTileFunc {
	return [][]acrossTileFunc{
		{nil, acrossTile1x1NEON, acrossTile2x1NEON, acrossTile3x1NEON, acrossTile4x1NEON, acrossTile5x1NEON, acrossTile6x1NEON, acrossTile7x1NEON, acrossTile8x1NEON},
		{nil, acrossTile1x2NEON, acrossTile2x2NEON, acrossTile3x2NEON, acrossTile4x2NEON, acrossTile5x2NEON, acrossTile6x2NEON, acrossTile7x2NEON, acrossTile8x2NEON},
		{nil, acrossTile1x3NEON, acrossTile2x3NEON, acrossTile3x3NEON, acrossTile4x3NEON, acrossTile5x3NEON, acrossTile6x3NEON, acrossTile7x3NEON, acrossTile8x3NEON},
	}
}

func neonRowsTiles() [][]rowsTileFunc {
	return [][]rowsTileFunc{
		{nil, rowsTile1x1NEON, rowsTile2x1NEON, rowsTile3x1NEON, rowsTile4x1NEON, rowsTile5x1NEON, rowsTile6x1NEON, rowsTile7x1NEON, rowsTile8x1NEON},
		{nil, rowsTile1x2NEON, rowsTile2x2NEON, rowsTile3x2NEON, rowsTile4x2NEON, rowsTile5x2NEON, rowsTile6x2NEON, rowsTile7x2NEON, rowsTile8x2NEON},
		{nil, rowsTile1x3NEON, rowsTile2x3NEON, rowsTile3x3NEON, rowsTile4x3NEON, rowsTile5x3NEON, rowsTile6x3NEON, rowsTile7x3NEON, rowsTile8x3NEON},
	}
}

func neonPairs() [curves][2]pairKernels {
	return [curves][2]pairKernels{
		metric.Sigmoid:  {pairs(sigmoidSums1NEON, sigmoidGrad1NEON), pairs(sigmoidSums2NEON, sigmoidGrad2NEON)},
		metric.SoftSign: {pairs(softSignSums1NEON, softSignGrad1NEON), pairs(softSignSums2NEON, softSignGrad2NEON)},
		metric.ArcTan:   {pairs(arcTanSums1NEON, arcTanGrad1NEON), pairs(arcTanSums2NEON, arcTanGrad2NEON)},
		metric.TanH:     {pairs(tanHSums1NEON, tanHGrad1NEON), pairs(tanHSums2NEON, tanHGrad2NEON)},
		metric.ISRU:     {pairs(isruSums1NEON, isruGrad1NEON), pairs(isruSums2NEON, isruGrad2NEON)},
		identity:        {pairs(identitySums1NEON, identityGrad1NEON), pairs(identitySums2NEON, identityGrad2NEON)},
	}
}

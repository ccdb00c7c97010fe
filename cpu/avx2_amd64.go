package cpu

import (
	"github.com/vernier-ml/vernier/metric"
)

// avx2 returns the kernels of avx2_amd64.s.
func avx2() *kernels {
	return &kernels{
		name: "avx2",
		mr:   6, nr: 16, vec: 8, depth: 320, deep: 320,
		tiles:      avx2Tiles(),
		across:     avx2AcrossTiles(),
		transpose:  transposeBy(8, transposeTileAVX2),
		copyRows:   copyRowsAVX2,
		copyPanels: copyPanelsAVX2,
		fetch:      fetchAVX2,
		gather:     gatherBy(gatherRunsAVX2, gatherLanesAVX2),
		gatherTaps: gatherTapsAVX2,
		add:        addAVX2,
		multiply:   multiplyAVX2,
		scale:      scaleAVX2,
		relu:       reluAVX2,
		reluGrad:   reluGradAVX2,
		boundGrad:  boundGradAVX2,
		maximum:    maximumAVX2,
		maximum3:   maximum3AVX2,
		add3:       add3AVX2,
		finite:     finiteAVX2,
		route:      routeAVX2,
		split:      splitAVX2,
		depthwise:  depthwiseAVX2, depthwiseSums: depthwiseSumsBy(depthwiseSums1AVX2, depthwiseSums3AVX2, depthwiseSums5AVX2, depthwiseSums7AVX2, depthwiseSums9AVX2),
		merge:    mergeAVX2,
		affine:   affineAVX2,
		sum:      sumAVX2,
		spread:   spreadAVX2,
		project:  projectAVX2,
		normGrad: normGradAVX2,

		layerNorm:     layerNormAVX2,
		layerNormSums: layerNormSumsAVX2,
		layerNormGrad: layerNormGradAVX2,
		normSums:      normSumsAVX2,
		gelu:          geluAVX2,
		geluGrad:      geluGradAVX2,
		geluQuick:     geluQuickAVX2,
		geluQuickGrad: geluQuickGradAVX2,
		largest:       largestAVX2,
		exp:           expAVX2,
		softmaxGrad:   softmaxGradAVX2,

		quadratic: quadraticAVX2, columnExp: columnExpAVX2, columnGrad: columnGradAVX2,

		sgd: func(w, g, v []float32, s sgdStep) {
			sgdAVX2(w, g, v, s.rate, s.decay, s.momentum, s.nesterov)
		},
		adamW: func(w, g, m, v []float32, s adamWStep) {
			adamWAVX2(w, g, m, v, s.keep, s.beta1, s.gain1, s.beta2, s.gain2, s.rate, s.unbias2, s.eps)
		},
		winograd: winogradKernels{
			tilesIn: tilesInAVX2, tilesOut: tilesOutAVX2,
			filtersIn: filtersInAVX2, filtersOut: filtersOutAVX2, gradientsIn: gradientsInAVX2,
			rows: avx2RowsTiles(),
		},
		countBelow: countBelowAVX2, between: betweenAVX2,
		pairs: avx2Pairs(),
	}
}

func avx2AcrossTiles() [][]acrossTileFunc {
	return [][]acrossTileFunc{
		{nil, acrossTile1x1AVX2, acrossTile2x1AVX2, acrossTile3x1AVX2, acrossTile4x1AVX2, acrossTile5x1AVX2, acrossTile6x1AVX2},
		{nil, acrossTile1x2AVX2, acrossTile2x2AVX2, acrossTile3x2AVX2, acrossTile4x2AVX2, acrossTile5x2AVX2, acrossTile6x2AVX2},
	}
}

func avx2Tiles() [][]tileFunc {
	return [][]tileFunc{
		{nil, tile1x1AVX2, tile2x1AVX2, tile3x1AVX2, tile4x1AVX2, tile5x1AVX2, tile6x1AVX2},
		{nil, tile1x2AVX2, tile2x2AVX2, tile3x2AVX2, tile4x2AVX2, tile5x2AVX2, tile6x2AVX2},
	}
}

func avx2Pairs() [curves][2]pairKernels {
	return [curves][2]pairKernels{
		metric.Sigmoid:  {pairs(sigmoidSums1AVX2, sigmoidGrad1AVX2), pairs(sigmoidSums2AVX2, sigmoidGrad2AVX2)},
		metric.SoftSign: {pairs(softSignSums1AVX2, softSignGrad1AVX2), pairs(softSignSums2AVX2, softSignGrad2AVX2)},
		metric.ArcTan:   {pairs(arcTanSums1AVX2, arcTanGrad1AVX2), pairs(arcTanSums2AVX2, arcTanGrad2AVX2)},
		metric.TanH:     {pairs(tanHSums1AVX2, tanHGrad1AVX2), pairs(tanHSums2AVX2, tanHGrad2AVX2)},
		metric.ISRU:     {pairs(isruSums1AVX2, isruGrad1AVX2), pairs(isruSums2AVX2, isruGrad2AVX2)},
		identity:        {pairs(identitySums1AVX2, identityGrad1AVX2), pairs(identitySums2AVX2, identityGrad2AVX2)},
	}
}

func avx2RowsTiles() [][]rowsTileFunc {
	return [][]rowsTileFunc{
		{nil, rowsTile1x1AVX2, rowsTile2x1AVX2, rowsTile3x1AVX2, rowsTile4x1AVX2, rowsTile5x1AVX2, rowsTile6x1AVX2},
		{nil, rowsTile1x2AVX2, rowsTile2x2AVX2, rowsTile3x2AVX2, rowsTile4x2AVX2, rowsTile5x2AVX2, rowsTile6x2AVX2},
	}
}

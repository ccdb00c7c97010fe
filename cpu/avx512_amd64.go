package cpu

import (
	"golang.org/x/sys/cpu"

	"github.com/vernier-ml/vernier/metric"
)

// avx512 returns the kernels of avx512_amd64.s.
func avx512() *kernels {
	return &kernels{
		name: "avx512",
		mr:   14, nr: 32, vec: 16, depth: 208, deep: 416,
		tiles:      avx512Tiles(),
		across:     avx512AcrossTiles(),
		narrow:     avx512Narrow(),
		transpose:  transposeBy(16, transposeTileAVX512),
		copyRows:   copyRowsAVX512,
		copyPanels: copyPanelsAVX512,
		fetch:      fetchAVX512,
		gather:     gatherBy(gatherRunsAVX512, gatherLanesAVX512),
		gatherTaps: gatherTapsAVX512,
		add:        addAVX512,
		multiply:   multiplyAVX512,
		scale:      scaleAVX512,
		relu:       reluAVX512,
		reluGrad:   reluGradAVX512,
		boundGrad:  boundGradAVX512,
		maximum:    maximumAVX512,
		maximum3:   maximum3AVX512,
		add3:       add3AVX512,
		finite:     finiteAVX512,
		route:      routeAVX512,
		pool3:      pool3Kernels{max3PlaneAVX512, sum3PlaneAVX512, max3RowAVX512, max3RowGradAVX512},
		split:      splitAVX512,
		depthwise:  depthwiseAVX512, depthwiseSums: depthwiseSumsBy(depthwiseSums1AVX512, depthwiseSums3AVX512, depthwiseSums5AVX512, depthwiseSums7AVX512, depthwiseSums9AVX512),
		merge:    mergeAVX512,
		affine:   affineAVX512,
		sum:      sumAVX512,
		spread:   spreadAVX512,
		project:  projectAVX512,
		normGrad: normGradAVX512,

		layerNorm:     layerNormAVX512,
		layerNormSums: layerNormSumsAVX512,
		layerNormGrad: layerNormGradAVX512,
		normSums:      normSumsAVX512,
		gelu:          geluAVX512,
		geluGrad:      geluGradAVX512,
		geluQuick:     geluQuickAVX512,
		geluQuickGrad: geluQuickGradAVX512,
		largest:       largestAVX512,
		exp:           expAVX512,
		softmaxGrad:   softmaxGradAVX512,

		quadratic: quadraticAVX512, columnExp: columnExpAVX512, columnGrad: columnGradAVX512,

		sgd: func(w, g, v []float32, s sgdStep) {
			sgdAVX512(w, g, v, s.rate, s.decay, s.momentum, s.nesterov)
		},
		adamW: func(w, g, m, v []float32, s adamWStep) {
			adamWAVX512(w, g, m, v, s.keep, s.beta1, s.gain1, s.beta2, s.gain2, s.rate, s.unbias2, s.eps)
		},
		winograd: winogradKernels{
			tilesIn: tilesInAVX512, tilesOut: tilesOutAVX512,
			filtersIn: filtersInAVX512, filtersOut: filtersOutAVX512, gradientsIn: gradientsInAVX512,
			rows: avx512RowsTiles(),
		},
		countBelow: countBelowAVX512, between: betweenAVX512,
		pairs: avx512Pairs(),
		grids: map[metric.Restriction]grids{
			metric.Sigmoid: fallGrid(metric.Sigmoid), metric.TanH: fallGrid(metric.TanH), metric.ArcTan: arcGrid(),
		},
	}
}

func avx512AcrossTiles() [][]acrossTileFunc {
	return [][]acrossTileFunc{
		{nil, acrossTile1x1AVX512, acrossTile2x1AVX512, acrossTile3x1AVX512, acrossTile4x1AVX512, acrossTile5x1AVX512, acrossTile6x1AVX512, acrossTile7x1AVX512, acrossTile8x1AVX512, acrossTile9x1AVX512, acrossTile10x1AVX512, acrossTile11x1AVX512, acrossTile12x1AVX512, acrossTile13x1AVX512, acrossTile14x1AVX512},
		{nil, acrossTile1x2AVX512, acrossTile2x2AVX512, acrossTile3x2AVX512, acrossTile4x2AVX512, acrossTile5x2AVX512, acrossTile6x2AVX512, acrossTile7x2AVX512, acrossTile8x2AVX512, acrossTile9x2AVX512, acrossTile10x2AVX512, acrossTile11x2AVX512, acrossTile12x2AVX512, acrossTile13x2AVX512, acrossTile14x2AVX512},
	}
}

func avx512Tiles() [][]tileFunc {
	return [][]tileFunc{
		{nil, tile1x1AVX512, tile2x1AVX512, tile3x1AVX512, tile4x1AVX512, tile5x1AVX512, tile6x1AVX512, tile7x1AVX512, tile8x1AVX512, tile9x1AVX512, tile10x1AVX512, tile11x1AVX512, tile12x1AVX512, tile13x1AVX512, tile14x1AVX512},
		{nil, tile1x2AVX512, tile2x2AVX512, tile3x2AVX512, tile4x2AVX512, tile5x2AVX512, tile6x2AVX512, tile7x2AVX512, tile8x2AVX512, tile9x2AVX512, tile10x2AVX512, tile11x2AVX512, tile12x2AVX512, tile13x2AVX512, tile14x2AVX512},
	}
}

func avx512Pairs() [curves][2]pairKernels {
	return [curves][2]pairKernels{
		metric.Sigmoid:  {pairsByGrid(1, sigmoidSums1AVX512, sigmoidGrad1AVX512), pairsByGrid(2, sigmoidSums2AVX512, sigmoidGrad2AVX512)},
		metric.SoftSign: {pairsByGrid(1, softSignSums1AVX512, softSignGrad1AVX512), pairsByGrid(2, softSignSums2AVX512, softSignGrad2AVX512)},
		metric.ArcTan:   {pairsByGrid(1, arcTanSums1AVX512, arcTanGrad1AVX512), pairsByGrid(2, arcTanSums2AVX512, arcTanGrad2AVX512)},
		metric.TanH:     {pairsByGrid(1, tanHSums1AVX512, tanHGrad1AVX512), pairsByGrid(2, tanHSums2AVX512, tanHGrad2AVX512)},
		metric.ISRU:     {pairsByGrid(1, isruSums1AVX512, isruGrad1AVX512), pairsByGrid(2, isruSums2AVX512, isruGrad2AVX512)},
		identity:        {pairsByGrid(1, identitySums1AVX512, identityGrad1AVX512), pairsByGrid(2, identitySums2AVX512, identityGrad2AVX512)},
	}
}

func avx512RowsTiles() [][]rowsTileFunc {
	return [][]rowsTileFunc{
		{nil, rowsTile1x1AVX512, rowsTile2x1AVX512, rowsTile3x1AVX512, rowsTile4x1AVX512, rowsTile5x1AVX512, rowsTile6x1AVX512, rowsTile7x1AVX512, rowsTile8x1AVX512, rowsTile9x1AVX512, rowsTile10x1AVX512, rowsTile11x1AVX512, rowsTile12x1AVX512, rowsTile13x1AVX512, rowsTile14x1AVX512},
		{nil, rowsTile1x2AVX512, rowsTile2x2AVX512, rowsTile3x2AVX512, rowsTile4x2AVX512, rowsTile5x2AVX512, rowsTile6x2AVX512, rowsTile7x2AVX512, rowsTile8x2AVX512, rowsTile9x2AVX512, rowsTile10x2AVX512, rowsTile11x2AVX512, rowsTile12x2AVX512, rowsTile13x2AVX512, rowsTile14x2AVX512},
	}
}

// avx512Narrow returns the kernels of AVX-512 BF16, if this machine has it.
func avx512Narrow() *narrowKernels {
	if !cpu.X86.HasAVX512BF16 {
		return nil
	}
	return &narrowKernels{pairs: narrowPairsAVX512, tiles: [][]tileFunc{
		{nil, narrowTile1x1AVX512, narrowTile2x1AVX512, narrowTile3x1AVX512, narrowTile4x1AVX512, narrowTile5x1AVX512, narrowTile6x1AVX512, narrowTile7x1AVX512, narrowTile8x1AVX512, narrowTile9x1AVX512, narrowTile10x1AVX512, narrowTile11x1AVX512, narrowTile12x1AVX512, narrowTile13x1AVX512, narrowTile14x1AVX512},
		{nil, narrowTile1x2AVX512, narrowTile2x2AVX512, narrowTile3x2AVX512, narrowTile4x2AVX512, narrowTile5x2AVX512, narrowTile6x2AVX512, narrowTile7x2AVX512, narrowTile8x2AVX512, narrowTile9x2AVX512, narrowTile10x2AVX512, narrowTile11x2AVX512, narrowTile12x2AVX512, narrowTile13x2AVX512, narrowTile14x2AVX512},
	}}
}

package cpu

// neon returns the kernels of neon_arm64.s.
func neon() *kernels {
	k := portable()
	k.name, k.narrow = "neon", nil
	k.mr, k.nr, k.vec, k.depth, k.deep = 8, 12, 4, 256, 256
	k.tiles, k.across = neonTiles(), neonAcrossTiles()
	k.transpose, k.copyRows, k.copyPanels = transposeNEON, copyRowsNEON, copyPanelsNEON
	k.gather, k.gatherTaps = gatherNEON, gatherTapsNEON
	k.winograd.rows = neonRowsTiles()
	return k
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

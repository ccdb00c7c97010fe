package kernels

func perRow(rows int) [3]int { return [3]int{rows, 1, 1} }

// warps is the grid of a kernel with a warp a row, 8 a block.
func warps(rows int) [3]int { return [3]int{tiles(rows, 8), 1, 1} }

// Softmax sets every row of y (rows, d) to softmax of x, or to its logarithm.
// y may be x.
func Softmax(rows, d int, y, x Ptr, logarithmic bool) Launch {
	return launch("softmax", perRow(rows), d, y, x, logarithmic)
}

// SoftmaxGrad is its gradient from the output y. dx may be dy.
func SoftmaxGrad(rows, d int, dx, dy, y Ptr, logarithmic bool) Launch {
	return launch("softmax_grad", perRow(rows), d, dx, dy, y, logarithmic)
}

// RowNorm brings rows (rows, h) to length scale, see layers.RowNormSpec.
func RowNorm(rows, h int, y, x Ptr, scale, eps float32, smooth bool) Launch {
	return launch("row_norm", perRow(rows), h, y, x, scale, eps, smooth)
}

// RowNormGrad is its gradient.
func RowNormGrad(rows, h int, dx, dy, x Ptr, scale, eps float32, smooth bool) Launch {
	return launch("row_norm_grad", perRow(rows), h, dx, dy, x, scale, eps, smooth)
}

// UnitRows sets rows y (rows, h) to x/|x|, and sizes (rows) to |x|.
func UnitRows(rows, h int, y, sizes, x Ptr) Launch {
	return launch("unit_rows", perRow(rows), h, y, sizes, x)
}

// LayerNorm normalizes rows of x (rows, d); mean and inv (rows) are kept.
func LayerNorm(t Type, rows, d int, y, mean, inv, x, gamma, beta Ptr, eps float32) Launch {
	return launch("layer_norm_"+t.String(), warps(rows), rows, d, y, mean, inv, x, gamma, beta, eps)
}

// maxNormParts gives most GPUs a block of LayerNormGrad for each multiprocessor.
const maxNormParts = 128

// NormParts says how many parts LayerNormGrad leaves of the sums over rows, and of how
// many rows each. It depends on the shape alone.
func NormParts(rows int) (count, per int) {
	const least = 32 // rows that a block has at a time
	per = tiles(tiles(rows, maxNormParts), least) * least
	return tiles(rows, per), per
}

// NormGrads receives the gradients of a layer normalization; 0 is what nobody wants.
type NormGrads struct {
	DX            Ptr // (rows, d)
	DGamma, DBeta Ptr // parts of the sums, see NormParts
	Sums          Ptr // parts of the sums of DX over rows
}

// LayerNormGrad is the gradient of LayerNorm. DX has more (rows, d) added to it unless that
// is 0; it may be more.
func LayerNormGrad(t Type, rows, d int, to NormGrads, more, dy, x, gamma, mean, inv Ptr) Launch {
	count, per := NormParts(rows)
	return launch("layer_norm_grad_"+t.String(), [3]int{count, tiles(d, 1024), 1}, rows, d, per, to.DX, more, dy, x, gamma, mean, inv, to.DGamma, to.DBeta, to.Sums)
}

// Tokens sets y (batch, prefix+area, d) to prefix rows first (prefix, d) and a map
// x (batch, area, d), plus pos (prefix+area, d). first and pos may be 0.
func Tokens(t Type, batch, prefix, area, d int, y, x, first, pos Ptr) Launch {
	n := int64(batch) * int64(prefix+area) * int64(d)
	return launch("tokens_"+t.String(), vectors(t, n), n, prefix, area, d, y, x, first, pos)
}

// BatchSum sets out (n) float32 to the sum over the batch of
// in[image*stride+from+i].
func BatchSum(t Type, n int64, batch int, stride, from int64, out, in Ptr) Launch {
	return launch("batch_sum_"+t.String(), flat(n), n, batch, stride, from, out, in)
}

// ScaleRows sets row r of y (rows, width) to s[r] times that of x. y may be x.
func ScaleRows(rows, width int, y, x, s Ptr) Launch {
	n := int64(rows) * int64(width)
	return launch("scale_rows", flat(n), n, width, y, x, s)
}

// RowDots sets d (rows) to the products of the rows of x and y.
func RowDots(rows, width int, d, x, y Ptr) Launch {
	return launch("row_dots", perRow(rows), width, d, x, y)
}

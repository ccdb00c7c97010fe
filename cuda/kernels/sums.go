package kernels

// Sums over rows go in two steps: the launches of this file leave parts, Combine
// adds them. Parts says how many there are of how many rows each, for c channels.
// The split depends on the shape alone, so that results are always the same.
func Parts(rows int64, c int) (count, per int) {
	// About a thousand blocks, none with fewer rows than keep it busy.
	want := int64(MaxParts(c))
	p := max(64, (rows+want-1)/want)
	return int((rows + p - 1) / p), int(p)
}

// MaxParts is the largest count that Parts returns for c channels.
func MaxParts(c int) int { return max(1, 1024/tiles(c, 32)) }

func partGrid(rows int64, c int) ([3]int, int) {
	count, per := Parts(rows, c)
	return [3]int{tiles(c, 32), count, 1}, per
}

// ChannelSums leaves parts of the sum of x (rows, c) over its rows.
func ChannelSums(t Type, rows int64, c int, part, x Ptr) Launch {
	g, per := partGrid(rows, c)
	return launch("channel_sums_"+t.String(), g, rows, c, per, part, x)
}

// ChannelSquares leaves parts of the sum of (x - mean)^2.
func ChannelSquares(t Type, rows int64, c int, part, x, mean Ptr) Launch {
	g, per := partGrid(rows, c)
	return launch("channel_squares_"+t.String(), g, rows, c, per, part, x, mean)
}

// ChannelProducts leaves parts of the sum of dy*(x - mean)*inv, with mean and inv (c),
// and, at plain if that is not 0, those of the sum of dy, as ChannelSums does.
func ChannelProducts(t Type, rows int64, c int, part, plain, dy, x, mean, inv Ptr) Launch {
	g, per := partGrid(rows, c)
	return launch("channel_products_"+t.String(), g, rows, c, per, part, plain, dy, x, mean, inv)
}

// RowProducts is the same with mean and inv of each row, (rows).
func RowProducts(t Type, rows int64, c int, part, plain, dy, x, mean, inv Ptr) Launch {
	g, per := partGrid(rows, c)
	return launch("row_products_"+t.String(), g, rows, c, per, part, plain, dy, x, mean, inv)
}

// Combine sets out (c) to by times the sum of parts.
func Combine(parts, c int, out, part Ptr, by float32) Launch {
	return launch("combine_parts", [3]int{tiles(c, 32), 1, 1}, parts, c, out, part, by)
}

// InvStd sets inv (c) = 1/sqrt(variance + eps).
func InvStd(c int, inv, variance Ptr, eps float32) Launch {
	return launch("inv_std", flat(int64(c)), c, inv, variance, eps)
}

// BatchStats sets inv, and moves the running statistics of batch norm. unbias is
// n/(n-1) for n values a channel.
func BatchStats(c int, inv, runningMean, runningVar, mean, variance Ptr, eps, momentum, unbias float32) Launch {
	return launch("batch_stats", flat(int64(c)), c, inv, runningMean, runningVar, mean, variance, eps, momentum, unbias)
}

// FoldNorm turns a frozen normalization of c channels into scale and shift. bias
// may be 0.
func FoldNorm(c int, scale, shift, bias, gamma, beta, mean, variance Ptr, eps float32) Launch {
	return launch("fold_norm", flat(int64(c)), c, scale, shift, bias, gamma, beta, mean, variance, eps)
}

// FoldNormGrad is its gradient; any of dbias, dgamma, dbeta may be 0, and dscale
// where dgamma is.
func FoldNormGrad(c int, dbias, dgamma, dbeta, dscale, dshift, bias, gamma, mean, variance Ptr, eps float32) Launch {
	return launch("fold_norm_grad", flat(int64(c)), c, dbias, dgamma, dbeta, dscale, dshift, bias, gamma, mean, variance, eps)
}

package kernels

// Sums over rows go in two steps: the launches of this file leave parts, Combine
// adds them. Parts says how many there are of how many rows each, for c channels.
// The split depends on the shape alone, so that results are always the same.
func Parts(rows int64, c int) (count, per int) {
	// About a thousand parts of 32 channels, none with fewer rows than keep a block busy.
	want := int64(max(1, 1024/tiles(c, 32)))
	p := max(64, (rows+want-1)/want)
	return int((rows + p - 1) / p), int(p)
}

// MaxParts is the largest count that Parts, or NormParts, returns for c channels.
func MaxParts(c int) int { return max(maxNormParts, 1024/tiles(c, 32)) }

// summed is the grid of sums of c channels, of which a block has eight groups of 16 bytes,
// and how many rows a block has.
func summed(t Type, rows int64, c int) ([3]int, int) {
	count, per := Parts(rows, c)
	return [3]int{tiles(c, 128/t.Size()), count, 1}, per
}

// ChannelSums leaves parts of the sum of x (rows, c) over its rows.
func ChannelSums(t Type, rows int64, c int, part, x Ptr) Launch {
	g, per := summed(t, rows, c)
	return launch("channel_sums_"+t.String(), g, rows, c, per, part, x)
}

// ChannelSquares leaves parts of the sum of (x - mean)^2.
func ChannelSquares(t Type, rows int64, c int, part, x, mean Ptr) Launch {
	g, per := summed(t, rows, c)
	return launch("channel_squares_"+t.String(), g, rows, c, per, part, x, mean)
}

// ChannelProducts leaves parts of the sum of dy*(x - mean)*inv, with mean and inv (c),
// and, at plain if that is not 0, those of the sum of dy, as ChannelSums does.
func ChannelProducts(t Type, rows int64, c int, part, plain, dy, x, mean, inv Ptr) Launch {
	g, per := summed(t, rows, c)
	return launch("channel_products_"+t.String(), g, rows, c, per, part, plain, dy, x, mean, inv)
}

// BoundGradSums is BoundGrad of (rows, c), or ReLUGrad if ceiling is 0, and leaves parts
// of the sums of dx, as ChannelSums does. dx may be dy.
func BoundGradSums(t Type, rows int64, c int, dx, part, dy, y Ptr, ceiling float32) Launch {
	g, per := summed(t, rows, c)
	return launch("bound_grad_sums_"+t.String(), g, rows, c, per, dx, part, dy, y, ceiling)
}

// GELUGradSums is GELUGrad of (rows, c), and leaves parts of the sums of dx, as
// ChannelSums does. dx may be dy.
func GELUGradSums(t Type, rows int64, c int, dx, part, dy, x Ptr, form int) Launch {
	g, per := summed(t, rows, c)
	return launch("gelu_grad_sums_"+t.String(), g, rows, c, per, dx, part, dy, x, form)
}

// ConcatPart is an input of a concatenation whose gradient ConcatGrad computes.
type ConcatPart struct {
	DX        Ptr // (rows, C); 0 if nobody wants it
	Sums      Ptr // receives parts of its sums, as ChannelSums leaves them; 0 if nobody wants them
	C         int
	Rectified bool // DX is 0 where the concatenation is not above 0
}

// MaxConcatParts is how many inputs a launch of ConcatGrad has.
const MaxConcatParts = 4

// ConcatGrad sets the gradients of up to MaxConcatParts inputs of a concatenation y,
// from dy (rows, width), of which dy and y begin at the channels of the first. y may be 0
// if no input is rectified.
func ConcatGrad(t Type, rows int64, width int, dy, y Ptr, parts []ConcatPart) Launch {
	blocks, rectified := 0, 0
	args := []any{rows, width, dy, y, 0}
	for i := range MaxConcatParts {
		var p ConcatPart
		if i < len(parts) {
			p = parts[i]
		}
		per := 0
		if p.DX != 0 {
			var g [3]int
			g, per = summed(t, rows, p.C)
			blocks += g[0] * g[1]
		}
		if p.Rectified {
			rectified |= 1 << i
		}
		args = append(args, p.DX, p.Sums, p.C, per)
	}
	args[4] = rectified
	return launch("concat_grad_"+t.String(), [3]int{blocks, 1, 1}, args...)
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

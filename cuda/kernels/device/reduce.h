// Ends of reductions, and small things on channels.

// out[j] = by * sum over parts of part[i][j]. A block has 32 channels; its 8 groups
// of threads take every eighth part each.
KERNEL(combine_parts, 256)(int parts, int c, float *out, const float *part, float by) {
	SHARED double box[8][33];
	int lane = threadOf() & 31, at = threadOf() >> 5, k = blockX() * 32 + lane;
	double sum = 0;
	if (k < c)
		UNROLL_4 for (int i = at; i < parts; i += 8) sum += part[(long)i * c + k];
	box[at][lane] = sum;
	SYNC();
	if (at == 0 && k < c) {
		for (int i = 1; i < 8; i++) sum += box[i][lane];
		out[k] = (float)(sum * by);
	}
}

// out[i] = sum over parts of part[p][i].
KERNEL(add_parts, 256)(long n, int parts, float *out, const float *part) {
	EACH(i, n) {
		float sum = 0;
		UNROLL_4 for (int p = 0; p < parts; p++) sum += part[p * n + i];
		out[i] = sum;
	}
}

// The end of pairs (pairs.h) where it was split: d from the sums of parts.
KERNEL(pairs_finish, 256)(long n, int parts, float *d, const float *part, float by, int rooted, const float *unit) {
	float u = unit ? *unit : 1;
	EACH(i, n) {
		float sum = 0;
		UNROLL_4 for (int p = 0; p < parts; p++) sum += part[p * n + i];
		d[i] = pairValue(sum, by, rooted, unit != 0, u);
	}
}

KERNEL(inv_std, 256)(int c, float *inv, const float *variance, float eps) { EACH(k, c) inv[k] = 1 / root(variance[k] + eps); }

// What batch norm leaves: inv from the biased variance, and the running
// statistics, the variance of which is unbiased.
KERNEL(batch_stats, 256)(int c, float *inv, float *runningMean, float *runningVar, const float *mean, const float *variance, float eps, float momentum, float unbias) {
	EACH(k, c) {
		inv[k] = 1 / root(variance[k] + eps);
		runningMean[k] = (1 - momentum) * runningMean[k] + momentum * mean[k];
		runningVar[k] = (1 - momentum) * runningVar[k] + momentum * (variance[k] * unbias);
	}
}

// A frozen normalisation of sums plus bias as scale and shift of the sums. bias
// may be null.
KERNEL(fold_norm, 256)(int c, float *scale, float *shift, const float *bias, const float *gamma, const float *beta, const float *mean, const float *variance, float eps) {
	EACH(k, c) {
		float v = gamma[k] / root(variance[k] + eps);
		scale[k] = v;
		shift[k] = fused((bias ? bias[k] : 0) - mean[k], v, beta[k]);
	}
}

// Its gradient; any destination may be null, and dscale where dgamma is.
KERNEL(fold_norm_grad, 256)(int c, float *dbias, float *dgamma, float *dbeta, const float *dscale, const float *dshift, const float *bias, const float *gamma, const float *mean, const float *variance, float eps) {
	EACH(k, c) {
		float spread = root(variance[k] + eps), up = dshift[k];
		if (dbias) dbias[k] = up * gamma[k] / spread;
		if (dgamma) dgamma[k] = fused((bias ? bias[k] : 0) - mean[k], up, dscale[k]) / spread;
		if (dbeta) dbeta[k] = up;
	}
}

// The largest magnitude, as bits: those of positive floats are in their order.
// *bits starts at 0.
KERNEL(max_magnitude, 256)(long n, unsigned *bits, const float *x) {
	unsigned top = 0;
	EACH(i, n) {
		unsigned b = bitsOf(x[i]) & 0x7fffffffu;
		if (b > top) top = b;
	}
	if (top) atomicMaximum(bits, top);
}

// The power of two that pairs divides by; at most 1 if capped.
KERNEL(unit_of, 32)(float *unit, const unsigned *bits, int capped) {
	float u = powerBelow(floatOf(*bits));
	if (threadOf() == 0) *unit = capped && u > 1 ? 1 : u;
}

// What pairs_grad multiplies by: dd * by, over d where rooted; 0 where a distance
// with a root is 0. Without one it may be 0 because its square is too small.
KERNEL(pair_slopes, 256)(long n, float *c, const float *dd, const float *d, float by, int rooted) {
	EACH(i, n) c[i] = !rooted ? dd[i] * by : d[i] == 0 ? 0 : dd[i] * by / d[i];
}

// Cosine, from dots of unit rows: limits to [-1, 1]; NaN stays.
KERNEL(clip_cosine, 256)(long n, float *d) {
	EACH(i, n) d[i] = d[i] > 1 ? 1 : d[i] < -1 ? -1 : d[i];
}

// The gradient of cosine with respect to one side: dx = (g - s u)/|x| where g is
// the sum of dd * other unit rows, u the row's own, and s the sum of dd * cosine.
// One block a row; a row of zeros gets 0. The rows lie in groups of n, each with its
// own dd and d, (n, k) or, with flipped, (k, n).
KERNEL(cosine_dx, 128)(int h, int k, float *dx, const float *g, const float *u, const float *sizes, const float *dd, const float *d, int flipped, int n, int accumulate) {
	SHARED float box[33];
	int i = blockX();
	float s = 0;
	for (int j = threadOf(); j < k; j += threads()) {
		long at = flipped ? (long)(i / n) * n * k + (long)j * n + i % n : (long)i * k + j;
		s += dd[at] * d[at];
	}
	s = blockSum(s, box);
	long row = (long)i * h;
	float by = sizes[i] == 0 ? 0 : 1 / sizes[i];
	for (int j = threadOf(); j < h; j += threads()) {
		float v = by == 0 ? 0 : (g[row + j] - s * u[row + j]) * by;
		dx[row + j] = accumulate ? dx[row + j] + v : v;
	}
}

// What attention does between products of matrices by cuBLAS: its scores lie as
// (batch, heads, T, T) in memory, with rows across apart.

// The addresses of the matrices of n heads, for batches of products: arrays of n each.
// plain is the result or its gradient, (images, T, heads*size); without dqkv there
// are no gradients.
KERNEL(NAME(attention_places), 256)(int n, int tokens, int heads, int size, int across, long *places, const T *qkv, const T *plain, const float *scores, const T *weights, const float *slopes, const T *dscores, T *dqkv) {
	EACH(i, n) {
		unsigned image = i / (unsigned)heads, head = i - image * (unsigned)heads;
		long wide = (long)heads * size, token = image * (long)tokens * wide, packed = 3 * token + (long)head * size, square = (long)i * tokens * across;
		long *at = places + i;
		for (int part = 0; part < 3; part++, at += n) *at = (long)(qkv + packed + part * wide);
		*at = (long)(plain + token + (long)head * size), at += n;
		*at = (long)(scores + square), at += n;
		*at = (long)(weights + square), at += n;
		if (!dqkv) continue;
		*at = (long)(slopes + square), at += n;
		*at = (long)(dscores + square), at += n;
		for (int part = 0; part < 3; part++, at += n) *at = (long)(dqkv + packed + part * wide);
	}
}

// WARP makes v what join makes of it in all lanes of a warp.
#define WARP(v, join)              \
	for (int d = 16; d; d >>= 1) { \
		float o = shuffle(v, d);   \
		v = join(v, o);            \
	}

// weights = softmax of the rows of scores, and the logarithm of what each was divided
// by. A warp has a row.
KERNEL(NAME(attention_weights), 128)(long rows, int tokens, int across, T *weights, float *logSum, const float *scores) {
	int lane = threadOf() & 31;
	long row = (long)blockX() * 4 + (threadOf() >> 5), at = row * across;
	int count = row < rows ? tokens : 0;
	float top = -3e38f, total = 0;
	for (int j = lane; j < count; j += 32) top = LARGER(scores[at + j], top);
	WARP(top, LARGER)
	for (int j = lane; j < count; j += 32) total += exponential(scores[at + j] - top);
	WARP(total, PLUS)
	for (int j = lane; j < count; j += 32) PUT(weights, at + j, exponential(scores[at + j] - top) / total);
	if (lane == 0 && row < rows) logSum[row] = top + logarithm(total);
}

// weights again, from scores and logSum, and the scores' gradient from that of the
// weights: weights*(slopes - sum of weights*slopes). Of large scores logSum is not exact:
// that weights add up to 1 keeps the difference from being large where it should be 0.
KERNEL(NAME(attention_slopes), 128)(long rows, int tokens, int across, T *weights, T *dscores, const float *scores, const float *slopes, const float *logSum) {
	int lane = threadOf() & 31;
	long row = (long)blockX() * 4 + (threadOf() >> 5), at = row * across;
	int count = row < rows ? tokens : 0;
	float by = row < rows ? logSum[row] : 0, total = 0, sum = 0;
	for (int j = lane; j < count; j += 32) {
		float w = exponential(scores[at + j] - by);
		total += w;
		sum = fused(w, slopes[at + j], sum);
	}
	WARP(total, PLUS)
	WARP(sum, PLUS)
	sum /= total;
	for (int j = lane; j < count; j += 32) {
		float w = exponential(scores[at + j] - by) / total;
		PUT(weights, at + j, w);
		PUT(dscores, at + j, w * (slopes[at + j] - sum));
	}
}
#undef WARP

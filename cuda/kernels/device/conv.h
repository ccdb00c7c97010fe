// Convolutions one output at a time, for geometries that cuDNN has no algorithm
// for. x (N, H, W, C), w (K, R, S, C), y (N, HO, WO, K).

// FIRST and LAST are the first of count places i for which i*stride + from is in [0,
// size), and the one behind the last.
#define FIRST(from, stride) ((from) < 0 ? (-(from) + (stride)-1) / (stride) : 0)
#define LAST(from, stride, size, count) \
	((size) - (from) + (stride)-1 < (count) * (stride) ? ((size) - (from) + (stride)-1) / (stride) : (count))

KERNEL(NAME(conv_direct), 256)(long n, int h, int w, int c, int ho, int wo, int k, int r, int s, int ph, int pw, int sh, int sw, T *y, const T *x, const T *weights) {
	EACH(at, n) {
		int o = at % k, j = at / k % wo, i = at / k / wo % ho;
		long image = (long)(at / k / wo / ho) * h * w * c;
		float sum = 0;
		for (int p = 0; p < r; p++)
			for (int q = 0; q < s; q++) {
				int a = i * sh - ph + p, b = j * sw - pw + q;
				if (a < 0 || a >= h || b < 0 || b >= w) continue;
				long from = image + ((long)a * w + b) * c, with = (((long)o * r + p) * s + q) * c;
				for (int e = 0; e < c; e++) sum = fused(GET(x, from + e), GET(weights, with + e), sum);
			}
		PUT(y, at, sum);
	}
}

// The gradient of the input: the outputs that an input took part in.
KERNEL(NAME(conv_direct_dx), 256)(long n, int h, int w, int c, int ho, int wo, int k, int r, int s, int ph, int pw, int sh, int sw, T *dx, const T *dy, const T *weights) {
	EACH(at, n) {
		int e = at % c, b = at / c % w, a = at / c / w % h;
		long image = (long)(at / c / w / h) * ho * wo * k;
		float sum = 0;
		for (int p = 0; p < r; p++)
			for (int q = 0; q < s; q++) {
				int i = a + ph - p, j = b + pw - q;
				if (i < 0 || j < 0 || i % sh || j % sw || i / sh >= ho || j / sw >= wo) continue;
				long from = image + ((long)(i / sh) * wo + j / sw) * k;
				for (int o = 0; o < k; o++) sum = fused(GET(dy, from + o), GET(weights, (((long)o * r + p) * s + q) * c + e), sum);
			}
		PUT(dx, at, sum);
	}
}

// The gradient of the weights: images is N. Each sums over the outputs (i, j) whose
// input (i*sh + top, j*sw + left) is none of the padding.
KERNEL(NAME(conv_direct_dw), 256)(long n, int images, int h, int w, int c, int ho, int wo, int k, int r, int s, int ph, int pw, int sh, int sw, T *dw, const T *dy, const T *x) {
	EACH(at, n) {
		int e = at % c, left = (int)(at / c % s) - pw, top = (int)(at / c / s % r) - ph, o = at / c / s / r;
		int i0 = FIRST(top, sh), i1 = LAST(top, sh, h, ho), j0 = FIRST(left, sw), j1 = LAST(left, sw, w, wo);
		float sum = 0;
		for (int m = 0; m < images; m++)
			for (int i = i0; i < i1; i++) {
				const T *up = dy + (((long)m * ho + i) * wo + j0) * k + o;
				const T *in = x + (((long)m * h + i * sh + top) * w + j0 * sw + left) * c + e;
				for (int j = j0; j < j1; j++, up += k, in += sw * c) sum = fused(GET(up, 0), GET(in, 0), sum);
			}
		PUT(dw, at, sum);
	}
}
#undef FIRST
#undef LAST

// The same with a kernel of its own for each channel, c = k: weights (C, R, S).
KERNEL(NAME(depthwise), 256)(long n, int h, int w, int c, int ho, int wo, int k, int r, int s, int ph, int pw, int sh, int sw, T *y, const T *x, const T *weights) {
	EACH(at, n) {
		int o = at % k, j = at / k % wo, i = at / k / wo % ho;
		long image = (long)(at / k / wo / ho) * h * w * c;
		float sum = 0;
		for (int p = 0; p < r; p++)
			for (int q = 0; q < s; q++) {
				int a = i * sh - ph + p, b = j * sw - pw + q;
				if (a < 0 || a >= h || b < 0 || b >= w) continue;
				sum = fused(GET(x, image + ((long)a * w + b) * c + o), GET(weights, ((long)o * r + p) * s + q), sum);
			}
		PUT(y, at, sum);
	}
}

KERNEL(NAME(depthwise_dx), 256)(long n, int h, int w, int c, int ho, int wo, int k, int r, int s, int ph, int pw, int sh, int sw, T *dx, const T *dy, const T *weights) {
	EACH(at, n) {
		int e = at % c, b = at / c % w, a = at / c / w % h;
		long image = (long)(at / c / w / h) * ho * wo * k;
		float sum = 0;
		for (int p = 0; p < r; p++)
			for (int q = 0; q < s; q++) {
				int i = a + ph - p, j = b + pw - q;
				if (i < 0 || j < 0 || i % sh || j % sw || i / sh >= ho || j / sw >= wo) continue;
				sum = fused(GET(dy, image + ((long)(i / sh) * wo + j / sw) * k + e), GET(weights, ((long)e * r + p) * s + q), sum);
			}
		PUT(dx, at, sum);
	}
}

// Lanes are channels, so that neighbors read neighbors: dw is written (C, R, S).
KERNEL(NAME(depthwise_dw), 256)(long n, int images, int h, int w, int c, int ho, int wo, int k, int r, int s, int ph, int pw, int sh, int sw, T *dw, const T *dy, const T *x) {
	EACH(at, n) {
		int e = at % c, q = at / c % s, p = at / c / s;
		float sum = 0;
		for (int m = 0; m < images; m++)
			for (int i = 0; i < ho; i++) {
				int a = i * sh - ph + p;
				if (a < 0 || a >= h) continue;
				for (int j = 0; j < wo; j++) {
					int b = j * sw - pw + q;
					if (b < 0 || b >= w) continue;
					sum = fused(GET(dy, (((long)m * ho + i) * wo + j) * k + e), GET(x, (((long)m * h + a) * w + b) * c + e), sum);
				}
			}
		PUT(dw, ((long)e * r + p) * s + q, sum);
	}
}

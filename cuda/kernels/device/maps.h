// Element-wise work on maps in channels-last order, (rows, C) where a row is a
// position of an image, and on anything flat. Included once for each type T.

KERNEL(NAME(narrow), 256)(long n, T *y, const float *x) {
	long done = WHOLE(n, (long)y | (long)x);
	EACH(g, done / WIDTH) {
		float v[WIDTH];
		READ_FLOATS(v, x, g);
		WRITE(y, g, v);
	}
	EACH(i, n - done) PUT(y, done + i, x[done + i]);
}

KERNEL(NAME(widen), 256)(long n, float *y, const T *x) {
	long done = WHOLE(n, (long)y | (long)x);
	EACH(g, done / WIDTH) {
		float v[WIDTH];
		READ(v, x, g);
		WRITE_FLOATS(y, g, v);
	}
	EACH(i, n - done) y[done + i] = GET(x, done + i);
}

// MAP sets y[i] to result, in which a and b are p[i] and q[i]. y may be p or q.
#define MAP(n, y, p, q, result)                                   \
	long done = WHOLE(n, (long)(y) | (long)(p) | (long)(q));      \
	EACH(g, done / WIDTH) {                                       \
		float u[WIDTH], v[WIDTH];                                 \
		READ(u, p, g), READ(v, q, g);                             \
		UNROLL for (int j = 0; j < WIDTH; j++) {                  \
			float a = u[j], b = v[j];                             \
			(void)b;                                              \
			u[j] = result;                                        \
		}                                                         \
		WRITE(y, g, u);                                           \
	}                                                             \
	EACH(i, (n) - done) {                                         \
		float a = GET(p, done + i), b = GET(q, done + i);         \
		(void)b;                                                  \
		PUT(y, done + i, result);                                 \
	}

// BOUND keeps NaN.
#define BOUND(v, ceiling) ((v) <= 0 ? 0 : (v) > (ceiling) ? (ceiling) : (v))

KERNEL(NAME(add), 256)(long n, T *y, const T *p, const T *q) { MAP(n, y, p, q, a + b) }

KERNEL(NAME(scale), 256)(long n, T *y, const T *p, float s) { MAP(n, y, p, p, s * a) }

KERNEL(NAME(relu), 256)(long n, T *y, const T *x) { MAP(n, y, x, x, a <= 0 ? 0 : a) }

KERNEL(NAME(relu_grad), 256)(long n, T *dx, const T *dy, const T *y) { MAP(n, dx, dy, y, b > 0 ? a : 0) }

KERNEL(NAME(bound), 256)(long n, T *y, const T *x, float ceiling) { MAP(n, y, x, x, BOUND(a, ceiling)) }

KERNEL(NAME(bound_grad), 256)(long n, T *dx, const T *dy, const T *y, float ceiling) { MAP(n, dx, dy, y, b > 0 && b < ceiling ? a : 0) }

KERNEL(NAME(gelu), 256)(long n, T *y, const T *x, int form) { MAP(n, y, x, x, geluOf(a, form)) }

KERNEL(NAME(gelu_grad), 256)(long n, T *dx, const T *dy, const T *x, int form) { MAP(n, dx, dy, x, geluSlope(b, form) * a) }
#undef MAP

// CHANNELS runs over the groups g of the first done of n numbers in rows of c, of which
// at is the group's number within its row: it moves on without a division for each.
#define CHANNELS(g, at, done, c)                                                                            \
	for (unsigned g = globalThread(), across = (done) ? (c) / WIDTH : 1, at = g % across,                   \
				  step = allThreads() % across;                                                             \
		 g < (unsigned)((done) / WIDTH);                                                                    \
		 g += allThreads(), at += step, at -= at < across ? 0 : across)

// y = act(x*scale + shift + residual); each of scale, shift (C) and residual
// may be null. act bounds to [0, ceiling] unless that is 0.
KERNEL(NAME(channel_affine), 256)(long n, int c, T *y, const T *x, const float *scale, const float *shift, const T *residual, float ceiling) {
	long done = ROWS(n, c, (long)y | (long)x | (long)scale | (long)shift | (long)residual);
	CHANNELS(g, at, done, c) {
		float v[WIDTH], by[WIDTH] = {0}, plus[WIDTH] = {0}, more[WIDTH] = {0};
		READ(v, x, g);
		if (residual) READ(more, residual, g);
		if (scale) READ_FLOATS(by, scale, at);
		if (shift) READ_FLOATS(plus, shift, at);
		UNROLL for (int j = 0; j < WIDTH; j++) {
			if (scale) v[j] *= by[j];
			if (shift) v[j] += plus[j];
			if (residual) v[j] += more[j];
			if (ceiling != 0) v[j] = BOUND(v[j], ceiling);
		}
		WRITE(y, g, v);
	}
	EACH(i, n - done) {
		int k = (int)(i % (unsigned)c);
		float v = GET(x, i);
		if (scale) v *= scale[k];
		if (shift) v += shift[k];
		if (residual) v += GET(residual, i);
		PUT(y, i, ceiling != 0 ? BOUND(v, ceiling) : v);
	}
}

// y = (x - mean)*inv*gamma + beta.
KERNEL(NAME(channel_norm), 256)(long n, int c, T *y, const T *x, const float *mean, const float *inv, const float *gamma, const float *beta) {
	long done = ROWS(n, c, (long)y | (long)x | (long)mean | (long)inv | (long)gamma | (long)beta);
	CHANNELS(g, at, done, c) {
		float v[WIDTH], m[WIDTH], s[WIDTH], by[WIDTH], plus[WIDTH];
		READ(v, x, g);
		READ_FLOATS(m, mean, at), READ_FLOATS(s, inv, at), READ_FLOATS(by, gamma, at), READ_FLOATS(plus, beta, at);
		UNROLL for (int j = 0; j < WIDTH; j++) v[j] = fused((v[j] - m[j]) * s[j], by[j], plus[j]);
		WRITE(y, g, v);
	}
	EACH(i, n - done) {
		int k = (int)(i % (unsigned)c);
		PUT(y, i, fused((GET(x, i) - mean[k]) * inv[k], gamma[k], beta[k]));
	}
}

// dx = gamma*inv*(dy - dbeta/n - u*dgamma/n) with u = (x - mean)*inv; each is 1/n.
#define BATCH_NORM_DX(x, dy, gamma, mean, inv, dbeta, dgamma) \
	((gamma) * (inv) * ((dy) - (dbeta)*each - ((x) - (mean)) * (inv) * ((dgamma)*each)))

KERNEL(NAME(batch_norm_dx), 256)(long n, int c, T *dx, const T *dy, const T *x, const float *gamma, const float *mean, const float *inv, const float *dbeta, const float *dgamma, float each) {
	long done = ROWS(n, c, (long)dx | (long)dy | (long)x | (long)gamma | (long)mean | (long)inv | (long)dbeta | (long)dgamma);
	CHANNELS(g, at, done, c) {
		float v[WIDTH], up[WIDTH], m[WIDTH], s[WIDTH], by[WIDTH], db[WIDTH], dg[WIDTH];
		READ(v, x, g), READ(up, dy, g);
		READ_FLOATS(m, mean, at), READ_FLOATS(s, inv, at), READ_FLOATS(by, gamma, at);
		READ_FLOATS(db, dbeta, at), READ_FLOATS(dg, dgamma, at);
		UNROLL for (int j = 0; j < WIDTH; j++) v[j] = BATCH_NORM_DX(v[j], up[j], by[j], m[j], s[j], db[j], dg[j]);
		WRITE(dx, g, v);
	}
	EACH(i, n - done) {
		int k = (int)(i % (unsigned)c);
		PUT(dx, i, BATCH_NORM_DX(GET(x, i), GET(dy, i), gamma[k], mean[k], inv[k], dbeta[k], dgamma[k]));
	}
}
#undef BATCH_NORM_DX
#undef CHANNELS
#undef BOUND

// Copies c numbers of every row between arrays of other widths.
KERNEL(NAME(copy_rows), 256)(long rows, long c, T *dst, long dstWidth, long dstFrom, const T *src, long srcWidth, long srcFrom) {
	long n = rows * c, done = ROWS(n, c | dstWidth | dstFrom | srcWidth | srcFrom, (long)dst | (long)src);
	EACH(g, done / WIDTH) {
		unsigned across = (unsigned)c / WIDTH, row = g / across, k = g - row * across;
		((words *)dst)[(row * dstWidth + dstFrom) / WIDTH + k] = ((const words *)src)[(row * srcWidth + srcFrom) / WIDTH + k];
	}
	EACH(i, n - done) {
		unsigned row = i / (unsigned)c, k = i - row * (unsigned)c;
		dst[row * dstWidth + dstFrom + k] = src[row * srcWidth + srcFrom + k];
	}
}

// copy_rows from the wider rows of dy to dx, where y, as wide, is above 0.
KERNEL(NAME(slice_relu_grad), 256)(long rows, long c, T *dx, const T *dy, const T *y, long width, long first) {
	long n = rows * c, done = ROWS(n, c | width | first, (long)dx | (long)dy | (long)y);
	EACH(g, done / WIDTH) {
		unsigned across = (unsigned)c / WIDTH, row = g / across, at = (unsigned)((row * width + first) / WIDTH) + g - row * across;
		float up[WIDTH], out[WIDTH];
		READ(up, dy, at), READ(out, y, at);
		UNROLL for (int j = 0; j < WIDTH; j++) up[j] = out[j] > 0 ? up[j] : 0;
		WRITE(dx, g, up);
	}
	EACH(i, n - done) {
		unsigned row = i / (unsigned)c, k = i - row * (unsigned)c;
		long at = row * width + first + k;
		PUT(dx, i, GET(y, at) > 0 ? GET(dy, at) : 0);
	}
}

// (N, C, HW) of the host to (N, HW, C) of the device.
KERNEL(NAME(from_planar), 256)(int c, int hw, T *y, const float *x) {
	SHARED float tile[32][33];
	long image = (long)blockZ() * c * hw;
	int lane = threadOf() & 31, at = threadOf() >> 5;
	for (int r = at; r < 32; r += 8) {
		int k = blockY() * 32 + r, p = blockX() * 32 + lane;
		if (k < c && p < hw) tile[r][lane] = x[image + (long)k * hw + p];
	}
	SYNC();
	for (int r = at; r < 32; r += 8) {
		int k = blockY() * 32 + lane, p = blockX() * 32 + r;
		if (k < c && p < hw) PUT(y, image + (long)p * c + k, tile[lane][r]);
	}
}

KERNEL(NAME(to_planar), 256)(int c, int hw, float *y, const T *x) {
	SHARED float tile[32][33];
	long image = (long)blockZ() * c * hw;
	int lane = threadOf() & 31, at = threadOf() >> 5;
	for (int r = at; r < 32; r += 8) {
		int k = blockY() * 32 + lane, p = blockX() * 32 + r;
		if (k < c && p < hw) tile[r][lane] = GET(x, image + (long)p * c + k);
	}
	SYNC();
	for (int r = at; r < 32; r += 8) {
		int k = blockY() * 32 + r, p = blockX() * 32 + lane;
		if (k < c && p < hw) y[image + (long)k * hw + p] = tile[lane][r];
	}
}

// Bytes (pixels, channels) to the numbers that stand for them: numbers (channels, 256),
// in the order of y's channels, which is that of x's reversed if asked.
KERNEL(NAME(image), 256)(long n, int c, T *y, const u8 *x, const float *numbers, int reverse) {
	long done = WHOLE(n, (long)y);
	EACH(g, done / WIDTH) {
		unsigned i = g * WIDTH, k = i % (unsigned)c;
		float v[WIDTH];
		UNROLL for (int j = 0; j < WIDTH; j++) {
			v[j] = numbers[256 * k + x[i + j + (reverse ? c - 1 - 2 * k : 0)]];
			k = k + 1 == (unsigned)c ? 0 : k + 1;
		}
		WRITE(y, g, v);
	}
	EACH(e, n - done) {
		unsigned i = (unsigned)done + e, k = i % (unsigned)c;
		PUT(y, i, numbers[256 * k + x[i + (reverse ? c - 1 - 2 * k : 0)]]);
	}
}

// Sets *bad if x holds NaN or infinity.
KERNEL(NAME(non_finite), 256)(long n, const T *x, unsigned *bad) {
	unsigned found = 0;
	EACH(i, n) found |= (bitsOf(GET(x, i)) & 0x7f800000u) == 0x7f800000u;
	if (found) atomicMaximum(bad, 1);
}

// Element-wise work on maps in channels-last order, (rows, C) where a row is a
// position of an image, and on anything flat. Included once for each type T.

KERNEL(NAME(narrow), 256)(long n, T *y, const float *x) { EACH(i, n) PUT(y, i, x[i]); }

KERNEL(NAME(widen), 256)(long n, float *y, const T *x) { EACH(i, n) y[i] = GET(x, i); }

// MAP sets y[i] to result, in which a and b are p[i] and q[i]: WIDTH numbers a thread
// where all arrays are at multiples of 16 bytes, the rest one by one. y may be p or q.
#define MAP(n, y, p, q, result)                                                  \
	long done = ((long)(y) | (long)(p) | (long)(q)) & 15 ? 0 : (n) / WIDTH * WIDTH; \
	EACH(g, done / WIDTH) {                                                         \
		words u = ((const words *)(p))[g], v = ((const words *)(q))[g], w = u;      \
		UNROLL for (int j = 0; j < WIDTH; j++) {                                    \
			float a = ELEMENT(u, j), b = ELEMENT(v, j);                             \
			(void)a, (void)b;                                                       \
			SET(w, j, result);                                                      \
		}                                                                           \
		((words *)(y))[g] = w;                                                      \
	}                                                                               \
	EACH(e, (n) - done) {                                                           \
		float a = GET(p, done + e), b = GET(q, done + e);                           \
		(void)a, (void)b;                                                           \
		PUT(y, done + e, result);                                                   \
	}

KERNEL(NAME(add), 256)(long n, T *y, const T *p, const T *q) { MAP(n, y, p, q, a + b) }

KERNEL(NAME(scale), 256)(long n, T *y, const T *p, float s) { MAP(n, y, p, p, s * a) }

KERNEL(NAME(relu), 256)(long n, T *y, const T *x) { MAP(n, y, x, x, a <= 0 ? 0 : a) }

KERNEL(NAME(relu_grad), 256)(long n, T *dx, const T *dy, const T *y) { MAP(n, dx, dy, y, b > 0 ? a : 0) }

KERNEL(NAME(gelu), 256)(long n, T *y, const T *x, int form) {
	EACH(i, n) {
		float v = GET(x, i), z = magnitude(v), r;
		if (form == 0) {
			float tail = normalTail(z);
			r = v * (v > 0 ? 1 - tail : tail);
			if (z > FAR_NORMAL) r = v > 0 ? v : v * 0; // of -infinity it is NaN
		} else if (form == 2) {
			float e = exponential(-1.702f * atMost(z, 50)); // 1/(1 + e^-1.702x), and its mirror
			r = z > 50 ? (v > 0 ? v : v * 0) : v * (v > 0 ? 1 : e) / (1 + e);
		} else {
			float u = .79788456f * fused(.044715f * z * z, z, z);
			float e = exponential(-2 * atMost(u, 43)); // (1 + tanh u)/2 = 1/(1 + e), and its mirror e/(1 + e)
			r = z > 20 ? (v > 0 ? v : v * 0) : v * (v > 0 ? 1 : e) / (1 + e);
		}
		PUT(y, i, v != v ? v : r);
	}
}

KERNEL(NAME(gelu_grad), 256)(long n, T *dx, const T *dy, const T *x, int form) {
	EACH(i, n) {
		float v = GET(x, i), z = magnitude(v), g;
		if (z > (form == 2 ? 50 : 20)) {
			g = (v > 0) + v * 0; // of an infinity it is NaN
		} else if (form == 0) {
			float tail = normalTail(z), density = .39894228f * exponential(-.5f * z * z);
			g = (v > 0 ? 1 - tail : tail) + v * density;
		} else if (form == 2) {
			float e = exponential(-1.702f * z), q = 1 / (1 + e);
			g = (v > 0 ? 1 : e) * q + v * 1.702f * e * q * q;
		} else {
			float u = .79788456f * fused(.044715f * z * z, z, z), slope = .79788456f * fused(.134145f * z, z, 1);
			float e = exponential(-2 * atMost(u, 43)), q = 1 / (1 + e);
			g = (v > 0 ? 1 : e) * q + v * 2 * e * q * q * slope;
		}
		if (v != v) g = v;
		PUT(dx, i, g * GET(dy, i));
	}
}

// y = act(x*scale + shift + residual); each of scale, shift (C) and residual
// may be null.
KERNEL(NAME(channel_affine), 256)(long n, int c, T *y, const T *x, const float *scale, const float *shift, const T *residual, int relu) {
	long places = (long)y | (long)x | (long)scale | (long)shift | (long)residual, done = places & 15 || c % WIDTH ? 0 : n;
	// The channel moves on with the place, without a division for each.
	unsigned groups = done ? c / WIDTH : 1, at = globalThread() % groups, step = allThreads() % groups;
	EACH(g, done / WIDTH) {
		words u = ((const words *)x)[g], v = {0, 0, 0, 0}, w = v;
		if (residual) v = ((const words *)residual)[g];
		float by[WIDTH], plus[WIDTH];
		UNROLL for (int j = 0; j < WIDTH; j += 4) {
			words s = {0, 0, 0, 0}, t = s;
			if (scale) s = ((const words *)scale)[(at * WIDTH + j) / 4];
			if (shift) t = ((const words *)shift)[(at * WIDTH + j) / 4];
			UNROLL for (int i = 0; i < 4; i++) by[j + i] = floatOf(s[i]), plus[j + i] = floatOf(t[i]);
		}
		UNROLL for (int j = 0; j < WIDTH; j++) {
			float r = ELEMENT(u, j);
			if (scale) r *= by[j];
			if (shift) r += plus[j];
			if (residual) r += ELEMENT(v, j);
			SET(w, j, relu && r <= 0 ? 0 : r);
		}
		((words *)y)[g] = w;
		at += step;
		if (at >= groups) at -= groups;
	}
	EACH(i, n - done) {
		int k = (int)(i % (unsigned)c);
		float v = GET(x, i);
		if (scale) v *= scale[k];
		if (shift) v += shift[k];
		if (residual) v += GET(residual, i);
		PUT(y, i, relu && v <= 0 ? 0 : v);
	}
}

// y = (x - mean)*inv*gamma + beta.
KERNEL(NAME(channel_norm), 256)(long n, int c, T *y, const T *x, const float *mean, const float *inv, const float *gamma, const float *beta) {
	EACH(i, n) {
		int k = (int)(i % (unsigned)c);
		PUT(y, i, fused((GET(x, i) - mean[k]) * inv[k], gamma[k], beta[k]));
	}
}

// dx = gamma*inv*(dy - dbeta/n - u*dgamma/n) with u = (x - mean)*inv.
KERNEL(NAME(batch_norm_dx), 256)(long n, int c, T *dx, const T *dy, const T *x, const float *gamma, const float *mean, const float *inv, const float *dbeta, const float *dgamma, float each) {
	EACH(i, n) {
		int k = (int)(i % (unsigned)c);
		float u = (GET(x, i) - mean[k]) * inv[k];
		PUT(dx, i, gamma[k] * inv[k] * (GET(dy, i) - dbeta[k] * each - u * (dgamma[k] * each)));
	}
}

// Copies c numbers of every row between arrays of other widths.
KERNEL(NAME(copy_rows), 256)(long rows, long c, T *dst, long dstWidth, long dstFrom, const T *src, long srcWidth, long srcFrom) {
	EACH(i, rows * c) {
		unsigned row = i / (unsigned)c, k = i - row * (unsigned)c;
		dst[row * dstWidth + dstFrom + k] = src[row * srcWidth + srcFrom + k];
	}
}

// copy_rows from the wider rows of dy to dx, where y, as wide, is above 0.
KERNEL(NAME(slice_relu_grad), 256)(long rows, long c, T *dx, const T *dy, const T *y, long width, long first) {
	EACH(i, rows * c) {
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
	EACH(i, n) {
		int k = (int)(i % (unsigned)c);
		unsigned from = reverse ? i - k + (c - 1 - k) : i;
		PUT(y, i, numbers[256 * k + x[from]]);
	}
}

// Sets *bad if x holds NaN or infinity.
KERNEL(NAME(non_finite), 256)(long n, const T *x, unsigned *bad) {
	unsigned found = 0;
	EACH(i, n) found |= (bitsOf(GET(x, i)) & 0x7f800000u) == 0x7f800000u;
	if (found) atomicMaximum(bad, 1);
}
#undef MAP

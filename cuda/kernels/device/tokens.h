// Layer norm and token sequences of a vision transformer, (B, T, D).

// Layer norm has a warp a row, 8 of them a block. A lane takes every 32nd group of WIDTH
// numbers, and holds them in registers where a row has up to 32 HELD groups at multiples
// of 16 bytes; other rows it reads anew each time, number by number, in the same order.
#define HELD (32 / WIDTH)
#define WARP_A_ROW(places)                                                                     \
	int lane = threadOf() & 31, r = blockX() * 8 + (threadOf() >> 5), there = r < rows;        \
	int held = ROWS(d, d, places) && d <= 32 * HELD * WIDTH, groups = there ? d / WIDTH : 0;   \
	unsigned row = (unsigned)r * (unsigned)d
// EACH_HELD runs over the groups g of a row that a lane holds, EACH_READ over the numbers
// k of those that it reads.
#define EACH_HELD(i, g)                 \
	UNROLL for (int i = 0; i < HELD; i++) \
		for (int g = lane + 32 * i, once = 1; once && g < groups; once = 0)
#define EACH_READ(k)                                              \
	for (int g = lane * WIDTH; there && g < d; g += 32 * WIDTH)   \
		for (int k = g; k < d && k < g + WIDTH; k++)

// mean and inv (rows) are kept for the gradient.
KERNEL(NAME(layer_norm), 256)(int rows, int d, T *y, float *mean, float *inv, const T *x, const float *gamma, const float *beta, float eps) {
	WARP_A_ROW((long)y | (long)x | (long)gamma | (long)beta);
	float v[WIDTH], by[WIDTH], plus[WIDTH], sum = 0, m, s;
	if (held) {
		words all[HELD];
		EACH_HELD(i, g) {
			all[i] = ((const words *)(x + row))[g];
			READ(v, all, i);
			UNROLL for (int j = 0; j < WIDTH; j++) sum += v[j];
		}
		m = warpSum(sum) / d;
		sum = 0;
		EACH_HELD(i, g) {
			READ(v, all, i);
			UNROLL for (int j = 0; j < WIDTH; j++) sum += (v[j] - m) * (v[j] - m);
		}
		s = 1 / root(warpSum(sum) / d + eps);
		EACH_HELD(i, g) {
			READ(v, all, i);
			READ_FLOATS(by, gamma, g), READ_FLOATS(plus, beta, g);
			UNROLL for (int j = 0; j < WIDTH; j++) v[j] = fused((v[j] - m) * s, by[j], plus[j]);
			WRITE(y + row, g, v);
		}
	} else {
		EACH_READ(k) sum += GET(x, row + k);
		m = warpSum(sum) / d;
		sum = 0;
		EACH_READ(k) sum += (GET(x, row + k) - m) * (GET(x, row + k) - m);
		s = 1 / root(warpSum(sum) / d + eps);
		EACH_READ(k) PUT(y, row + k, fused((GET(x, row + k) - m) * s, gamma[k], beta[k]));
	}
	if (there && lane == 0) mean[r] = m, inv[r] = s;
}

// With u = (x - mean)*inv and g = dy*gamma: dx = inv*(g - mean(g) - u*mean(g*u)), plus
// more unless that is null. dx may be more.
KERNEL(NAME(layer_norm_dx), 256)(int rows, int d, T *dx, const T *more, const T *dy, const T *x, const float *gamma, const float *mean, const float *inv) {
	WARP_A_ROW((long)dx | (long)more | (long)dy | (long)x | (long)gamma);
	float up[WIDTH], v[WIDTH], by[WIDTH], plain = 0, along = 0, m = there ? mean[r] : 0, s = there ? inv[r] : 0;
	if (held) {
		words ups[HELD], all[HELD];
		EACH_HELD(i, g) {
			ups[i] = ((const words *)(dy + row))[g], all[i] = ((const words *)(x + row))[g];
			READ(up, ups, i), READ(v, all, i), READ_FLOATS(by, gamma, g);
			UNROLL for (int j = 0; j < WIDTH; j++) {
				float e = up[j] * by[j];
				plain += e;
				along += e * ((v[j] - m) * s);
			}
		}
		plain = warpSum(plain) / d;
		along = warpSum(along) / d;
		EACH_HELD(i, g) {
			READ(up, ups, i), READ(v, all, i), READ_FLOATS(by, gamma, g);
			UNROLL for (int j = 0; j < WIDTH; j++) v[j] = s * (up[j] * by[j] - plain - (v[j] - m) * s * along);
			if (more) {
				READ(up, more + row, g);
				UNROLL for (int j = 0; j < WIDTH; j++) v[j] += up[j];
			}
			WRITE(dx + row, g, v);
		}
	} else {
		EACH_READ(k) {
			float e = GET(dy, row + k) * gamma[k];
			plain += e;
			along += e * ((GET(x, row + k) - m) * s);
		}
		plain = warpSum(plain) / d;
		along = warpSum(along) / d;
		EACH_READ(k) {
			float e = s * (GET(dy, row + k) * gamma[k] - plain - (GET(x, row + k) - m) * s * along);
			PUT(dx, row + k, more ? e + GET(more, row + k) : e);
		}
	}
}
#undef HELD
#undef WARP_A_ROW
#undef EACH_HELD
#undef EACH_READ

// prefix rows, then the positions of a map (B, area, D) in channels-last order, plus pos.
// prefix and pos may be null.
KERNEL(NAME(tokens), 256)(long n, int prefix, int area, int d, T *y, const T *x, const float *first, const float *pos) {
	unsigned length = prefix + area;
	long done = ROWS(n, d, (long)y | (long)x | (long)first | (long)pos);
	EACH(g, done / WIDTH) {
		unsigned across = (unsigned)d / WIDTH, row = g / across, k = g - row * across, image = row / length, t = row - image * length;
		float v[WIDTH], at[WIDTH];
		if (t < (unsigned)prefix) {
			READ_FLOATS(v, first, t * across + k);
		} else {
			READ(v, x, (image * area + t - prefix) * across + k);
		}
		if (pos) {
			READ_FLOATS(at, pos, t * across + k);
			UNROLL for (int j = 0; j < WIDTH; j++) v[j] += at[j];
		}
		WRITE(y, g, v);
	}
	EACH(i, n - done) {
		unsigned row = i / (unsigned)d, image = row / length;
		int k = (int)(i - row * d), t = (int)(row - image * length);
		float v = t < prefix ? first[(long)t * d + k] : GET(x, ((long)image * area + t - prefix) * d + k);
		if (pos) v += pos[(long)t * d + k];
		PUT(y, i, v);
	}
}

// out[i] = sum over the batch of in[image*stride + from + i].
KERNEL(NAME(batch_sum), 256)(long n, int batch, long stride, long from, float *out, const T *in) {
	EACH(i, n) {
		float sum = 0;
		for (int b = 0; b < batch; b++) sum += GET(in, b * stride + from + i);
		out[i] = sum;
	}
}

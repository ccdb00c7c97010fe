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
// more unless that is null, and parts of sums over rows: of dy*u at dgamma, of dy at dbeta,
// of dx, before it is rounded, at sums. Any but dy and x may be null; dx may be more.
//
// A block has per rows, 32 at a time: first a warp a row has the means of g, then threads
// have a column each, of up to 1024, as many rows at a time as there are threads for.
KERNEL(NAME(layer_norm_grad), 1024)(int rows, int d, int per, T *dx, const T *more, const T *dy, const T *x, const float *gamma, const float *mean, const float *inv, float *dgamma, float *dbeta, float *sums) {
	SHARED float plains[32], alongs[32], box[1024];
	int lane = threadOf() & 31, warp = threadOf() >> 5, first = blockX() * per, end = first + per < rows ? first + per : rows;
	int from = blockY() * 1024, columns = d - from < 1024 ? d - from : 1024;
	int across = (columns + 31) / 32 * 32, groups = 1024 / across, group = threadOf() / across, k = from + threadOf() % across;
	int mine = group < groups && k < from + columns, inGroups = ROWS(d, d, (long)dy | (long)x | (long)gamma) != 0;
	float by = mine ? gamma[k] : 0, ofGamma = 0, ofBeta = 0, ofX = 0;
	for (int tile = first; tile < end; tile += 32) {
		int r = tile + warp, there = dx && r < end;
		float m = there ? mean[r] : 0, s = there ? inv[r] : 0, plain = 0, along = 0;
		unsigned row = (unsigned)r * (unsigned)d;
		if (inGroups) {
			ROLLED for (int g = lane; there && g < d / WIDTH; g += 32) {
				float up[WIDTH], v[WIDTH], w[WIDTH];
				READ(up, dy + row, g), READ(v, x + row, g), READ_FLOATS(w, gamma, g);
				UNROLL for (int j = 0; j < WIDTH; j++) {
					float e = up[j] * w[j];
					plain += e;
					along += e * ((v[j] - m) * s);
				}
			}
		} else {
			EACH_READ(i) {
				float e = GET(dy, row + i) * gamma[i];
				plain += e;
				along += e * ((GET(x, row + i) - m) * s);
			}
		}
		plain = warpSum(plain) / d;
		along = warpSum(along) / d;
		if (lane == 0) plains[warp] = plain, alongs[warp] = along;
		SYNC();
		int to = tile + 32 < end ? tile + 32 : end;
		ROLLED for (int q = tile + group; q < (mine ? to : 0); q += groups) {
			unsigned i = (unsigned)q * (unsigned)d + k;
			float up = GET(dy, i), u = GET(x, i) - mean[q], t = inv[q];
			ofGamma += up * (u * t), ofBeta += up;
			if (dx) {
				float v = t * (up * by - plains[q - tile] - u * t * alongs[q - tile]);
				if (more) v += GET(more, i);
				ofX += v;
				PUT(dx, i, v);
			}
		}
		SYNC();
	}
#define COLUMN_PART(to, value)                                                          \
	if (to) {                                                                           \
		box[threadOf()] = value;                                                        \
		SYNC();                                                                         \
		if (mine && group == 0) {                                                       \
			for (int i = 1; i < groups; i++) value += box[i * across + threadOf()];     \
			(to)[(long)blockX() * d + k] = value;                                       \
		}                                                                               \
		SYNC();                                                                         \
	}
	COLUMN_PART(dgamma, ofGamma)
	COLUMN_PART(dbeta, ofBeta)
	COLUMN_PART(sums, ofX)
#undef COLUMN_PART
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

// gelu_grad, which leaves the sums of dx as channel_sums has them. dx may be dy.
KERNEL(NAME(gelu_grad_sums), 256)(long rows, int c, int per, T *dx, float *part, const T *dy, const T *x, int form) {
	SUMMED(blockX(), blockY());
	int whole = OF_ROWS(c, (long)dx | (long)dy | (long)x);
	float sum[WIDTH] = {0}, up[WIDTH], v[WIDTH];
	EACH_ROW(r) {
		TAKE(up, dy, r * c + k)
		TAKE(v, x, r * c + k)
		UNROLL for (int j = 0; j < WIDTH; j++) up[j] = geluSlope(v[j], form) * up[j];
		GIVE(dx, r * c + k, up)
		TAKE(up, dx, r * c + k) // rounded
		UNROLL for (int j = 0; j < WIDTH; j++) sum[j] += up[j];
	}
	PART_OF(part, blockX(), blockY(), sum)
}

// Sums over the rows of (rows, C), see summed.h, and gradients that leave such sums.

KERNEL(NAME(channel_sums), 256)(long rows, int c, int per, float *part, const T *x) {
	SUMMED(blockX(), blockY());
	int whole = OF_ROWS(c, (long)x);
	float sum[WIDTH] = {0}, v[WIDTH];
	EACH_ROW(r) {
		TAKE(v, x, r * c + k)
		UNROLL for (int j = 0; j < WIDTH; j++) sum[j] += v[j];
	}
	PART_OF(part, blockX(), blockY(), sum)
}

KERNEL(NAME(channel_squares), 256)(long rows, int c, int per, float *part, const T *x, const float *mean) {
	SUMMED(blockX(), blockY());
	int whole = OF_ROWS(c, (long)x);
	float sum[WIDTH] = {0}, v[WIDTH], m[WIDTH];
	CONSTANTS(m, mean);
	EACH_ROW(r) {
		TAKE(v, x, r * c + k)
		UNROLL for (int j = 0; j < WIDTH; j++) sum[j] += (v[j] - m[j]) * (v[j] - m[j]);
	}
	PART_OF(part, blockX(), blockY(), sum)
}

// Sums of dy*u, u = (x - mean)*inv, and, where plain is there, of dy: the gradients of
// batch norm.
KERNEL(NAME(channel_products), 256)(long rows, int c, int per, float *part, float *plain, const T *dy, const T *x, const float *mean, const float *inv) {
	SUMMED(blockX(), blockY());
	int whole = OF_ROWS(c, (long)dy | (long)x);
	float sum[WIDTH] = {0}, ups[WIDTH] = {0}, up[WIDTH], v[WIDTH], m[WIDTH], s[WIDTH];
	CONSTANTS(m, mean);
	CONSTANTS(s, inv);
	EACH_ROW(r) {
		TAKE(up, dy, r * c + k)
		TAKE(v, x, r * c + k)
		UNROLL for (int j = 0; j < WIDTH; j++) {
			sum[j] += up[j] * ((v[j] - m[j]) * s[j]);
			ups[j] += up[j];
		}
	}
	PART_OF(part, blockX(), blockY(), sum)
	if (plain) PART_OF(plain, blockX(), blockY(), ups)
}

// relu_grad where ceiling is 0, else bound_grad, which leaves the sums of dx as
// channel_sums has them. dx may be dy.
KERNEL(NAME(bound_grad_sums), 256)(long rows, int c, int per, T *dx, float *part, const T *dy, const T *y, float ceiling) {
	SUMMED(blockX(), blockY());
	int whole = OF_ROWS(c, (long)dx | (long)dy | (long)y);
	float sum[WIDTH] = {0}, up[WIDTH], v[WIDTH];
	EACH_ROW(r) {
		TAKE(up, dy, r * c + k)
		TAKE(v, y, r * c + k)
		UNROLL for (int j = 0; j < WIDTH; j++) {
			up[j] = v[j] > 0 && (ceiling == 0 || v[j] < ceiling) ? up[j] : 0;
			sum[j] += up[j];
		}
		GIVE(dx, r * c + k, up)
	}
	PART_OF(part, blockX(), blockY(), sum)
}

// The gradient of a concatenation, dy in rows of width, for up to four inputs, one behind
// the other: input i has ci channels and per i rows a block, 0 where nobody wants its
// gradient dxi. Where bit i of rectified is set the input came out of a ReLU, and dxi is 0
// where y, the concatenation, is not above 0. parti, unless it is null, receives the sums.
KERNEL(NAME(concat_grad), 256, 4)(long rows, int width, const T *dy, const T *y, int rectified,
	T *dx0, float *part0, int c0, int per0, T *dx1, float *part1, int c1, int per1,
	T *dx2, float *part2, int c2, int per2, T *dx3, float *part3, int c3, int per3) {
	T *dx = dx0;
	float *part = part0;
	int c = c0, per = per0, block = blockX(), from = 0, at = 0;
#define ACROSS ((c + 8 * WIDTH - 1) / (8 * WIDTH))
#define BLOCKS (per ? ACROSS * (int)((rows + per - 1) / per) : 0)
#define NEXT(i, nextDX, nextPart, nextC, nextPer)    \
	if (at == i && block >= BLOCKS) {                \
		block -= BLOCKS, from += c, at++;            \
		dx = nextDX, part = nextPart, c = nextC, per = nextPer; \
	}
	NEXT(0, dx1, part1, c1, per1)
	NEXT(1, dx2, part2, c2, per2)
	NEXT(2, dx3, part3, c3, per3)
	int tile = block % ACROSS, of = block / ACROSS;
	SUMMED(tile, of);
	int masked = rectified >> at & 1, whole = OF_ROWS(c | width | from, (long)dx | (long)dy | (long)y);
	float sum[WIDTH] = {0}, up[WIDTH], v[WIDTH];
	EACH_ROW(r) {
		unsigned source = r * width + from + k;
		TAKE(up, dy, source)
		if (masked) {
			TAKE(v, y, source)
			UNROLL for (int j = 0; j < WIDTH; j++) up[j] = v[j] > 0 ? up[j] : 0;
		}
		UNROLL for (int j = 0; j < WIDTH; j++) sum[j] += up[j];
		GIVE(dx, r * c + k, up)
	}
	if (part) PART_OF(part, tile, of, sum)
#undef ACROSS
#undef BLOCKS
#undef NEXT
}

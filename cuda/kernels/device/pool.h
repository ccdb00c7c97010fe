// Windowed and global pooling in channels-last order. Gradients gather: every
// element of dx asks the windows that hold it, so that no two threads add to
// one number and the order of sums is fixed.

#define WINDOW_ARGS int h, int w, int c, int ho, int wo, int kh, int kw, int sh, int sw, int ph, int pw

// A thread has a group of channels (words.h) of a position where all rows of channels
// consist of groups, else one channel. GROUPS makes n and c count what a thread has;
// take and give read and write it.
#define GROUPS(places)                  \
	int wide = ROWS(n, c, places) != 0; \
	if (wide) n /= WIDTH, c /= WIDTH

FN void NAME(take)(int wide, float *v, const T *p, unsigned i) {
	if (wide) READ(v, p, i);
	else v[0] = GET(p, i);
}
FN void NAME(give)(int wide, T *p, unsigned i, const float *v) {
	if (wide) WRITE(p, i, v);
	else PUT(p, i, v[0]);
}

// Where window (i, j) begins and ends among real cells.
#define WINDOW(i, j)                                                                    \
	int top = (i)*sh - ph, left = (j)*sw - pw;                                          \
	int y0 = top > 0 ? top : 0, y1 = top + kh < h ? top + kh : h;                       \
	int x0 = left > 0 ? left : 0, x1 = left + kw < w ? left + kw : w

// The place of element i of a map (n, height, width, c).
#define PLACE(i, height, width)                                                         \
	unsigned position = (i) / (unsigned)c;                                              \
	int k = (int)((i) - position * c), px = (int)(position % (unsigned)(width));        \
	unsigned line = position / (unsigned)(width);                                       \
	int py = (int)(line % (unsigned)(height)), image = (int)(line / (unsigned)(height))

// The windows that hold row y of height: [from, to).
#define COVERING(from, to, y, pad, kernel, stride, count)                               \
	int from = (y) + (pad) - (kernel) + 1;                                              \
	from = from <= 0 ? 0 : (from + (stride)-1) / (stride);                              \
	int to = ((y) + (pad)) / (stride) + 1;                                              \
	if (to > (count)) to = (count)

#define CELL(y, x) (((unsigned)(image * h + (y)) * w + (x)) * c + k)
#define OUT(i, j) (((unsigned)(image * ho + (i)) * wo + (j)) * c + k)

KERNEL(NAME(max_pool), 256)(long n, WINDOW_ARGS, T *y, const T *x) {
	GROUPS((long)y | (long)x);
	EACH(i, n) {
		PLACE(i, ho, wo);
		WINDOW(py, px);
		float best[WIDTH] = {0}, v[WIDTH] = {0};
		NAME(take)(wide, best, x, CELL(y0, x0));
		for (int a = y0; a < y1; a++)
			for (int b = x0; b < x1; b++) {
				NAME(take)(wide, v, x, CELL(a, b));
				UNROLL for (int j = 0; j < WIDTH; j++) best[j] = v[j] != v[j] ? v[j] : LARGER(best[j], v[j]);
			}
		NAME(give)(wide, y, i, best);
	}
}

// The place of cell (y, x) in the window that begins at (top, left).
#define WITHIN(y, x, top, left) (unsigned)(((y) - (top)) * kw + (x) - (left))

// Where in its window max_pool finds what it takes: the first maximum, or NaN.
KERNEL(NAME(max_places), 256, 4)(long n, WINDOW_ARGS, u16 *places, const T *x) {
	GROUPS((long)places | (long)x);
	EACH(i, n) {
		PLACE(i, ho, wo);
		WINDOW(py, px);
		float best[WIDTH] = {0}, v[WIDTH] = {0};
		unsigned found[WIDTH];
		NAME(take)(wide, best, x, CELL(y0, x0));
		UNROLL for (int j = 0; j < WIDTH; j++) found[j] = WITHIN(y0, x0, top, left);
		for (int a = y0; a < y1; a++)
			for (int b = x0; b < x1; b++) {
				NAME(take)(wide, v, x, CELL(a, b));
				UNROLL for (int j = 0; j < WIDTH; j++)
					if (v[j] > best[j] || (v[j] != v[j] && best[j] == best[j])) best[j] = v[j], found[j] = WITHIN(a, b, top, left);
			}
		if (wide) {
			PLACES all;
			UNROLL for (int j = 0; j < WIDTH / 2; j++) all[j] = found[2 * j] | found[2 * j + 1] << 16;
			((PLACES *)places)[i] = all;
		} else {
			places[i] = (u16)found[0];
		}
	}
}

KERNEL(NAME(max_pool_grad), 256, 4)(long n, WINDOW_ARGS, T *dx, const T *dy, const u16 *places) {
	GROUPS((long)dx | (long)dy | (long)places);
	EACH(i, n) {
		PLACE(i, h, w);
		COVERING(i0, i1, py, ph, kh, sh, ho);
		COVERING(j0, j1, px, pw, kw, sw, wo);
		float sum[WIDTH] = {0}, up[WIDTH] = {0};
		for (int a = i0; a < i1; a++)
			for (int b = j0; b < j1; b++) {
				unsigned here = WITHIN(py, px, a * sh - ph, b * sw - pw), from = OUT(a, b);
				PLACES all = {0};
				if (wide) all = ((const PLACES *)places)[from];
				else all[0] = places[from];
				NAME(take)(wide, up, dy, from);
				UNROLL for (int j = 0; j < WIDTH; j++)
					if ((j & 1 ? all[j / 2] >> 16 : all[j / 2] & 0xffffu) == here) sum[j] += up[j];
			}
		NAME(give)(wide, dx, i, sum);
	}
}

// What the average of window (i, j) is divided by.
FN float NAME(divisor)(int i, int j, int h, int w, int kh, int kw, int sh, int sw, int ph, int pw, int countPad) {
	if (countPad) {
		int y = i * sh, x = j * sw, ye = y + kh < h + 2 * ph ? y + kh : h + 2 * ph, xe = x + kw < w + 2 * pw ? x + kw : w + 2 * pw;
		return (float)((ye - y) * (xe - x));
	}
	WINDOW(i, j);
	return (float)((y1 - y0) * (x1 - x0));
}

KERNEL(NAME(avg_pool), 256, 4)(long n, WINDOW_ARGS, int countPad, T *y, const T *x) {
	GROUPS((long)y | (long)x);
	EACH(i, n) {
		PLACE(i, ho, wo);
		WINDOW(py, px);
		float sum[WIDTH] = {0}, v[WIDTH] = {0}, count = NAME(divisor)(py, px, h, w, kh, kw, sh, sw, ph, pw, countPad);
		for (int a = y0; a < y1; a++)
			for (int b = x0; b < x1; b++) {
				NAME(take)(wide, v, x, CELL(a, b));
				UNROLL for (int j = 0; j < WIDTH; j++) sum[j] += v[j];
			}
		UNROLL for (int j = 0; j < WIDTH; j++) sum[j] /= count;
		NAME(give)(wide, y, i, sum);
	}
}

KERNEL(NAME(avg_pool_grad), 256, 4)(long n, WINDOW_ARGS, int countPad, T *dx, const T *dy) {
	GROUPS((long)dx | (long)dy);
	EACH(i, n) {
		PLACE(i, h, w);
		COVERING(i0, i1, py, ph, kh, sh, ho);
		COVERING(j0, j1, px, pw, kw, sw, wo);
		float sum[WIDTH] = {0}, up[WIDTH] = {0};
		for (int a = i0; a < i1; a++)
			for (int b = j0; b < j1; b++) {
				float by = 1 / NAME(divisor)(a, b, h, w, kh, kw, sh, sw, ph, pw, countPad); // once for all channels
				NAME(take)(wide, up, dy, OUT(a, b));
				UNROLL for (int j = 0; j < WIDTH; j++) sum[j] += up[j] * by;
			}
		NAME(give)(wide, dx, i, sum);
	}
}

// Global pooling: a block has 32 channels of one image.
KERNEL(NAME(global_avg), 256)(int hw, int c, float *y, const T *x) {
	SHARED float box[8][33];
	int lane = threadOf() & 31, at = threadOf() >> 5, k = blockX() * 32 + lane;
	long image = (long)blockY() * hw * c;
	float sum = 0;
	if (k < c)
		for (int p = at; p < hw; p += 8) sum += GET(x, image + (long)p * c + k);
	box[at][lane] = sum;
	SYNC();
	if (at == 0 && k < c) {
		for (int i = 1; i < 8; i++) sum += box[i][lane];
		y[(long)blockY() * c + k] = sum / hw;
	}
}

KERNEL(NAME(global_avg_grad), 256)(long n, int hw, int c, T *dx, const float *dy) {
	long done = ROWS(n, c, (long)dx | (long)dy);
	EACH(g, done / WIDTH) {
		unsigned across = (unsigned)c / WIDTH, position = g / across;
		float v[WIDTH];
		READ_FLOATS(v, dy, position / (unsigned)hw * across + g - position * across);
		UNROLL for (int j = 0; j < WIDTH; j++) v[j] /= hw;
		WRITE(dx, g, v);
	}
	EACH(i, n - done) PUT(dx, i, dy[i / (unsigned)c / (unsigned)hw * c + i % (unsigned)c] / hw);
}

// at (N, C) receives the place of the first maximum.
KERNEL(NAME(global_max), 256)(int hw, int c, float *y, int *place, const T *x) {
	SHARED float box[8][33];
	SHARED int where[8][33];
	int lane = threadOf() & 31, at = threadOf() >> 5, k = blockX() * 32 + lane;
	long image = (long)blockY() * hw * c;
	float best = 0;
	int found = -1;
	if (k < c)
		for (int p = at; p < hw; p += 8) {
			float v = GET(x, image + (long)p * c + k);
			if (found < 0 || v > best || (v != v && best == best)) best = v, found = p;
		}
	box[at][lane] = best;
	where[at][lane] = found;
	SYNC();
	if (at == 0 && k < c) {
		for (int i = 1; i < 8; i++) {
			float v = box[i][lane];
			int p = where[i][lane];
			if (p < 0) continue;
			int larger = v > best || (v != v && best == best);
			int equal = v == best || (v != v && best != best);
			if (larger || (equal && p < found)) best = v, found = p;
		}
		if (y) y[(long)blockY() * c + k] = best;
		if (place) place[(long)blockY() * c + k] = found;
	}
}

KERNEL(NAME(global_max_grad), 256)(long n, int hw, int c, T *dx, const float *dy, const int *place) {
	long done = ROWS(n, c, (long)dx | (long)dy | (long)place);
	EACH(g, done / WIDTH) {
		unsigned across = (unsigned)c / WIDTH, position = g / across, image = position / (unsigned)hw;
		unsigned at = image * across + g - position * across;
		float v[WIDTH], where[WIDTH];
		READ_FLOATS(v, dy, at);
		READ_FLOATS(where, (const float *)place, at);
		UNROLL for (int j = 0; j < WIDTH; j++) v[j] = bitsOf(where[j]) == position - image * hw ? v[j] : 0;
		WRITE(dx, g, v);
	}
	EACH(i, n - done) {
		unsigned position = i / (unsigned)c, image = position / (unsigned)hw, at = image * c + i % (unsigned)c;
		PUT(dx, i, place[at] == (int)(position - image * hw) ? dy[at] : 0);
	}
}
#undef WINDOW_ARGS
#undef GROUPS
#undef WITHIN
#undef WINDOW
#undef PLACE
#undef COVERING
#undef CELL
#undef OUT

// Sums over the rows of (rows, C), in two steps of a fixed order: each block
// leaves a part, combine_parts (reduce.h) adds the parts. A block has 32
// channels and 8 rows at a time, and per rows in all. Each thread has four sums of
// every fourth of its rows, so that four loads are on their way at a time.

#define PART_OF(term)                                                               \
	SHARED float box[8][33];                                                        \
	int lane = threadOf() & 31, at = threadOf() >> 5, k = blockX() * 32 + lane;     \
	long r = (long)blockY() * per, to = r + per < rows ? r + per : rows;            \
	float sum[4] = {0, 0, 0, 0};                                                    \
	r += at;                                                                        \
	if (k < c) {                                                                    \
		while (r + 24 < to)                                                         \
			UNROLL for (int i = 0; i < 4; i++, r += 8) sum[i] += (term);            \
		for (; r < to; r += 8) sum[0] += (term);                                    \
	}                                                                               \
	float total = (sum[0] + sum[1]) + (sum[2] + sum[3]);                            \
	box[at][lane] = total;                                                          \
	SYNC();                                                                         \
	if (at == 0 && k < c) {                                                         \
		for (int i = 1; i < 8; i++) total += box[i][lane];                          \
		part[(long)blockY() * c + k] = total;                                       \
	}

KERNEL(NAME(channel_sums), 256)(long rows, int c, int per, float *part, const T *x) {
	PART_OF(GET(x, r * c + k))
}

KERNEL(NAME(channel_squares), 256)(long rows, int c, int per, float *part, const T *x, const float *mean) {
	PART_OF((GET(x, r * c + k) - mean[k]) * (GET(x, r * c + k) - mean[k]))
}

// Sums of dy*u and, where plain is there, of dy, in the same order as PART_OF's.
#define PRODUCTS(u)                                                                 \
	SHARED float box[8][33], also[8][33];                                           \
	int lane = threadOf() & 31, at = threadOf() >> 5, k = blockX() * 32 + lane;     \
	long r = (long)blockY() * per, to = r + per < rows ? r + per : rows;            \
	float sum[4] = {0, 0, 0, 0}, ups[4] = {0, 0, 0, 0};                             \
	r += at;                                                                        \
	if (k < c) {                                                                    \
		while (r + 24 < to)                                                         \
			UNROLL for (int i = 0; i < 4; i++, r += 8) {                            \
				float up = GET(dy, r * c + k);                                      \
				sum[i] += up * (u), ups[i] += up;                                   \
			}                                                                       \
		for (; r < to; r += 8) {                                                    \
			float up = GET(dy, r * c + k);                                          \
			sum[0] += up * (u), ups[0] += up;                                       \
		}                                                                           \
	}                                                                               \
	float total = (sum[0] + sum[1]) + (sum[2] + sum[3]);                            \
	float totalUp = (ups[0] + ups[1]) + (ups[2] + ups[3]);                          \
	box[at][lane] = total, also[at][lane] = totalUp;                                \
	SYNC();                                                                         \
	if (at == 0 && k < c) {                                                         \
		for (int i = 1; i < 8; i++) total += box[i][lane], totalUp += also[i][lane]; \
		part[(long)blockY() * c + k] = total;                                       \
		if (plain) plain[(long)blockY() * c + k] = totalUp;                         \
	}

// u = (x - mean)*inv, with statistics of channels: the gradients of batch norm.
KERNEL(NAME(channel_products), 256)(long rows, int c, int per, float *part, float *plain, const T *dy, const T *x, const float *mean, const float *inv) {
	PRODUCTS((GET(x, r * c + k) - mean[k]) * inv[k])
}

// The same with statistics of rows: the gradients of layer norm.
KERNEL(NAME(row_products), 256)(long rows, int c, int per, float *part, float *plain, const T *dy, const T *x, const float *mean, const float *inv) {
	PRODUCTS((GET(x, r * c + k) - mean[r]) * inv[r])
}
#undef PART_OF
#undef PRODUCTS

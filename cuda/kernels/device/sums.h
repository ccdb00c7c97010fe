// Sums over the rows of (rows, C), in two steps of a fixed order: each block
// leaves a part, combine_parts (reduce.h) adds the parts. A block has 32
// channels and 8 rows at a time, and per rows in all.

#define PART_OF(total, term)                                                        \
	SHARED float box[8][33];                                                        \
	int lane = threadOf() & 31, at = threadOf() >> 5, k = blockX() * 32 + lane;     \
	long from = (long)blockY() * per, to = from + per < rows ? from + per : rows;   \
	float total = 0;                                                                \
	if (k < c)                                                                      \
		for (long r = from + at; r < to; r += 8) total += (term);                   \
	box[at][lane] = total;                                                          \
	SYNC();                                                                         \
	if (at == 0 && k < c) {                                                         \
		for (int i = 1; i < 8; i++) total += box[i][lane];                          \
		part[(long)blockY() * c + k] = total;                                       \
	}

KERNEL(NAME(channel_sums), 256)(long rows, int c, int per, float *part, const T *x) {
	PART_OF(sum, GET(x, r * c + k))
}

KERNEL(NAME(channel_squares), 256)(long rows, int c, int per, float *part, const T *x, const float *mean) {
	PART_OF(sum, (GET(x, r * c + k) - mean[k]) * (GET(x, r * c + k) - mean[k]))
}

// Sums of dy*(x - mean)*inv, with statistics of channels.
KERNEL(NAME(channel_products), 256)(long rows, int c, int per, float *part, const T *dy, const T *x, const float *mean, const float *inv) {
	PART_OF(sum, GET(dy, r *c + k) * ((GET(x, r * c + k) - mean[k]) * inv[k]))
}

// The same with statistics of rows: the gradient of layer norm's gamma.
KERNEL(NAME(row_products), 256)(long rows, int c, int per, float *part, const T *dy, const T *x, const float *mean, const float *inv) {
	PART_OF(sum, GET(dy, r *c + k) * ((GET(x, r * c + k) - mean[r]) * inv[r]))
}
#undef PART_OF

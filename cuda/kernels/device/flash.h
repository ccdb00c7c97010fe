// Multi-head attention over packed tokens (B, T, 3D) in bfloat16, of heads of 64 numbers:
// the T x T weights never leave the chip (Dao et al. 2022, FlashAttention).
//
// A block has 64 queries of one head (for the gradient of keys and values, 64 keys), 16
// to each of its four warps, and goes through the other side in tiles of 64. Of a tile lie
// in shared memory its rows, or, where sums run over the tile's rows, their transpose, both
// as pairs of numbers; rows are 36 registers apart, so that lanes of a fragment read other
// banks.
#define PACKED(what, t) ((((long)image * tokens + (t)) * 3 + (what)) * heads * 64 + head * 64)
#define PLAIN(t) (((long)image * tokens + (t)) * heads * 64 + head * 64)
#define FLASH                                                                                       \
	int image = blockZ(), head = blockY(), lane = threadOf() & 31, g = lane >> 2, t = lane & 3;     \
	int first = blockX() * 64 + (threadOf() >> 5) * 16 + g, second = first + 8;                     \
	(void)second
#define TILE_OF(name) unsigned name[64][36] __attribute__((aligned(16)))
#define NONE -3e38f

// rowsOf copies tile rows of 64 numbers, and zeros for those behind the last token.
// transposed does so with rows and numbers exchanged.
FN void rowsOf(unsigned (*box)[36], const bf16 *x, long apart, int count) {
	words none = {0, 0, 0, 0};
	for (int e = threadOf(); e < 512; e += 128) {
		int row = e >> 3, at = e & 7;
		((words *)box[row])[at] = row < count ? ((const words *)(x + row * apart))[at] : none;
	}
}
FN void transposed(unsigned (*box)[36], const bf16 *x, long apart, int count) {
	words none = {0, 0, 0, 0};
	for (int e = threadOf(); e < 512; e += 128) {
		int row = e & 63, at = e >> 6;
		words w = row < count ? ((const words *)(x + row * apart))[at] : none;
		UNROLL for (int j = 0; j < 8; j++) ((bf16 *)box[8 * at + j])[row] = (bf16)(j & 1 ? w[j / 2] >> 16 : w[j / 2]);
	}
}
// left reads fragments of 16 rows of 64 numbers, of which a lane has those at x and, 8
// rows on, at y; a null row is zeros.
FN void left(unsigned (*a)[4], const bf16 *x, const bf16 *y, int t) {
	UNROLL for (int c = 0; c < 4; c++) {
		UNROLL for (int i = 0; i < 4; i++) {
			const bf16 *p = i & 1 ? y : x;
			a[c][i] = p ? *(const unsigned *)(p + 16 * c + 2 * t + (i & 2 ? 8 : 0)) : 0;
		}
	}
}
// times adds to c, 16 x 8 numbers, the product of fragments and rows of a box.
FN void times(float *c, unsigned (*a)[4], int steps, unsigned (*box)[36], int row, int from, int t) {
	UNROLL for (int i = 0; i < steps; i++) mma(c, a[i], box[row][from + 8 * i + t], box[row][from + 8 * i + 4 + t]);
}
// asLeft makes the sums of two neighbors, 16 x 16 numbers, a fragment of a product.
FN void asLeft(unsigned *a, const float *c, const float *d) {
	a[0] = halves(c[0], c[1]), a[1] = halves(c[2], c[3]), a[2] = halves(d[0], d[1]), a[3] = halves(d[2], d[3]);
}
// leave writes the numbers that a lane has of 16 rows of 64.
FN void leave(bf16 *x, bf16 *y, float (*c)[4], int t, float byX, float byY) {
	UNROLL for (int n = 0; n < 8; n++) {
		if (x) *(unsigned *)(x + 8 * n + 2 * t) = halves(c[n][0] * byX, c[n][1] * byX);
		if (y) *(unsigned *)(y + 8 * n + 2 * t) = halves(c[n][2] * byY, c[n][3] * byY);
	}
}
// quadSum and quadMax are over the four lanes that have a row.
FN float quadSum(float v) {
	v += shuffle(v, 1);
	return v + shuffle(v, 2);
}
FN float quadMax(float v) {
	float o = shuffle(v, 1);
	v = LARGER(v, o);
	o = shuffle(v, 2);
	return LARGER(v, o);
}
#define AT(what, t) ((t) < tokens ? qkv + PACKED(what, t) : 0)

KERNEL(flash_attention, 128)(int tokens, int heads, float scale, bf16 *y, float *logSum, const bf16 *qkv) {
	SHARED TILE_OF(keys);
	SHARED TILE_OF(values);
	FLASH;
	unsigned q[4][4], p[4][4];
	float sum[8][4], top[2] = {NONE, NONE}, total[2] = {0, 0}, by = scale * LOG2E;
	left(q, AT(0, first), AT(0, second), t);
	UNROLL for (int n = 0; n < 8; n++) UNROLL for (int i = 0; i < 4; i++) sum[n][i] = 0;
	for (int start = 0; start < tokens; start += 64) {
		float s[8][4], next[2] = {top[0], top[1]}, shrink[2];
		SYNC();
		rowsOf(keys, qkv + PACKED(1, start), 3L * heads * 64, tokens - start);
		transposed(values, qkv + PACKED(2, start), 3L * heads * 64, tokens - start);
		SYNC();
		UNROLL for (int n = 0; n < 8; n++) {
			UNROLL for (int i = 0; i < 4; i++) s[n][i] = 0;
			times(s[n], q, 4, keys, 8 * n + g, 0, t);
			UNROLL for (int i = 0; i < 4; i++) {
				s[n][i] = start + 8 * n + 2 * t + (i & 1) < tokens ? s[n][i] * by : NONE;
				next[i >> 1] = LARGER(s[n][i], next[i >> 1]);
			}
		}
		UNROLL for (int r = 0; r < 2; r++) {
			next[r] = quadMax(next[r]);
			shrink[r] = exp2Fast(top[r] - next[r]);
			total[r] *= shrink[r], top[r] = next[r];
		}
		UNROLL for (int n = 0; n < 8; n++) UNROLL for (int i = 0; i < 4; i++) {
			sum[n][i] *= shrink[i >> 1];
			s[n][i] = exp2Fast(s[n][i] - top[i >> 1]);
			total[i >> 1] += s[n][i];
		}
		UNROLL for (int c = 0; c < 4; c++) asLeft(p[c], s[2 * c], s[2 * c + 1]);
		UNROLL for (int n = 0; n < 8; n++) times(sum[n], p, 4, values, 8 * n + g, 0, t);
	}
	UNROLL for (int r = 0; r < 2; r++) total[r] = quadSum(total[r]);
	leave(first < tokens ? y + PLAIN(first) : 0, second < tokens ? y + PLAIN(second) : 0, sum, t, 1 / total[0], 1 / total[1]);
	long row = ((long)image * heads + head) * tokens;
	if (t == 0 && first < tokens) logSum[row + first] = top[0] * LN2 + logarithm(total[0]);
	if (t == 0 && second < tokens) logSum[row + second] = top[1] * LN2 + logarithm(total[1]);
}

// The queries' gradient, with delta = sum of dy*y over the head, which is kept:
// ds = p*(dy.v - delta), dq = scale * sum ds*k.
KERNEL(flash_dq, 128, 3)(int tokens, int heads, float scale, bf16 *dqkv, float *delta, const bf16 *dy, const bf16 *y, const float *logSum, const bf16 *qkv) {
	SHARED TILE_OF(keys);
	SHARED TILE_OF(across);
	SHARED TILE_OF(values);
	FLASH;
	unsigned q[4][4], up[4][4], p[2][4];
	float sum[8][4], log[2], d[2] = {0, 0}, by = scale * LOG2E;
	long row = ((long)image * heads + head) * tokens;
	const bf16 *x = first < tokens ? dy + PLAIN(first) : 0, *x8 = second < tokens ? dy + PLAIN(second) : 0;
	left(up, x, x8, t);
	left(q, x ? y + PLAIN(first) : 0, x8 ? y + PLAIN(second) : 0, t);
	UNROLL for (int c = 0; c < 4; c++) UNROLL for (int i = 0; i < 4; i++) {
		d[i & 1] = fused(floatOf(up[c][i] << 16), floatOf(q[c][i] << 16), d[i & 1]);
		d[i & 1] = fused(floatOf(up[c][i] & 0xffff0000u), floatOf(q[c][i] & 0xffff0000u), d[i & 1]);
	}
	d[0] = quadSum(d[0]), d[1] = quadSum(d[1]);
	if (t == 0 && x) delta[row + first] = d[0];
	if (t == 0 && x8) delta[row + second] = d[1];
	log[0] = x ? logSum[row + first] * LOG2E : 0, log[1] = x8 ? logSum[row + second] * LOG2E : 0;
	left(q, AT(0, first), AT(0, second), t);
	UNROLL for (int n = 0; n < 8; n++) UNROLL for (int i = 0; i < 4; i++) sum[n][i] = 0;
	for (int start = 0; start < tokens; start += 64) {
		SYNC();
		rowsOf(keys, qkv + PACKED(1, start), 3L * heads * 64, tokens - start);
		transposed(across, qkv + PACKED(1, start), 3L * heads * 64, tokens - start);
		rowsOf(values, qkv + PACKED(2, start), 3L * heads * 64, tokens - start);
		SYNC();
		ROLLED for (int half = 0; half < 2; half++) {
			float s[4][4], ds[4][4];
			UNROLL for (int n = 0; n < 4; n++) {
				UNROLL for (int i = 0; i < 4; i++) s[n][i] = ds[n][i] = 0;
				times(s[n], q, 4, keys, 32 * half + 8 * n + g, 0, t);
				times(ds[n], up, 4, values, 32 * half + 8 * n + g, 0, t);
				UNROLL for (int i = 0; i < 4; i++) {
					float w = start + 32 * half + 8 * n + 2 * t + (i & 1) < tokens ? exp2Fast(s[n][i] * by - log[i >> 1]) : 0;
					ds[n][i] = w * (ds[n][i] - d[i >> 1]);
				}
			}
			asLeft(p[0], ds[0], ds[1]), asLeft(p[1], ds[2], ds[3]);
			UNROLL for (int n = 0; n < 8; n++) times(sum[n], p, 2, across, 8 * n + g, 16 * half, t);
		}
	}
	leave(x ? dqkv + PACKED(0, first) : 0, x8 ? dqkv + PACKED(0, second) : 0, sum, t, scale, scale);
}

// The gradients of keys and values: dv = sum p*dy, dk = scale * sum ds*q.
KERNEL(flash_dkv, 128, 2)(int tokens, int heads, float scale, bf16 *dqkv, const float *delta, const bf16 *dy, const float *logSum, const bf16 *qkv) {
	SHARED TILE_OF(queries);
	SHARED TILE_OF(queriesAcross);
	SHARED TILE_OF(ups);
	SHARED TILE_OF(upsAcross);
	SHARED float logs[64], deltas[64];
	FLASH;
	unsigned k[4][4], v[4][4], p[2][4], d[2][4];
	float dk[8][4], dv[8][4], by = scale * LOG2E;
	long row = ((long)image * heads + head) * tokens;
	left(k, AT(1, first), AT(1, second), t);
	left(v, AT(2, first), AT(2, second), t);
	UNROLL for (int n = 0; n < 8; n++) UNROLL for (int i = 0; i < 4; i++) dk[n][i] = dv[n][i] = 0;
	for (int start = 0; start < tokens; start += 64) {
		int count = tokens - start;
		SYNC();
		rowsOf(queries, qkv + PACKED(0, start), 3L * heads * 64, count);
		transposed(queriesAcross, qkv + PACKED(0, start), 3L * heads * 64, count);
		rowsOf(ups, dy + PLAIN(start), 1L * heads * 64, count);
		transposed(upsAcross, dy + PLAIN(start), 1L * heads * 64, count);
		for (int e = threadOf(); e < 64 && e < count; e += 128) {
			logs[e] = logSum[row + start + e] * LOG2E, deltas[e] = delta[row + start + e];
		}
		SYNC();
		ROLLED for (int half = 0; half < 2; half++) {
			float s[4][4], ds[4][4];
			UNROLL for (int n = 0; n < 4; n++) {
				UNROLL for (int i = 0; i < 4; i++) s[n][i] = ds[n][i] = 0;
				times(s[n], k, 4, queries, 32 * half + 8 * n + g, 0, t);
				times(ds[n], v, 4, ups, 32 * half + 8 * n + g, 0, t);
				UNROLL for (int i = 0; i < 4; i++) {
					int at = 32 * half + 8 * n + 2 * t + (i & 1), there = at < count;
					s[n][i] = there ? exp2Fast(s[n][i] * by - logs[at]) : 0;
					ds[n][i] = there ? s[n][i] * (ds[n][i] - deltas[at]) : 0;
				}
			}
			asLeft(p[0], s[0], s[1]), asLeft(p[1], s[2], s[3]);
			asLeft(d[0], ds[0], ds[1]), asLeft(d[1], ds[2], ds[3]);
			UNROLL for (int n = 0; n < 8; n++) {
				times(dv[n], p, 2, upsAcross, 8 * n + g, 16 * half, t);
				times(dk[n], d, 2, queriesAcross, 8 * n + g, 16 * half, t);
			}
		}
	}
	bf16 *x = first < tokens ? dqkv + PACKED(1, first) : 0, *x8 = second < tokens ? dqkv + PACKED(1, second) : 0;
	leave(x, x8, dk, t, scale, scale);
	leave(x ? x + (long)heads * 64 : 0, x8 ? x8 + (long)heads * 64 : 0, dv, t, 1, 1);
}
#undef PACKED
#undef PLAIN
#undef FLASH
#undef TILE_OF
#undef NONE
#undef AT

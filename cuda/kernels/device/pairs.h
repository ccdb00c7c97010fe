// The matrix of a metric between rows a (n, h) and b (k, h), and its gradient:
// BRM (Eq. 7) with one restriction, or, with the linear one, Manhattan at P = 1 and
// the Euclidean metrics at P = 2. Included once for each restriction R and each P. Groups of as
// many rows lie one behind the other, and so do their matrices; a grid has as many
// times the blocks of one along its first axis.
//
// A block of 256 threads has 64 x 64 pairs, each thread 4 x 4 of them in
// registers; 16 coordinates at a time lie in shared memory, coordinate first, so
// that the reads of a warp are few broadcasts. The restriction is evaluated on
// registers alone: the work is its arithmetic, not the memory.
//
// A grid that would leave most of the device idle is split along its third axis:
// each part sums over its share of what is summed over, per in all, a multiple of
// DEPTH, and leaves its sums in an array of size numbers; pairs_finish and add_parts
// (reduce.h) add the parts in their order.
#ifndef VERNIER_PAIRS_ONCE
#define VERNIER_PAIRS_ONCE
#define SIDE 64
#define DEPTH 16
#define FLIPPED 1
#define BOTH 2
#endif

#if defined(LINEAR) && P == 2
#define OUTSIDE(x) ((x) * inverse)
#define INSIDE(r) (r)
#else
#define OUTSIDE(x) (x)
#define INSIDE(r) ((r) * inverse)
#endif

#if P == 2
#define JOIN(r, sum) fused(INSIDE(r), INSIDE(r), sum)
#define CHAIN(t, w) (CALL(R, t, w) * CALL(S, t, w))
#else
#define JOIN(r, sum) ((sum) + (r))
#ifdef LINEAR
#define CHAIN(t, w) ((t) == (t) ? CALL(S, t, w) : (t)) // NaN stays
#else
#define CHAIN(t, w) CALL(S, t, w)
#endif
#endif

// d = post(by * sum of R(|a - b|)^P), with post the square root if rooted. For
// P = 2 the squares are taken in a unit, a power of two on the device, or null
// for 1, so that they neither overflow nor vanish: of R, or, for linear, which may
// overflow itself, of the coordinates. If split, d holds the bare sums of parts.
KERNEL(NAME(pairs), 256, 4)(int n, int k, int h, float *d, const float *a, const float *b, float by, int rooted, float omega, const float *unit, int per, long size, int split) {
	SHARED float as[DEPTH][SIDE + 4], bs[DEPTH][SIDE + 4];
	int across = (k + SIDE - 1) / SIDE, group = blockX() / across, j0 = blockX() % across * SIDE;
	int tx = threadOf() % 16, ty = threadOf() / 16, i0 = blockY() * SIDE;
	int some = i0 + ty * 4 < n && j0 + tx * 4 < k; // the thread has a pair
	float u = unit ? *unit : 1, inverse = 1 / u, sum[4][4];
	int from = blockZ() * per, to = h - from < per ? h : from + per;
	a += (long)group * n * h, b += (long)group * k * h, d += (long)group * n * k + blockZ() * size;
	(void)inverse; // P = 1 has no squares
	UNROLL for (int i = 0; i < 4; i++)
		UNROLL for (int j = 0; j < 4; j++) sum[i][j] = 0;
	for (int c0 = from; c0 < to; c0 += DEPTH) {
		for (int e = threadOf(); e < SIDE * DEPTH; e += 256) {
			int c = c0 + e % DEPTH, r = e / DEPTH;
			as[e % DEPTH][r] = c < h && i0 + r < n ? OUTSIDE(a[(long)(i0 + r) * h + c]) : 0;
			bs[e % DEPTH][r] = c < h && j0 + r < k ? OUTSIDE(b[(long)(j0 + r) * h + c]) : 0;
		}
		SYNC();
		if (some) for (int c = 0; c < DEPTH; c++) {
			float x[4], y[4];
			UNROLL for (int i = 0; i < 4; i++) x[i] = as[c][ty * 4 + i], y[i] = bs[c][tx * 4 + i];
			UNROLL for (int i = 0; i < 4; i++)
				UNROLL for (int j = 0; j < 4; j++) {
					float r = CALL(R, magnitude(x[i] - y[j]), omega);
					sum[i][j] = JOIN(r, sum[i][j]);
				}
		}
		SYNC();
	}
	UNROLL for (int i = 0; i < 4; i++)
		UNROLL for (int j = 0; j < 4; j++) {
			int p = i0 + ty * 4 + i, q = j0 + tx * 4 + j;
			if (p >= n || q >= k) continue;
			d[(long)p * k + q] = split ? sum[i][j] : pairValue(sum[i][j], by, rooted, unit != 0, u);
		}
}

// da (n, h) = sum over j of c[i][j] * sign(a - b) * R'(t) * R(t)^(P-1), t = |a - b|,
// c is (n, k), or with the side FLIPPED (k, n): the
// same kernel gives db from the other side. With BOTH, of rows compared with
// themselves, it is c[i][j] + c[j][i]: da and db in one.
// A block has 64 rows x 64 coordinates, each thread 4 x 4.
KERNEL(NAME(pairs_grad), 256, 2)(int n, int k, int h, float *da, const float *c, const float *a, const float *b, float omega, int side, int per, long size) {
	SHARED float bs[DEPTH][SIDE + 4], cs[DEPTH][SIDE + 4];
	int across = (h + SIDE - 1) / SIDE, group = blockX() / across, h0 = blockX() % across * SIDE;
	int tx = threadOf() % 16, ty = threadOf() / 16, i0 = blockY() * SIDE;
	float sum[4][4], x[4][4];
	int from = blockZ() * per, to = k - from < per ? k : from + per;
	a += (long)group * n * h, b += (long)group * k * h, c += (long)group * n * k;
	UNROLL for (int i = 0; i < 4; i++)
		UNROLL for (int j = 0; j < 4; j++) {
			int p = i0 + ty * 4 + i, q = h0 + tx * 4 + j;
			sum[i][j] = 0;
			x[i][j] = p < n && q < h ? a[(long)p * h + q] : 0;
		}
	for (int j0 = from; j0 < to; j0 += DEPTH) {
		for (int e = threadOf(); e < SIDE * DEPTH; e += 256) {
			int r = e / SIDE, q = h0 + e % SIDE;
			bs[r][e % SIDE] = j0 + r < k && q < h ? b[(long)(j0 + r) * h + q] : 0;
		}
		for (int e = threadOf(); e < SIDE * DEPTH; e += 256) {
			// Neighbouring threads read neighbouring numbers either way round.
			int r = side == FLIPPED ? e / SIDE : e % DEPTH, s = side == FLIPPED ? e % SIDE : e / DEPTH;
			int i = i0 + s, j = j0 + r;
			float w = 0;
			if (i < n && j < k) {
				if (side != FLIPPED) w = c[(long)i * k + j];
				if (side != 0) w += c[(long)j * n + i];
			}
			cs[r][s] = w;
		}
		SYNC();
		int count = to - j0 < DEPTH ? to - j0 : DEPTH;
		for (int j = 0; j < count; j++) {
			UNROLL for (int q = 0; q < 4; q++) {
				float y = bs[j][tx * 4 + q];
				UNROLL for (int i = 0; i < 4; i++) {
					float diff = x[i][q] - y, t = magnitude(diff);
					float g = CHAIN(t, omega);
					sum[i][q] = fused(cs[j][ty * 4 + i], diff == 0 ? 0 : withSign(g, diff), sum[i][q]);
				}
			}
		}
		SYNC();
	}
	da += (long)blockX() / across * n * h + blockZ() * size;
	UNROLL for (int i = 0; i < 4; i++)
		UNROLL for (int j = 0; j < 4; j++) {
			int p = i0 + ty * 4 + i, q = h0 + tx * 4 + j;
			if (p >= n || q >= h) continue;
			da[(long)p * h + q] = sum[i][j];
		}
}
#undef JOIN
#undef CHAIN
#undef INSIDE
#undef OUTSIDE

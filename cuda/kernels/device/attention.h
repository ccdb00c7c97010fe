// Multi-head attention over packed tokens (B, T, 3D), fused: the T x T weights
// never leave the chip (Dao et al. 2022, FlashAttention). Heads have up to HEAD
// numbers; the tail of shorter ones is zero. Included for heads of up to 64 in
// tiles of 32, and, as wide, for heads of up to 256 in tiles of 8.
//
// A block has one tile of TILE queries (or, for the gradient of keys and values,
// of keys) of one head, and 128 threads: TILE rows x PARTS, each of which has one
// in PARTS of the other side's rows for the products, and of the numbers of the
// head for the sums.
#define PARTS (128 / TILE)
#define ROUNDS ((TILE + PARTS - 1) / PARTS)

#define PACKED(what, t) ((((long)image * tokens + (t)) * 3 + (what)) * wide + (long)head * size)
#define PLAIN(t) (((long)image * tokens + (t)) * wide + (long)head * size)

// Loads rows [from, from+TILE) of a part into box, times by.
#define LOAD(box, array, place, from, by)                                                       \
	for (int e = threadOf(); e < TILE * HEAD; e += 128) {                                       \
		int t = (from) + e / HEAD, i = e % HEAD;                                                \
		box[e / HEAD][i] = t < tokens && i < size ? GET(array, place + i) * (by) : 0;           \
	}

KERNEL(NAME(attention), 128)(int tokens, int heads, int size, float scale, T *y, float *logSum, const T *qkv) {
	SHARED float q[TILE][HEAD + 1], k[TILE][HEAD + 1], v[TILE][HEAD + 1], p[TILE][TILE + 1];
	int image = blockZ(), head = blockY(), wide = heads * size, from = blockX() * TILE;
	int row = threadOf() / PARTS, part = threadOf() % PARTS;
	float sum[HEAD / PARTS], top = -3e38f, total = 0;
	UNROLL for (int i = 0; i < HEAD / PARTS; i++) sum[i] = 0;
	LOAD(q, qkv, PACKED(0, t), from, scale)
	for (int start = 0; start < tokens; start += TILE) {
		SYNC();
		LOAD(k, qkv, PACKED(1, t), start, 1)
		LOAD(v, qkv, PACKED(2, t), start, 1)
		SYNC();
		for (int j = part; j < TILE; j += PARTS) {
			float s = 0;
			UNROLL_4 for (int i = 0; i < HEAD; i++) s = fused(q[row][i], k[j][i], s);
			p[row][j] = s;
		}
		SYNC();
		float next = top;
		int count = tokens - start < TILE ? tokens - start : TILE;
		for (int j = 0; j < count; j++) next = LARGER(p[row][j], next);
		float shrink = exponential(top - next);
		total *= shrink;
		UNROLL for (int i = 0; i < HEAD / PARTS; i++) sum[i] *= shrink;
		for (int j = 0; j < count; j++) {
			float e = exponential(p[row][j] - next);
			total += e;
			UNROLL for (int i = 0; i < HEAD / PARTS; i++) sum[i] = fused(e, v[j][i * PARTS + part], sum[i]);
		}
		top = next;
	}
	int t = from + row;
	if (t >= tokens) return;
	UNROLL for (int i = 0; i < HEAD / PARTS; i++)
		if (i * PARTS + part < size) PUT(y, PLAIN(t) + i * PARTS + part, sum[i] / total);
	if (part == 0) logSum[((long)image * heads + head) * tokens + t] = top + logarithm(total);
}

// delta (B, heads, T) = sum of dy*y over a head: what the softmax's gradient subtracts.
KERNEL(NAME(attention_delta), 128)(long n, int tokens, int heads, int size, float *delta, const T *dy, const T *y) {
	EACH(r, n) {
		int wide = heads * size, t = (int)(r % tokens), head = (int)(r / tokens % heads), image = (int)(r / tokens / heads);
		float sum = 0;
		for (int i = 0; i < size; i++) sum = fused(GET(dy, PLAIN(t) + i), GET(y, PLAIN(t) + i), sum);
		delta[r] = sum;
	}
}

// The queries' gradient: ds = p*(dy.v - delta), dq = scale * sum ds*k.
KERNEL(NAME(attention_dq), 128)(int tokens, int heads, int size, float scale, T *dqkv, const T *dy, const float *logSum, const float *delta, const T *qkv) {
	SHARED float q[TILE][HEAD + 1], g[TILE][HEAD + 1], k[TILE][HEAD + 1], v[TILE][HEAD + 1], s[TILE][TILE + 1];
	int image = blockZ(), head = blockY(), wide = heads * size, from = blockX() * TILE;
	int row = threadOf() / PARTS, part = threadOf() % PARTS, t0 = from + row;
	long stat = ((long)image * heads + head) * tokens;
	float sum[HEAD / PARTS], ls = t0 < tokens ? logSum[stat + t0] : 0, less = t0 < tokens ? delta[stat + t0] : 0;
	UNROLL for (int i = 0; i < HEAD / PARTS; i++) sum[i] = 0;
	LOAD(q, qkv, PACKED(0, t), from, scale)
	LOAD(g, dy, PLAIN(t), from, 1)
	for (int start = 0; start < tokens; start += TILE) {
		SYNC();
		LOAD(k, qkv, PACKED(1, t), start, 1)
		LOAD(v, qkv, PACKED(2, t), start, 1)
		SYNC();
		int count = tokens - start < TILE ? tokens - start : TILE;
		for (int j = part; j < count; j += PARTS) {
			float w = 0, d = 0;
			UNROLL_4 for (int i = 0; i < HEAD; i++) {
				w = fused(q[row][i], k[j][i], w);
				d = fused(g[row][i], v[j][i], d);
			}
			s[row][j] = exponential(w - ls) * (d - less);
		}
		SYNC();
		for (int j = 0; j < count; j++)
			UNROLL for (int i = 0; i < HEAD / PARTS; i++) sum[i] = fused(s[row][j], k[j][i * PARTS + part], sum[i]);
	}
	if (t0 >= tokens) return;
	UNROLL for (int i = 0; i < HEAD / PARTS; i++)
		if (i * PARTS + part < size) PUT(dqkv, PACKED(0, t0) + i * PARTS + part, sum[i] * scale);
}

// The keys' and values': dv = sum p*dy, dk = scale * sum ds*q over the queries.
KERNEL(NAME(attention_dkv), 128)(int tokens, int heads, int size, float scale, T *dqkv, const T *dy, const float *logSum, const float *delta, const T *qkv) {
	SHARED float k[TILE][HEAD + 1], v[TILE][HEAD + 1], q[TILE][HEAD + 1], g[TILE][HEAD + 1], s[TILE][TILE + 1];
	int image = blockZ(), head = blockY(), wide = heads * size, from = blockX() * TILE;
	int row = threadOf() / PARTS, part = threadOf() % PARTS, t0 = from + row;
	long stat = ((long)image * heads + head) * tokens;
	float dk[HEAD / PARTS], dv[HEAD / PARTS], w[ROUNDS];
	UNROLL for (int i = 0; i < HEAD / PARTS; i++) dk[i] = dv[i] = 0;
	LOAD(k, qkv, PACKED(1, t), from, 1)
	LOAD(v, qkv, PACKED(2, t), from, 1)
	for (int start = 0; start < tokens; start += TILE) {
		SYNC();
		LOAD(q, qkv, PACKED(0, t), start, scale)
		LOAD(g, dy, PLAIN(t), start, 1)
		SYNC();
		int count = tokens - start < TILE ? tokens - start : TILE;
		UNROLL for (int n = 0; n < ROUNDS; n++) {
			int j = n * PARTS + part;
			w[n] = 0;
			if (j >= count) continue;
			float a = 0, d = 0;
			UNROLL_4 for (int i = 0; i < HEAD; i++) {
				a = fused(q[j][i], k[row][i], a);
				d = fused(g[j][i], v[row][i], d);
			}
			w[n] = exponential(a - logSum[stat + start + j]);
			s[row][j] = w[n] * (d - delta[stat + start + j]);
		}
		SYNC();
		for (int j = 0; j < count; j++)
			UNROLL for (int i = 0; i < HEAD / PARTS; i++) dk[i] = fused(s[row][j], q[j][i * PARTS + part], dk[i]);
		SYNC();
		UNROLL for (int n = 0; n < ROUNDS; n++)
			if (n * PARTS + part < TILE) s[row][n * PARTS + part] = w[n];
		SYNC();
		for (int j = 0; j < count; j++)
			UNROLL for (int i = 0; i < HEAD / PARTS; i++) dv[i] = fused(s[row][j], g[j][i * PARTS + part], dv[i]);
	}
	if (t0 >= tokens) return;
	// q came in times scale already.
	UNROLL for (int i = 0; i < HEAD / PARTS; i++)
		if (i * PARTS + part < size) {
			PUT(dqkv, PACKED(1, t0) + i * PARTS + part, dk[i]);
			PUT(dqkv, PACKED(2, t0) + i * PARTS + part, dv[i]);
		}
}
#undef PACKED
#undef PLAIN
#undef LOAD
#undef PARTS
#undef ROUNDS

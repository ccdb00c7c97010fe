// Many small operations in one launch: each block does a piece of a task.

struct task {
	int kind, types; // types: bit 0 says that out[0] is bf16, bits 1 and 2 that in[0] and in[1] are
	int width, parts;
	float by;
	int unused;
	float *out[3]; // or bf16
	const float *in[6];
};
// piece is length elements, rows or channels of a task, from the given one on.
struct piece {
	int task, length;
	long from;
};

enum { TASK_COPY, TASK_SCALE_ROWS, TASK_ROW_DOTS, TASK_COMBINE, TASK_FOLD_NORM, TASK_FOLD_NORM_GRAD };

#define PIECE(i) UNROLL_4 for (long i = at.from + threadOf(); i < end; i += 256)
// STORED makes y[i] of body of x[i], whichever types they have.
#define STORED(body)                                                              \
	switch (t.types & 3) {                                                        \
	case 0: PIECE(i) y[i] = body(x[i]); break;                                    \
	case 1: PIECE(i) ((bf16 *)y)[i] = narrow(body(x[i])); break;                  \
	case 2: PIECE(i) y[i] = body(widen(((const bf16 *)x)[i])); break;             \
	default: PIECE(i) ((bf16 *)y)[i] = narrow(body(widen(((const bf16 *)x)[i]))); \
	}
#define SAME(v) (v)
#define TIMES_ROW(v) (t.in[1][i / (unsigned)t.width] * (v))

FN float stored(const float *p, long i, int half) { return half ? widen(((const bf16 *)p)[i]) : p[i]; }

// Each task computes what the kernel of its name does (rows.h, reduce.h), in the same
// order.
KERNEL(tasks, 256)(const struct task *list, const struct piece *pieces) {
	SHARED double box[8 * 33];
	struct piece at = pieces[blockX()];
	struct task t = list[at.task];
	long end = at.from + at.length;
	float *y = t.out[0];
	const float *x = t.in[0];
	switch (t.kind) {
	case TASK_COPY:
		STORED(SAME)
		break;
	case TASK_SCALE_ROWS:
		STORED(TIMES_ROW)
		break;
	case TASK_ROW_DOTS: { // half of the block a row
		int lane = threadOf() & 127, half = threadOf() & 128;
		for (long from = at.from; from < end; from += 2) {
			long row = from + (half ? 1 : 0), first = row * t.width;
			double sum = 0;
			if (row < end)
				for (int i = lane; i < t.width; i += 128) sum += (double)stored(x, first + i, t.types & 2) * stored(t.in[1], first + i, t.types & 4);
			box[threadOf()] = sum;
			SYNC();
			for (int e = 64; e; e >>= 1) {
				if (lane < e) box[threadOf()] += box[threadOf() + e];
				SYNC();
			}
			if (lane == 0 && row < end) y[row] = (float)box[threadOf()];
			SYNC();
		}
		break;
	}
	case TASK_COMBINE: { // 32 channels a piece
		int lane = threadOf() & 31, group = threadOf() >> 5;
		long k = at.from + lane;
		double sum = 0;
		if (k < end)
			UNROLL_4 for (int i = group; i < t.parts; i += 8) sum += x[(long)i * t.width + k];
		box[group * 33 + lane] = sum;
		SYNC();
		if (group == 0 && k < end) {
			for (int i = 1; i < 8; i++) sum += box[i * 33 + lane];
			y[k] = (float)(sum * t.by);
		}
		break;
	}
	case TASK_FOLD_NORM: {
		float *scale = t.out[0], *shift = t.out[1];
		const float *bias = t.in[0], *gamma = t.in[1], *beta = t.in[2], *mean = t.in[3], *variance = t.in[4];
		for (long k = at.from + threadOf(); k < end; k += 256) {
			float v = gamma[k] / root(variance[k] + t.by);
			scale[k] = v;
			shift[k] = fused((bias ? bias[k] : 0) - mean[k], v, beta[k]);
		}
		break;
	}
	default: {
		float *dbias = t.out[0], *dgamma = t.out[1], *dbeta = t.out[2];
		const float *dscale = t.in[0], *dshift = t.in[1], *bias = t.in[2], *gamma = t.in[3], *mean = t.in[4], *variance = t.in[5];
		for (long k = at.from + threadOf(); k < end; k += 256) {
			float spread = root(variance[k] + t.by), up = dshift[k];
			if (dbias) dbias[k] = up * gamma[k] / spread;
			if (dgamma) dgamma[k] = fused((bias ? bias[k] : 0) - mean[k], up, dscale[k]) / spread;
			if (dbeta) dbeta[k] = up;
		}
	}
	}
}

#undef PIECE
#undef STORED
#undef SAME
#undef TIMES_ROW

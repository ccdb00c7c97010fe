// The metrics of layers.Metric.Chords: functions of the distance of two prepared
// rows and of a number a row. They look at differences of directions, which float32
// does not hold for rows that are close, hence float64.

// x/|x| of every row, or x less its mean; sizes (rows) receives the length before
// any division. One block a row.
KERNEL(chord_rows, 256)(int h, double *y, double *sizes, const float *x, int toUnit) {
	SHARED double box[256];
	const float *in = x + (long)blockX() * h;
	double *out = y + (long)blockX() * h;
	double mean = 0, sum = 0;
	if (!toUnit) { // exact for a row of equal numbers
		double first = in[0];
		for (int i = threadOf(); i < h; i += threads()) mean += (in[i] - first) / h;
		mean = first + wideSum(mean, box);
		SYNC();
	}
	for (int i = threadOf(); i < h; i += threads()) {
		double v = in[i] - mean;
		out[i] = v;
		sum += v * v; // of float32 numbers, which neither overflows nor vanishes
	}
	double size = wideRoot(wideSum(sum, box));
	if (threadOf() == 0) sizes[blockX()] = size;
	if (toUnit)
		for (int i = threadOf(); i < h; i += threads()) out[i] = size == 0 ? 0 : out[i] / size;
}

// The geometry of a metric: root is that of the curvature, or 0 for
// signal-to-noise; a point lies grow times its length from the origin, of which it
// has no more than most.
#define GEOMETRY double root, double most, double grow

#define FAR_OUT 300
#define MOST_SIDE 4.4942328371557893e307

// See layers.Metric's triangle.
struct triangle {
	double alpha, beta, t, half, excess;
	int flat, far;
};

FN double log1mExp(double x) { return x < 1 ? wideLog(-wideExpm1(-x)) : wideLog1p(-wideExp(-x)); }

FN struct triangle triangleOf(double chord, double a, double b, GEOMETRY) {
	struct triangle s;
	s.alpha = wideLess(root * (grow * wideLess(a, most)), MOST_SIDE);
	s.beta = wideLess(root * (grow * wideLess(b, most)), MOST_SIDE);
	s.t = chord / 2;
	s.excess = 0;
	s.flat = s.t == 0 || s.alpha == 0 || s.beta == 0;
	s.far = !s.flat && wideMore(s.alpha, s.beta) > FAR_OUT;
	double apart = wideMagnitude(s.alpha - s.beta), near = wideLess(s.alpha, s.beta);
	if (s.flat) {
		s.half = apart / 2;
	} else if (!s.far) {
		double radial = wideSinh(apart / 2), across = wideRoot(wideSinh(s.alpha)) * wideRoot(wideSinh(s.beta)) * s.t;
		s.half = wideArsinh(wideRoot(wideFused(radial, radial, across * across)));
	} else {
		double radial = log1mExp(apart) - near;
		double across = wideLog(s.t) + (log1mExp(2 * s.alpha) + log1mExp(2 * s.beta)) / 2;
		double high = wideMore(radial, across), low = wideLess(radial, across), middle = s.alpha / 2 + s.beta / 2;
		high += wideLog1p(wideExp(2 * (low - high))) / 2;
		if (middle + high > 20) {
			s.half = middle + high, s.excess = -2 * high;
		} else {
			s.half = wideArsinh(wideExp(middle + high) / 2);
			s.excess = s.alpha + s.beta - 2 * s.half;
		}
	}
	return s;
}

FN double chordValue(double chord, double a, double b, GEOMETRY) {
	if (root > 0) return 2 / root * triangleOf(chord, a, b, root, most, grow).half;
	double r = chord / a;
	return chord == 0 ? 0 : a == 0 ? 2 : r * r;
}

// See layers.Slopes.
struct slopes {
	double alongA, apartA, alongB, apartB;
};

FN struct slopes noiseSlopes(double chord, double a, double up) {
	struct slopes z = {0, 0, 0, 0};
	if (chord == 0 || a == 0) return z;
	double pull = up * (2 / a) / a, r = chord / a;
	z.alongA = -pull * r * r, z.apartA = pull, z.apartB = pull;
	return z;
}

FN struct slopes chordSlopes(double chord, double a, double b, double up, GEOMETRY) {
	if (!(root > 0)) return noiseSlopes(chord, a, up);
	struct slopes z = {0, 0, 0, 0};
	struct triangle s = triangleOf(chord, a, b, root, most, grow);
	if (s.half == 0) return z;
	double f = up * 2 / root, growA = wideLess(a, most) == most ? 0 : root * grow, growB = wideLess(b, most) == most ? 0 : root * grow;
	if (s.flat) {
		double along = s.alpha < s.beta ? -f / 2 : f / 2;
		z.alongA = along * growA, z.alongB = -along * growB;
		if (s.alpha == 0) z.apartA = f / 2 * growA;
		else if (s.beta == 0) z.apartB = f / 2 * growB;
		return z;
	}
	double radial, product, mixA, mixB;
	if (!s.far) {
		double y = wideSinh(2 * s.half), sa = wideSinh(s.alpha), sb = wideSinh(s.beta);
		radial = wideSinh(s.alpha - s.beta) / y, product = sa * (sb / y);
		mixA = wideCosh(s.alpha) * (sb / y), mixB = wideCosh(s.beta) * (sa / y);
	} else {
		double ends = log1mExp(4 * s.half), la = log1mExp(2 * s.alpha), lb = log1mExp(2 * s.beta), whole = s.excess - ends - LN2_HIGH - LN2_LOW;
		radial = wideExp(s.excess - 2 * wideLess(s.alpha, s.beta) + log1mExp(2 * wideMagnitude(s.alpha - s.beta)) - ends);
		if (s.alpha < s.beta) radial = -radial;
		product = wideExp(whole + la + lb);
		mixA = wideExp(whole + wideLog1p(wideExp(-2 * s.alpha)) + lb);
		mixB = wideExp(whole + wideLog1p(wideExp(-2 * s.beta)) + la);
	}
	double t2 = s.t * s.t;
	z.apartA = f / 2 * product / a, z.apartB = f / 2 * product / b;
	z.alongA = f * growA * (radial / 2 + t2 * mixA) - 2 * t2 * z.apartA;
	z.alongB = f * growB * (-radial / 2 + t2 * mixB) - 2 * t2 * z.apartB;
	return z;
}

// Groups of rows lie one behind the other, and so do their matrices; a grid has as
// many times the blocks of one group. GROUP(blocks) says which it is, and leaves the
// block's number within it.
#define GROUP(blocks) \
	long group = blockX() / (blocks), block = blockX() % (blocks); \
	x += group * n * h, y += group * k * h;

// PAIR computes |x_i - y_j| of prepared rows x (n, h) and y (k, h): a block has 16 x
// 16 pairs, a thread one.
#define PAIR                                                                          \
	SHARED double xs[16][17], ys[16][17];                                             \
	int across = (k + 15) / 16;                                                       \
	GROUP((n + 15) / 16 * across)                                                     \
	int i0 = block / across * 16, j0 = block % across * 16;                           \
	int tx = threadOf() % 16, ty = threadOf() / 16, i = i0 + ty, j = j0 + tx;         \
	double chord = 0;                                                                 \
	for (int c0 = 0; c0 < h; c0 += 16) {                                              \
		int c = c0 + tx;                                                              \
		xs[ty][tx] = i < n && c < h ? x[(long)i * h + c] : 0;                         \
		ys[ty][tx] = j0 + ty < k && c < h ? y[(long)(j0 + ty) * h + c] : 0;           \
		SYNC();                                                                       \
		for (int e = 0; e < 16; e++) {                                                \
			double v = xs[ty][e] - ys[tx][e];                                         \
			chord = wideFused(v, v, chord);                                           \
		}                                                                             \
		SYNC();                                                                       \
	}                                                                                 \
	if (i >= n || j >= k) return;                                                     \
	long pair = group * n * k + (long)i * k + j;                                      \
	sizesX += group * n, sizesY += group * k;                                         \
	chord = wideRoot(chord);

// d (n, k) between prepared rows.
KERNEL(chords, 256)(int n, int k, int h, float *d, const double *x, const double *y, const double *sizesX, const double *sizesY, double root, double most, double grow) {
	PAIR
	d[pair] = wideSaturate(chordValue(chord, sizesX[i], sizesY[j], root, most, grow));
}

// along and apart (n, k): the gradient of row i is the sum over j of along*x_i +
// apart*(x_i - y_j). sides says of which side of the metric the rows x are: 1 of a
// alone, with dd (n, k), 2 of b alone, with dd (k, n), 3 of both, x and y being one.
KERNEL(chord_slopes, 256, 2)(int n, int k, int h, double *along, double *apart, const double *x, const double *y, const double *sizesX, const double *sizesY, const float *dd, int sides, double root, double most, double grow) {
	PAIR
	double a = 0, p = 0;
	if (sides & 1) {
		struct slopes s = chordSlopes(chord, sizesX[i], sizesY[j], dd[pair], root, most, grow);
		a = s.alongA, p = s.apartA;
	}
	if (sides & 2) {
		struct slopes s = chordSlopes(chord, sizesY[j], sizesX[i], dd[group * n * k + (long)j * n + i], root, most, grow);
		a += s.alongB, p += s.apartB;
	}
	along[pair] = a;
	apart[pair] = p;
}

// dx (n, h) from them. A block has 16 rows x 64 coordinates, a thread 4 rows.
KERNEL(chord_grad, 256, 2)(int n, int k, int h, float *dx, const double *along, const double *apart, const double *x, const double *y) {
	SHARED double ys[16][64], as[16][17], ps[16][17];
	int across = (h + 63) / 64;
	GROUP((n + 15) / 16 * across)
	int i0 = block / across * 16, c = block % across * 64 + threadOf() % 64, ty = threadOf() / 64;
	double sum[4], v[4];
	dx += group * n * h, along += group * n * k, apart += group * n * k;
	UNROLL for (int q = 0; q < 4; q++) {
		int i = i0 + ty * 4 + q;
		sum[q] = 0;
		v[q] = i < n && c < h ? x[(long)i * h + c] : 0;
	}
	for (int j0 = 0; j0 < k; j0 += 16) {
		for (int r = ty; r < 16; r += 4) ys[r][threadOf() % 64] = j0 + r < k && c < h ? y[(long)(j0 + r) * h + c] : 0;
		int i = i0 + threadOf() / 16, j = j0 + threadOf() % 16, there = i < n && j < k;
		as[threadOf() / 16][threadOf() % 16] = there ? along[(long)i * k + j] : 0;
		ps[threadOf() / 16][threadOf() % 16] = there ? apart[(long)i * k + j] : 0;
		SYNC();
		int count = k - j0 < 16 ? k - j0 : 16;
		for (int e = 0; e < count; e++)
			UNROLL for (int q = 0; q < 4; q++)
				sum[q] += wideFused(as[ty * 4 + q][e], v[q], ps[ty * 4 + q][e] * (v[q] - ys[e][threadOf() % 64]));
		SYNC();
	}
	UNROLL for (int q = 0; q < 4; q++) {
		int i = i0 + ty * 4 + q;
		if (i < n && c < h) dx[(long)i * h + c] = wideSaturate(sum[q]);
	}
}
#undef PAIR
#undef GROUP

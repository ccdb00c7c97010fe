// Losses over class rows (proxies) on the device, for where the matrix of a batch
// and thousands of classes would otherwise travel. d (rows, columns) holds values
// of a metric, of which the loss sees the similarity a + b*d + c*d^2; column j
// stands for class j, and labels (rows) holds whole numbers.

FN float similarity(float d, float a, float b, float c) { return fused(fused(c, d, b), d, a); }

// Proxy-anchor (Kim et al. 2020, Eq. 4). stats (6, columns) receives for the rows
// of a column's class, then for the others: the maximum m of 0 and the exponents
// e; exp(-m) + sum exp(e - m), which is 0 where there are no such rows; and the
// logarithm of 1 + sum exp(e).
KERNEL(proxy_anchor_columns, 256)(int rows, int columns, float *stats, const float *d, const float *labels, float alpha, float pull, float push, float a, float b, float c) {
	SHARED float tops[2][8][33], sums[2][8][33];
	int lane = threadOf() & 31, at = threadOf() >> 5, j = blockX() * 32 + lane;
	float top[2] = {-3e38f, -3e38f}, sum[2] = {0, 0};
	if (j < columns)
		for (int i = at; i < rows; i += 8) {
			float s = similarity(d[(long)i * columns + j], a, b, c);
			int other = (int)labels[i] != j;
			float e = other ? alpha * (s - push) : -alpha * (s - pull);
			// Selects keep both pairs in registers.
			float m = other ? top[1] : top[0], t = other ? sum[1] : sum[0];
			float next = LARGER(e, m);
			t = t * exponential(m - next) + exponential(e - next);
			if (other)
				top[1] = next, sum[1] = t;
			else
				top[0] = next, sum[0] = t;
		}
	for (int k = 0; k < 2; k++) tops[k][at][lane] = top[k], sums[k][at][lane] = sum[k];
	SYNC();
	if (at < 2 && j < columns) {
		float m = 0, total = 0;
		int any = 0;
		for (int i = 0; i < 8; i++)
			if (tops[at][i][lane] != -3e38f) m = LARGER(tops[at][i][lane], m), any = 1;
		for (int i = 0; i < 8; i++)
			if (tops[at][i][lane] != -3e38f) total += sums[at][i][lane] * exponential(tops[at][i][lane] - m);
		float *to = stats + (long)(3 * at) * columns + j;
		to[0] = m;
		to[columns] = any ? exponential(-m) + total : 0;
		// Where the sum is small a 1 would swallow it.
		to[2 * (long)columns] = m == 0 && total < 1e-3f ? total * fused(-.5f, total, 1) : m + logarithm(exponential(-m) + total);
	}
}

// The loss, and one over the number of columns with rows of their class, at least 1.
KERNEL(proxy_anchor_total, 256)(int columns, float *loss, float *share, const float *stats) {
	SHARED double box[256];
	double sum[3] = {0, 0, 0};
	for (int j = threadOf(); j < columns; j += threads())
		for (int k = 0; k < 2; k++) {
			if (stats[(long)(3 * k + 1) * columns + j] == 0) continue;
			sum[k] += stats[(long)(3 * k + 2) * columns + j];
			if (k == 0) sum[2] += 1;
		}
	for (int k = 0; k < 3; k++) {
		sum[k] = wideSum(sum[k], box);
		SYNC(); // box is used again
	}
	if (threadOf() == 0) {
		double present = sum[2] > 1 ? sum[2] : 1;
		*loss = (float)(sum[0] / present + sum[1] / columns);
		*share = (float)(1 / present);
	}
}

// The derivative with respect to d.
KERNEL(proxy_anchor_grad, 256)(long n, int columns, float *grad, const float *d, const float *labels, const float *stats, const float *share, float alpha, float pull, float push, float a, float b, float c) {
	EACH(i, n) {
		unsigned row = i / (unsigned)columns;
		int j = (int)(i - row * columns), other = (int)labels[row] != j;
		float v = d[i], s = similarity(v, a, b, c);
		float e = other ? alpha * (s - push) : -alpha * (s - pull);
		float m = stats[(long)(3 * other) * columns + j], total = stats[(long)(3 * other + 1) * columns + j];
		float w = alpha * exponential(e - m) / total;
		float g = other ? w / columns : -w * *share;
		grad[i] = g * fused(2 * c, v, b);
	}
}

// The similarity of a row to its own class as the loss counts it, and its slope with
// respect to d: cos(t) = s becomes cos(t + m) (Deng et al. 2019, Eq. 3) and, where
// t + m exceeds pi, s - m sin(m), given the cosine and sine of m and far = m sin(m);
// less a margin (Wang et al. 2018, Eq. 4). The sine of t is the root of a
// difference, hence float64; it is held at 1e-3.
FN float widened(float d, float a, float b, float c, float cosine, float sine, float far, float margin, float *slope) {
	double s = ((double)c * d + b) * d + a, y = s, by = 1;
	if (sine != 0 && s <= -cosine) {
		y = s - far;
	} else if (sine != 0) {
		double square = 1 - s * s;
		double across = square <= 1e-6 ? 1e-3 : wideRoot(square);
		y = s * cosine - across * sine;
		by = square <= 1e-6 ? cosine : cosine + s / across * sine;
	}
	*slope = (float)(by * (2 * (double)c * d + b));
	return (float)(y - margin);
}

// Cross-entropy of the softmax over columns at scale*similarity (normalised softmax,
// CosFace, ArcFace, proxy-NCA): losses (rows), and the derivative of their mean with
// respect to d. The own class is widened; the others share the part smoothing of the
// target (Teh et al. 2020), and with others they alone make the denominator
// (Movshovitz-Attias et al. 2017, Eq. 4). One block a row.
KERNEL(class_softmax, 256)(int columns, float *losses, float *grad, const float *d, const float *labels, float scale, float each, float cosine, float sine, float far, float margin, float smoothing, int others, float a, float b, float c) {
	SHARED float box[33];
	long row = (long)blockX() * columns;
	int own = (int)labels[blockX()];
	float slope = 0, rest = columns > 1 ? smoothing / (columns - 1) : 0;
	// A label that is no column's makes the loss NaN.
	float mine = own < 0 || own >= columns ? floatOf(0x7fc00000u) : scale * widened(d[row + own], a, b, c, cosine, sine, far, margin, &slope);
	float top = others ? -3e38f : mine;
	for (int j = threadOf(); j < columns; j += threads())
		if (j != own) top = LARGER(scale * similarity(d[row + j], a, b, c), top);
	top = blockMax(top, box);
	// Logits count from the largest one, which cancels.
	float sum = 0, all = 0;
	for (int j = threadOf(); j < columns; j += threads()) {
		if (j == own) continue;
		float v = scale * similarity(d[row + j], a, b, c) - top;
		sum += exponential(v), all += v;
	}
	sum = blockSum(sum, box);
	all = blockSum(all, box);
	// Where the own class is the nearest by far a 1 would swallow the others.
	float log = !others && mine == top && sum < 1e-3f ? sum * fused(-.5f, sum, 1) : 0, rivals = sum;
	if (!others) sum += exponential(mine - top);
	if (log == 0) log = logarithm(sum);
	if (threadOf() == 0) {
		float loss = log - (1 - smoothing) * (mine - top) - rest * all;
		losses[blockX()] = !others && loss < 0 ? 0 : loss;
	}
	for (int j = threadOf(); j < columns; j += threads()) {
		if (j == own) {
			grad[row + j] = each * scale * (smoothing - rivals / sum) * slope;
			continue;
		}
		float v = d[row + j], p = exponential(scale * similarity(v, a, b, c) - top) / sum;
		grad[row + j] = each * scale * (p - rest) * fused(2 * c, v, b);
	}
}

// out = by * sum of x, in float64.
KERNEL(sum_floats, 256)(int n, float *out, const float *x, float by) {
	SHARED double box[256];
	double sum = 0;
	for (int i = threadOf(); i < n; i += threads()) sum += x[i];
	sum = wideSum(sum, box);
	if (threadOf() == 0) *out = (float)(sum * by);
}

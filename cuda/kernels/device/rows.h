// Work on rows of float32, one block a row.

KERNEL(softmax, 128)(int d, float *y, const float *x, int logarithmic) {
	SHARED float box[33];
	const float *in = x + (long)blockX() * d;
	float *out = y + (long)blockX() * d;
	float top = in[0];
	for (int i = threadOf(); i < d; i += threads()) top = LARGER(top, in[i]);
	top = blockMax(top, box);
	float sum = 0;
	for (int i = threadOf(); i < d; i += threads()) sum += exponential(in[i] - top);
	sum = blockSum(sum, box);
	float ls = logarithm(sum), by = 1 / sum;
	for (int i = threadOf(); i < d; i += threads()) {
		float v = in[i] - top;
		out[i] = logarithmic ? v - ls : exponential(v) * by;
	}
}

// From the output: softmax dx = y*(dy - sum dy*y), logarithmic dx = dy - e^y*sum dy.
KERNEL(softmax_grad, 128)(int d, float *dx, const float *dy, const float *y, int logarithmic) {
	SHARED float box[33];
	long row = (long)blockX() * d;
	float sum = 0;
	for (int i = threadOf(); i < d; i += threads()) sum += logarithmic ? dy[row + i] : dy[row + i] * y[row + i];
	sum = blockSum(sum, box);
	for (int i = threadOf(); i < d; i += threads())
		dx[row + i] = logarithmic ? dy[row + i] - exponential(y[row + i]) * sum : y[row + i] * (dy[row + i] - sum);
}

// Length of a row, with its squares taken in units of its largest element:
// *unit times the result.
FN float rowLength(const float *x, int h, float *unit, float *box) {
	float top = 0;
	for (int i = threadOf(); i < h; i += threads()) {
		float v = magnitude(x[i]);
		top = LARGER(v, top);
	}
	*unit = powerBelow(blockMax(top, box));
	float by = 1 / *unit, sum = 0;
	for (int i = threadOf(); i < h; i += threads()) sum += (x[i] * by) * (x[i] * by);
	return root(blockSum(sum, box));
}

// The divisor of a row in the same unit, see layers.RowNormSpec.
FN float rowDivisor(float length, float unit, float eps, int smooth) {
	if (smooth) { // the hypotenuse, whose squares may be out of range
		float other = root(eps) / unit, large = LARGER(length, other), small = length < other ? length : other;
		return large == 0 ? 0 : large * root(fused(small / large, small / large, 1));
	}
	float least = eps / unit;
	return length != length || length > least ? length : least;
}

KERNEL(row_norm, 128)(int h, float *y, const float *x, float scale, float eps, int smooth) {
	SHARED float box[33];
	const float *in = x + (long)blockX() * h;
	float *out = y + (long)blockX() * h;
	float unit, length = rowLength(in, h, &unit, box), divisor = rowDivisor(length, unit, eps, smooth);
	for (int i = threadOf(); i < h; i += threads()) out[i] = length == 0 ? 0 : scale * (in[i] / unit / divisor);
}

KERNEL(row_norm_grad, 128)(int h, float *dx, const float *dy, const float *x, float scale, float eps, int smooth) {
	SHARED float box[33];
	long row = (long)blockX() * h;
	float unit, length = rowLength(x + row, h, &unit, box), divisor = rowDivisor(length, unit, eps, smooth);
	float along = 0;
	if (smooth || length > eps / unit)
		for (int i = threadOf(); i < h; i += threads()) along += x[row + i] / unit / divisor * dy[row + i];
	along = blockSum(along, box);
	for (int i = threadOf(); i < h; i += threads())
		dx[row + i] = divisor == 0 ? 0 : scale / divisor * (dy[row + i] - x[row + i] / unit / divisor * along) / unit;
}

// x/|x| of every row, 0 of a row of zeros; sizes (rows) receives |x|.
KERNEL(unit_rows, 128)(int h, float *y, float *sizes, const float *x) {
	SHARED float box[33];
	const float *in = x + (long)blockX() * h;
	float *out = y + (long)blockX() * h;
	float unit, length = rowLength(in, h, &unit, box);
	if (threadOf() == 0) sizes[blockX()] = length * unit;
	for (int i = threadOf(); i < h; i += threads()) out[i] = length == 0 ? 0 : in[i] / unit / length;
}

// Rows times a number each.
KERNEL(scale_rows, 256)(long n, int width, float *y, const float *x, const float *s) { EACH(i, n) y[i] = s[i / (unsigned)width] * x[i]; }

// The sum of products of two rows, in float64; one block a row.
KERNEL(row_dots, 128)(int width, float *d, const float *x, const float *y) {
	SHARED double box[128];
	long row = (long)blockX() * width;
	double sum = 0;
	for (int i = threadOf(); i < width; i += threads()) sum += (double)x[row + i] * y[row + i];
	box[threadOf()] = sum;
	SYNC();
	for (int e = 64; e; e >>= 1) {
		if (threadOf() < e) box[threadOf()] += box[threadOf() + e];
		SYNC();
	}
	if (threadOf() == 0) d[blockX()] = (float)box[0];
}

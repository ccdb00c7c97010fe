// Layer norm and token sequences of a vision transformer, (B, T, D).

// One block a row. mean and inv (rows) are kept for the gradient.
KERNEL(NAME(layer_norm), 128)(int d, T *y, float *mean, float *inv, const T *x, const float *gamma, const float *beta, float eps) {
	SHARED float box[33];
	long row = (long)blockX() * d;
	float sum = 0;
	for (int i = threadOf(); i < d; i += threads()) sum += GET(x, row + i);
	float m = blockSum(sum, box) / d;
	sum = 0;
	for (int i = threadOf(); i < d; i += threads()) sum += (GET(x, row + i) - m) * (GET(x, row + i) - m);
	float s = 1 / root(blockSum(sum, box) / d + eps);
	for (int i = threadOf(); i < d; i += threads()) PUT(y, row + i, fused((GET(x, row + i) - m) * s, gamma[i], beta[i]));
	if (threadOf() == 0) mean[blockX()] = m, inv[blockX()] = s;
}

// With u = (x - mean)*inv and g = dy*gamma: dx = inv*(g - mean(g) - u*mean(g*u)).
KERNEL(NAME(layer_norm_dx), 128)(int d, T *dx, const T *dy, const T *x, const float *gamma, const float *mean, const float *inv) {
	SHARED float box[33];
	long row = (long)blockX() * d;
	float m = mean[blockX()], s = inv[blockX()], plain = 0, along = 0;
	for (int i = threadOf(); i < d; i += threads()) {
		float g = GET(dy, row + i) * gamma[i];
		plain += g;
		along += g * ((GET(x, row + i) - m) * s);
	}
	plain = blockSum(plain, box) / d;
	along = blockSum(along, box) / d;
	for (int i = threadOf(); i < d; i += threads()) {
		float g = GET(dy, row + i) * gamma[i], u = (GET(x, row + i) - m) * s;
		PUT(dx, row + i, s * (g - plain - u * along));
	}
}

// prefix rows, then the positions of a map (B, area, D) in channels-last order, plus pos.
// prefix and pos may be null.
KERNEL(NAME(tokens), 256)(long n, int prefix, int area, int d, T *y, const T *x, const float *first, const float *pos) {
	unsigned length = prefix + area;
	long done = ROWS(n, d, (long)y | (long)x | (long)first | (long)pos);
	EACH(g, done / WIDTH) {
		unsigned across = (unsigned)d / WIDTH, row = g / across, k = g - row * across, image = row / length, t = row - image * length;
		float v[WIDTH], at[WIDTH];
		if (t < (unsigned)prefix) {
			READ_FLOATS(v, first, t * across + k);
		} else {
			READ(v, x, (image * area + t - prefix) * across + k);
		}
		if (pos) {
			READ_FLOATS(at, pos, t * across + k);
			UNROLL for (int j = 0; j < WIDTH; j++) v[j] += at[j];
		}
		WRITE(y, g, v);
	}
	EACH(i, n - done) {
		unsigned row = i / (unsigned)d, image = row / length;
		int k = (int)(i - row * d), t = (int)(row - image * length);
		float v = t < prefix ? first[(long)t * d + k] : GET(x, ((long)image * area + t - prefix) * d + k);
		if (pos) v += pos[(long)t * d + k];
		PUT(y, i, v);
	}
}

// out[i] = sum over the batch of in[image*stride + from + i].
KERNEL(NAME(batch_sum), 256)(long n, int batch, long stride, long from, float *out, const T *in) {
	EACH(i, n) {
		float sum = 0;
		for (int b = 0; b < batch; b++) sum += GET(in, b * stride + from + i);
		out[i] = sum;
	}
}

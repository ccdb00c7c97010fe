// What writes channels of a larger map.

// y = act(x*scale + shift) for n numbers x in rows of c, to rows of y that are width
// apart; scale and shift may be null.
KERNEL(NAME(join_affine), 256)(long n, int c, T *y, int width, const T *x, const float *scale, const float *shift, float ceiling) {
	long done = ROWS(n, c | width, (long)y | (long)x | (long)scale | (long)shift);
	EACH(g, done / WIDTH) {
		unsigned across = (unsigned)c / WIDTH, row = g / across, at = g - row * across;
		float v[WIDTH], by[WIDTH] = {0}, plus[WIDTH] = {0};
		READ(v, x, g);
		if (scale) READ_FLOATS(by, scale, at);
		if (shift) READ_FLOATS(plus, shift, at);
		UNROLL for (int j = 0; j < WIDTH; j++) {
			if (scale) v[j] *= by[j];
			if (shift) v[j] += plus[j];
			if (ceiling != 0) v[j] = v[j] <= 0 ? 0 : v[j] > ceiling ? ceiling : v[j];
		}
		WRITE(y, (long)row * (width / WIDTH) + at, v);
	}
	EACH(i, n - done) {
		unsigned row = i / (unsigned)c, k = i - row * (unsigned)c;
		float v = GET(x, i);
		if (scale) v *= scale[k];
		if (shift) v += shift[k];
		PUT(y, (long)row * width + k, ceiling == 0 ? v : v <= 0 ? 0 : v > ceiling ? ceiling : v);
	}
}

// Optimisers: all parameters in one launch. A block works on one chunk.

struct slot {
	float *w;
	const float *g;
	float *first, *second;
	long n;
	float rate, decay;
};
struct chunk {
	int slot, length;
	long from;
};

#define CHUNK                                                            \
	struct chunk part = chunks[blockX()];                                \
	struct slot s = slots[part.slot];                                    \
	(void)s;

#define ELEMENTS(i) for (long i = part.from + threadOf(); i < part.from + part.length; i += threads())

// What clipping makes of a gradient: times by, within +-limit (0: none). NaN stays.
FN float clipped(float g, float by, float limit) {
	g *= by;
	return limit == 0 ? g : g > limit ? limit : g < -limit ? -limit : g;
}

// CLIP reads what gradients are multiplied by, which clip_factor has left; null is
// 1. Where it is NaN nothing moves.
#define CLIP                        \
	float by = factor ? *factor : 1; \
	if (by != by) return;
#define GRADIENT(i) clipped(s.g[i], by, limit)

// hyper: beta1, 1-beta1, beta2, 1-beta2, 1/(1-beta1^t), 1/(1-beta2^t), eps. Decay
// is decoupled (AdamW), or added to the gradient if coupled (Adam).
KERNEL(adam, 256)(const struct slot *slots, const struct chunk *chunks, const float *hyper, int coupled, const float *factor, float limit) {
	CHUNK
	CLIP
	float keep1 = hyper[0], mix1 = hyper[1], keep2 = hyper[2], mix2 = hyper[3], fix1 = hyper[4], fix2 = hyper[5], eps = hyper[6];
	ELEMENTS(i) {
		float w = s.w[i], g = GRADIENT(i);
		if (coupled) g = fused(s.decay, w, g);
		float m = fused(keep1, s.first[i], mix1 * g), v = fused(keep2, s.second[i], mix2 * g * g);
		s.first[i] = m, s.second[i] = v;
		if (!coupled) w -= s.rate * s.decay * w;
		s.w[i] = w - s.rate * (m * fix1) / (root(v * fix2) + eps);
	}
}

// hyper: momentum. first may be null without momentum.
KERNEL(sgd, 256)(const struct slot *slots, const struct chunk *chunks, const float *hyper, int nesterov, const float *factor, float limit) {
	CHUNK
	CLIP
	float momentum = hyper[0];
	ELEMENTS(i) {
		float w = s.w[i], g = fused(s.decay, w, GRADIENT(i)), step = g;
		if (momentum != 0) {
			step = fused(momentum, s.first[i], g);
			s.first[i] = step;
			if (nesterov) step = fused(momentum, step, g);
		}
		s.w[i] = w - s.rate * step;
	}
}

// hyper: alpha, 1-alpha, eps, momentum. first is the mean square, second the
// momentum buffer, which may be null without momentum.
KERNEL(rmsprop, 256)(const struct slot *slots, const struct chunk *chunks, const float *hyper, const float *factor, float limit) {
	CHUNK
	CLIP
	float keep = hyper[0], mix = hyper[1], eps = hyper[2], momentum = hyper[3];
	ELEMENTS(i) {
		float w = s.w[i], g = fused(s.decay, w, GRADIENT(i));
		float v = fused(keep, s.first[i], mix * g * g), step = g / (root(v) + eps);
		s.first[i] = v;
		if (momentum != 0) {
			step = fused(momentum, s.second[i], step);
			s.second[i] = step;
		}
		s.w[i] = w - s.rate * step;
	}
}

// Sum of squares of a chunk's w, in float64.
KERNEL(sum_squares, 256)(const struct slot *slots, const struct chunk *chunks, double *part_) {
	SHARED double box[256];
	CHUNK
	double sum = 0;
	ELEMENTS(i) sum += (double)s.w[i] * s.w[i];
	sum = wideSum(sum, box);
	if (threadOf() == 0) part_[blockX()] = sum;
}

KERNEL(sum_doubles, 256)(int n, double *out, const double *x) {
	SHARED double box[256];
	double sum = 0;
	for (int i = threadOf(); i < n; i += threads()) sum += x[i];
	sum = wideSum(sum, box);
	if (threadOf() == 0) *out = sum;
}

// What a gradient is multiplied by so that its norm is at most limit (0: any), from
// n parts of its sum of squares; NaN if it is not finite.
KERNEL(clip_factor, 256)(int n, double *squares, float *factor, const double *x, float limit) {
	SHARED double box[256];
	double sum = 0;
	for (int i = threadOf(); i < n; i += threads()) sum += x[i];
	sum = wideSum(sum, box);
	if (threadOf() != 0) return;
	*squares = sum;
	double length = wideRoot(sum);
	*factor = (float)(sum - sum != 0 ? sum - sum : limit > 0 && length > limit ? limit / length : 1);
}

KERNEL(clamp, 256)(const struct slot *slots, const struct chunk *chunks, float limit) {
	CHUNK
	ELEMENTS(i) {
		float v = s.w[i];
		s.w[i] = v > limit ? limit : v < -limit ? -limit : v;
	}
}

#undef GRADIENT
#undef CLIP
#undef CHUNK
#undef ELEMENTS

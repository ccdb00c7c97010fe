// GELU, x Phi(x), by the error function (form 0), by its approximation with tanh (form
// 1) and as QuickGELU, x/(1 + e^-1.702x) (form 2), and the slopes of all.
#ifndef VERNIER_GELU_H
#define VERNIER_GELU_H

FN float geluOf(float v, int form) {
	float z = magnitude(v), r;
	if (form == 0) {
		float tail = normalTail(z);
		r = v * (v > 0 ? 1 - tail : tail);
		if (z > FAR_NORMAL) r = v > 0 ? v : v * 0; // of -infinity it is NaN
	} else if (form == 2) {
		float e = exponential(-1.702f * atMost(z, 50)); // 1/(1 + e^-1.702x), and its mirror
		r = z > 50 ? (v > 0 ? v : v * 0) : v * (v > 0 ? 1 : e) / (1 + e);
	} else {
		float u = .79788456f * fused(.044715f * z * z, z, z);
		float e = exponential(-2 * atMost(u, 43)); // (1 + tanh u)/2 = 1/(1 + e), and its mirror e/(1 + e)
		r = z > 20 ? (v > 0 ? v : v * 0) : v * (v > 0 ? 1 : e) / (1 + e);
	}
	return v != v ? v : r;
}

FN float geluSlope(float v, int form) {
	float z = magnitude(v), g;
	if (z > (form == 2 ? 50 : 20)) {
		g = (v > 0) + v * 0; // of an infinity it is NaN
	} else if (form == 0) {
		float tail = normalTail(z), density = .39894228f * exponential(-.5f * z * z);
		g = (v > 0 ? 1 - tail : tail) + v * density;
	} else if (form == 2) {
		float e = exponential(-1.702f * z), q = 1 / (1 + e);
		g = (v > 0 ? 1 : e) * q + v * 1.702f * e * q * q;
	} else {
		float u = .79788456f * fused(.044715f * z * z, z, z), slope = .79788456f * fused(.134145f * z, z, 1);
		float e = exponential(-2 * atMost(u, 43)), q = 1 / (1 + e);
		g = (v > 0 ? 1 : e) * q + v * 2 * e * q * q * slope;
	}
	return v != v ? v : g;
}

#endif

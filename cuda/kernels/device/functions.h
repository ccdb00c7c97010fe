// Elementary functions, the same on both targets.
#ifndef VERNIER_FUNCTIONS_H
#define VERNIER_FUNCTIONS_H
#include "approx.h"

FN float magnitude(float x) { return floatOf(bitsOf(x) & 0x7fffffffu); }
// withSign gives x the sign of s.
FN float withSign(float x, float s) { return floatOf((bitsOf(x) & 0x7fffffffu) | (bitsOf(s) & 0x80000000u)); }
// atMost limits x to top; NaN stays NaN.
FN float atMost(float x, float top) { return x > top ? top : x; }

// powerBelow is the power of two not above x, limited to where it and its
// inverse are normal; of 0 it is 1, so that dividing by it is exact and safe.
FN float powerBelow(float x) {
	unsigned e = bitsOf(x) & 0x7f800000u;
	if (e == 0x7f800000u || x == 0) return 1;
	if (e > 0x7e000000u) e = 0x7e000000u;
	if (e < 0x01000000u) e = 0x01000000u;
	return floatOf(e);
}

// exponential is e^x within 2 units in the last place: the argument is split
// so that the hardware's 2^f sees a fraction only.
FN float exponential(float x) {
	if (x > 88.72284f) return 1e38f * 1e38f * (x == x);
	if (x < -87.3f) return x < -103 ? 0 : exp2Fast(x * LOG2E);
	float n = (float)(int)(x * LOG2E + (x < 0 ? -.5f : .5f));
	float r = fused(n, -6.93145752e-1f, x);
	r = fused(n, -1.42860677e-6f, r);
	return exp2Fast(n) * exp2Fast(r * LOG2E);
}

FN float logarithm(float x) { return log2Fast(x) * LN2; }

// tanhOf is tanh u for u >= 0. Below 1/8 the quotient would cancel, and the
// series to u^9 is within 5e-10.
FN float tanhOf(float u) {
	float z = u * u;
	float s = fused(z, fused(z, fused(z, fused(z, 2.1869488e-2f, -5.3968254e-2f), .13333333f), -.33333333f), 1.f);
	float e = exp2Fast(-2 * LOG2E * atMost(u, 50));
	return u < .125f ? u * s : (1 - e) * reciprocal(1 + e);
}

// arcTan is atan t for t >= 0.
FN float arcTan(float t) {
	int far = t > 1;
	float x = far ? reciprocal(t) : t;
	float z = x * x, p = ATAN7;
	p = fused(p, z, ATAN6);
	p = fused(p, z, ATAN5);
	p = fused(p, z, ATAN4);
	p = fused(p, z, ATAN3);
	p = fused(p, z, ATAN2);
	p = fused(p, z, ATAN1);
	p = fused(p, z, ATAN0) * x;
	return far ? 1.5707963f - p : p;
}

// normalTail is Phi(-z) for z >= 0.
FN float normalTail(float z) {
	z = atMost(z, FAR_NORMAL);
	float t = 1 / fused(TAIL_P, z, 1), p = TAIL7;
	p = fused(p, t, TAIL6);
	p = fused(p, t, TAIL5);
	p = fused(p, t, TAIL4);
	p = fused(p, t, TAIL3);
	p = fused(p, t, TAIL2);
	p = fused(p, t, TAIL1);
	p = fused(p, t, TAIL0);
	return exponential(-.5f * z * z) * t * p;
}

// pairValue is a metric from the sum over coordinates, taken in the unit u.
FN float pairValue(float sum, float by, int rooted, int squares, float u) {
	float v = sum * by;
	return rooted ? root(v) * u : squares ? v * u * u : v;
}

// The restrictions of BRM (Table 1) and their slopes, for t >= 0, limited to
// where no intermediate overflows.
FN float sigmoidR(float t, float w) { return tanhOf(.5f * t); }
FN float sigmoidS(float t, float w) {
	float e = exp2Fast(-LOG2E * atMost(t, 87)), q = reciprocal(1 + e);
	return 2 * e * q * q;
}
FN float softsignR(float t, float w) {
	t = atMost(t, 1e18f);
	return t * reciprocal(1 + t);
}
FN float softsignS(float t, float w) {
	float q = reciprocal(1 + atMost(t, 1e18f));
	return q * q;
}
FN float arctanR(float t, float w) { return arcTan(t); }
FN float arctanS(float t, float w) {
	t = atMost(t, 1e18f);
	return reciprocal(fused(t, t, 1));
}
FN float tanhR(float t, float w) { return tanhOf(t); }
FN float tanhS(float t, float w) {
	float e = exp2Fast(-2 * LOG2E * atMost(t, 43)), q = reciprocal(1 + e);
	return 4 * e * q * q;
}
FN float isruR(float t, float w) {
	t = atMost(t, 1e18f * inverseRoot(w));
	return t * inverseRoot(fused(w * t, t, 1));
}
FN float isruS(float t, float w) {
	t = atMost(t, 1e18f * inverseRoot(w));
	float q = inverseRoot(fused(w * t, t, 1));
	return q * q * q;
}
// linear is no restriction: the Euclidean metrics.
FN float linearR(float t, float w) { return t; }
FN float linearS(float t, float w) { return 1; }

#endif

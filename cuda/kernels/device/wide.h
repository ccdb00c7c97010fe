// Elementary functions in float64, for which the machine has no instructions,
// within a few units in the last place. What uses them works on few numbers.
#ifndef VERNIER_WIDE_H
#define VERNIER_WIDE_H

#define LN2_HIGH 6.93147180369123816490e-01 // 32 bits, so that products with small integers are exact
#define LN2_LOW 1.90821492927058770002e-10

FN double wideMagnitude(double x) { return wideOf(wideBitsOf(x) & 0x7fffffffffffffffL); }
// The smaller and the larger of two numbers; NaN wins.
FN double wideLess(double a, double b) { return a < b || a != a ? a : b; }
FN double wideMore(double a, double b) { return a > b || a != a ? a : b; }
FN double powerOfTwo(int e) { return wideOf((long)(e + 1023) << 52); }

// e^x by the series of e^r, r = x - n log 2, |r| <= 0.35, to r^13.
FN double wideExp(double x) {
	if (x != x) return x;
	if (x > 709.8) x = 709.8; // infinite
	if (x < -746) x = -746;   // 0
	int n = (int)(x * 1.4426950408889634 + (x < 0 ? -.5 : .5));
	double r = wideFused(n, -LN2_LOW, wideFused(n, -LN2_HIGH, x)), p = 1 / 6227020800.;
	p = wideFused(p, r, 1 / 479001600.);
	p = wideFused(p, r, 1 / 39916800.);
	p = wideFused(p, r, 1 / 3628800.);
	p = wideFused(p, r, 1 / 362880.);
	p = wideFused(p, r, 1 / 40320.);
	p = wideFused(p, r, 1 / 5040.);
	p = wideFused(p, r, 1 / 720.);
	p = wideFused(p, r, 1 / 120.);
	p = wideFused(p, r, 1 / 24.);
	p = wideFused(p, r, 1 / 6.);
	p = wideFused(p, r, .5);
	p = wideFused(p, r, 1);
	p = wideFused(p, r, 1);
	return p * powerOfTwo(n / 2) * powerOfTwo(n - n / 2);
}

// log x = e log 2 + 2 artanh((m-1)/(m+1)), m within the roots of 1/2 and 2, by the
// series to the 23rd power.
FN double wideLog(double x) {
	if (!(x > 0)) return x == 0 ? -1 / x / x : (x - x) / (x - x);
	if (x - x != 0) return x;
	int e = 0;
	if (x < 2.3e-308) x *= 18014398509481984., e = -54;
	long b = wideBitsOf(x);
	e += (int)(b >> 52) - 1023;
	double m = wideOf((b & 0xfffffffffffffL) | 0x3ff0000000000000L);
	if (m > 1.4142135623730951) m *= .5, e++;
	double s = (m - 1) / (m + 1), z = s * s, p = 1 / 23.;
	p = wideFused(p, z, 1 / 21.);
	p = wideFused(p, z, 1 / 19.);
	p = wideFused(p, z, 1 / 17.);
	p = wideFused(p, z, 1 / 15.);
	p = wideFused(p, z, 1 / 13.);
	p = wideFused(p, z, 1 / 11.);
	p = wideFused(p, z, 1 / 9.);
	p = wideFused(p, z, 1 / 7.);
	p = wideFused(p, z, 1 / 5.);
	p = wideFused(p, z, 1 / 3.);
	return wideFused(e, LN2_HIGH, wideFused(2 * s * z, p, e * LN2_LOW) + 2 * s);
}

// log(1+x) and e^x - 1: the quotients take back what rounding u did (Kahan).
FN double wideLog1p(double x) {
	double u = 1 + x;
	return u == 1 || u - u != 0 ? x : wideLog(u) * (x / (u - 1));
}

FN double wideExpm1(double x) {
	double u = wideExp(x);
	if (u == 1) return x;
	if (x > 40 || x < -40) return u - 1;
	return (u - 1) * (x / wideLog(u));
}

FN double wideSinh(double x) {
	double t = wideExpm1(wideMagnitude(x)), y = t > 1e17 ? t / 2 : (t + t / (t + 1)) / 2;
	return x < 0 ? -y : y;
}

FN double wideCosh(double x) {
	double e = wideExp(wideMagnitude(x));
	return (e + 1 / e) / 2;
}

// arsinh of x >= 0.
FN double wideArsinh(double x) {
	if (x > 1e9) return wideLog(x) + LN2_HIGH + LN2_LOW;
	return wideLog1p(x + x * x / (1 + wideRoot(x * x + 1)));
}

// tanh of x >= 0.
FN double wideTanh(double x) {
	double e = wideExpm1(-2 * x);
	return -e / (2 + e);
}

// arctan of t >= 0: two halvings of the angle bring it within pi/16, where the series
// to the 23rd power is exact enough.
FN double wideArcTan(double t) {
	double x = t > 1 ? 1 / t : t;
	x = x / (1 + wideRoot(x * x + 1));
	x = x / (1 + wideRoot(x * x + 1));
	double z = -x * x, p = 1 / 23.;
	p = wideFused(p, z, 1 / 21.);
	p = wideFused(p, z, 1 / 19.);
	p = wideFused(p, z, 1 / 17.);
	p = wideFused(p, z, 1 / 15.);
	p = wideFused(p, z, 1 / 13.);
	p = wideFused(p, z, 1 / 11.);
	p = wideFused(p, z, 1 / 9.);
	p = wideFused(p, z, 1 / 7.);
	p = wideFused(p, z, 1 / 5.);
	p = wideFused(p, z, 1 / 3.);
	p = 4 * wideFused(p * z, x, x);
	return t > 1 ? 1.5707963267948966 - p : p;
}

// wideSaturate rounds to float32, a finite number to a finite one.
FN float wideSaturate(double x) {
	float f = (float)x;
	if (f - f == 0 || x - x != 0) return f;
	return x < 0 ? -3.402823466e38f : 3.402823466e38f;
}

#endif

// Package approx holds the polynomials by which the float32 kernels of
// cpu compute the restrictions of a boundary-restricted metric, softmax
// and GELU. The portable kernels and the generator of the assembly share them, so
// that all variants compute the same approximation.
//
// The polynomials interpolate at Chebyshev nodes in exact arithmetic; the error
// given is that with the coefficients rounded to float32.
package approx

// Log2E is 1/ln 2, and Ln2 ln 2 as the nearest float32, 2e-9 away.
const (
	Log2E = 1.4426950408889634
	Ln2   = 0.693147182464599609375
)

// ExpTail returns the coefficients of P, lowest first, in
// e^r - 1 = r + r^2 P(r) for |r| <= ln(2)/2. P is within 2.6e-6, hence e^r - 1
// within 3.2e-7.
func ExpTail() [4]float32 {
	return [4]float32{0.49999749660491943, 0.16666631400585175, 0.04183382913470268, 0.00835720356553793}
}

// ArcTan returns the coefficients of P, lowest first, in atan z = z P(z^2) for
// 0 <= z <= 1. P is within 1.2e-7.
func ArcTan() [8]float32 {
	return [8]float32{
		0.9999998807907104, -0.3333181142807007, 0.19966961443424225, -0.14003290235996246,
		0.09868865460157394, -0.05882975459098816, 0.023780519142746925, -0.00455979211255908,
	}
}

// Clamps of t = |a - b|, beyond which R is flat in float32 and an intermediate
// would overflow. That of ISRU is FarRational/sqrt(omega).
const (
	FarExp      = 87   // Sigmoid: 2^-n stays normal
	FarRational = 1e18 // SoftSign, ArcTan: squares stay finite
)

// NormalTail returns p and the coefficients of P, lowest first, in
// Phi(-z) = e^(-z^2/2) t P(t) with t = 1/(1 + p z), the tail of the normal
// distribution for z >= 0. The factor t P(t) is within 1.5e-7 of itself up to
// z = 13.2, where Phi is 5e-40.
func NormalTail() (p float32, c [8]float32) {
	return 0.235, [8]float32{
		0.09382209926843643, 0.09243887662887573, 0.09896807372570038, 0.032507508993148804,
		0.1850075125694275, -0.1509152054786682, 0.21293285489082336, -0.06476178765296936,
	}
}

// FarNormal is where z is clamped: z^2/2 is beyond FarExp there, so that the
// tail is 0.
const FarNormal = 14

// Piecewise polynomials: GridEntries intervals of equal width, whose middles are
// the multiples of that width. One of degree n has the coefficients of r^0, r^1,
// ..., r^n, GridEntries of each, where r is the distance from the middle. That is
// as many as two AVX-512 registers hold, so that a permutation looks them up.
const (
	GridEntries = 32
	// FallDegree is that of R, R' and R R' of Sigmoid and TanH, as functions of t.
	// Intervals are 2^-FallBits and 2^-(FallBits+1) wide.
	FallDegree = 4
	FallBits   = 1
	// ArcDegree is that of atan(t)/(t w) and atan(t)/((1+t^2) t w^3) as functions of
	// w = ArcScale/(1+t), which is at most ArcScale. Intervals are 2^-ArcBits wide.
	ArcDegree = 3
	ArcBits   = 5
	ArcScale  = 31.0 / 32
)

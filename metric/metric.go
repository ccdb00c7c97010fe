// Package metric says how two embeddings are compared: by a boundary-restricted
// metric (BRM), Euclidean or squared Euclidean distance, cosine or dot product,
// signal-to-noise ratio, or a distance in hyperbolic space.
//
// A Metric is parsed from its name ("brm:tanh,p=1"), printed, evaluated on two
// rows in float64 or float32, differentiated, and calibrated: the value that
// unrelated embeddings have. It needs no engine; engines compute the values of
// whole batches and agree with it.
package metric

// Metric says how two embeddings are compared. It is a small comparable value;
// training, evaluation, search and export all use the same one.
type Metric struct {
	Kind Kind
	// The next four matter for BRM only.
	Restriction Restriction
	Omega       float64 // of ISRU, > 0
	P           int     // 1 or 2
	Power       bool    // the value is D^p instead of D
	// The last two matter for Poincare and Lorentz only.
	Curvature float64 // c > 0: the space has curvature -c
	Clip      float64 // longer embeddings are taken at this length; 0 for none
}

// Kind is the family of a metric.
type Kind uint8

const (
	// BRM is the boundary-restricted metric (BRM Definition 1, Eq. 7):
	// D(a,b) = ((1/h) sum_i R(|a_i - b_i|)^p)^(1/p).
	BRM Kind = iota
	// Euclidean is |a - b|, not divided by h.
	Euclidean
	// SquaredEuclidean is |a - b|^2.
	SquaredEuclidean
	// Manhattan is sum |a_i - b_i|, the L1 distance, not divided by h.
	Manhattan
	// Cosine is the similarity a.b/(|a||b|).
	Cosine
	// Dot is the similarity a.b.
	Dot
	// SignalToNoise is var(b - a)/var(a) over coordinates, the inverse of the
	// signal-to-noise ratio of b as a noisy copy of the anchor a (Yuan et al.
	// 2019, Signal-to-noise ratio: a robust distance metric for deep metric
	// learning). It is not symmetric, and blind to what is added to all
	// coordinates alike.
	SignalToNoise
	// Poincare is the distance in the Poincare ball of curvature -c, into which
	// embeddings u are mapped by z = tanh(sqrt(c)|u|) u/(sqrt(c)|u|), after a
	// clip to length Clip, and kept within (1-1e-3)/sqrt(c) of the center
	// (Khrulkov et al. 2020; Ermolov et al. 2022). An embedding u is 2|u| away
	// from the center.
	Poincare
	// Lorentz is the distance on the hyperboloid of curvature -c, on which
	// embeddings are laid by the exponential map at its apex (Nickel and Kiela
	// 2018; Desai et al. 2023): acosh(-c <x,y>)/sqrt(c). An embedding u is |u|
	// away from the apex. But for that factor of 2, and the rim of the ball, it
	// is the same space as the Poincare ball.
	Lorentz
	// Links is the distance along the links of a model with several levels (Zhang et al.
	// 2022, AVSL), which its rows alone do not give: it needs the whole model. Parse and
	// Validate refuse it, so that whatever computes with the values of a metric does.
	Links
)

// Restriction is the function R of BRM (Table 1), on t >= 0.
type Restriction uint8

const (
	Sigmoid  Restriction = iota // 2/(1+e^-t) - 1, bound 1
	SoftSign                    // t/(1+t), bound 1
	ArcTan                      // atan t, bound pi/2
	TanH                        // tanh t, bound 1
	ISRU                        // t/sqrt(1 + omega t^2), bound 1/sqrt(omega)
)

package engine

// ClassLosses is an Engine that evaluates losses over class rows itself. With
// thousands of classes the matrix of a batch and its classes would otherwise travel
// to the host, and its gradient back, in every step.
//
// d (B, C) holds a metric's values between a batch and one row a class, column j
// that of class j; labels (B) the class of each row, a whole number from 0 to C-1.
// A method sets loss, of one element, and dd (B, C), its derivative with respect to
// d, which may be nil.
type ClassLosses interface {
	// ProxyAnchor is the loss of Kim et al. 2020, Eq. 4, see ProxyAnchorSpec.
	ProxyAnchor(loss, dd, d, labels Tensor, spec ProxyAnchorSpec) error
	// ClassSoftmax is the mean over rows of a cross-entropy, see ClassSoftmaxSpec.
	ClassSoftmax(loss, dd, d, labels Tensor, spec ClassSoftmaxSpec) error
}

// MaxClasses is the largest number of classes: labels are float32, which hold whole
// numbers to there.
const MaxClasses = 1 << 24

// Quadratic is the similarity A + B d + C d^2 that a loss sees of a metric's value d.
type Quadratic struct{ A, B, C float32 }

// ProxyAnchorSpec is the loss
//
//	1/|P+| sum over P+ of log(1 + sum over its rows of exp(-Alpha*(s - PosMargin)))
//	+ 1/|P| sum over P of log(1 + sum over other rows of exp(Alpha*(s - NegMargin)))
//
// with P all classes and P+ those that have a row.
type ProxyAnchorSpec struct {
	Similarity                  Quadratic
	Alpha, PosMargin, NegMargin float32
}

// ClassSoftmaxSpec is the cross-entropy of the softmax over classes of Scale*s, where
// the similarity s = cos(t) to the row's own class is first lowered: to
// cos(t + Angle), or where that exceeds pi to s - Angle sin(Angle) (Deng et al. 2019,
// Eq. 3), then by Margin (Wang et al. 2018, Eq. 4). Near t = 0, where the angle's
// slope has no bound, the sine of t is held at 1e-3.
type ClassSoftmaxSpec struct {
	Similarity Quadratic
	Scale      float32
	Angle      float64 // radians, from 0 to pi
	Margin     float32
	// Smoothing is the share of the target that the other classes get.
	Smoothing float32
	// OthersOnly leaves the own class out of the denominator (Movshovitz-Attias et
	// al. 2017, Eq. 4).
	OthersOnly bool
}

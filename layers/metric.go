package layers

// Metric says how two embeddings are compared. It is a small comparable value;
// everything that measures (training, evaluation, search, export) is given the
// same one. Functions that parse, print and evaluate it are in this package's
// metric_*.go files.
type Metric struct {
	Kind MetricKind
	// The rest matters for BRM only.
	Restriction Restriction
	Omega       float64 // of ISRU, > 0
	P           int     // 1 or 2
	Power       bool    // the value is D^p instead of D
}

// MetricKind is the family of a metric.
type MetricKind uint8

const (
	// BRM is the boundary-restricted metric (BRM Definition 1, Eq. 7):
	// D(a,b) = ((1/h) sum_i R(|a_i - b_i|)^p)^(1/p).
	BRM MetricKind = iota
	// Euclidean is |a - b|, not divided by h.
	Euclidean
	// SquaredEuclidean is |a - b|^2.
	SquaredEuclidean
	// Cosine is the similarity a.b/(|a||b|).
	Cosine
	// Dot is the similarity a.b.
	Dot
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

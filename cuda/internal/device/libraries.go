package device

import "errors"

// Precision says how products are computed.
type Precision uint8

const (
	TF32 Precision = iota // float32 factors rounded to 10 bits of mantissa, float32 sums
	Full                  // float32 throughout
)

// Gemm is a product of row-major matrices: C = Alpha op(A) op(B) + Beta C, with
// op(A) (M, K), op(B) (K, N), C (M, N), op the transpose where asked. The leading
// dimensions are the distances between rows in memory. Sums are float32.
type Gemm struct {
	TransA, TransB bool
	M, N, K        int
	A, B, C        Ptr
	LDA, LDB, LDC  int
	Type           Type // of A and B
	Out            Type // of C
	Alpha, Beta    float32
	Precision      Precision
	// Batch products, if more than 1, lie Stride elements apart each.
	Batch                     int
	StrideA, StrideB, StrideC int64
	// Addresses says that A, B and C are where Batch addresses of matrices lie in device
	// memory, which a matrix each begins at; Stride is not looked at.
	Addresses bool
	// Bias, unless it is 0, is N numbers of type Out that are added to every row of C.
	Bias Ptr
	// SumsA, unless it is 0, receives M numbers of type Out, the sums of the rows of op(A):
	// where the product is a gradient of weights, those are that of the bias. A product with
	// a Bias has none.
	SumsA Ptr
	// Residual, unless it is 0, is where the matrix lies that Beta multiplies, like C, in
	// place of C. Only products with a Bias have one.
	Residual Ptr
}

// ErrBias says that a product cannot be had with its bias, or with its sums; nothing was
// computed.
var ErrBias = errors.New("there is no product that adds a bias, or that sums rows")

// Blas multiplies matrices in the stream that it was made for.
type Blas interface {
	// Gemm multiplies. It returns ErrBias where it has to be asked without the bias, or the sums.
	Gemm(g Gemm) error
	// SetWorkspace gives the library memory to work in, so that it takes none of
	// its own while work is being captured.
	SetWorkspace(p Ptr, bytes int64) error
	Close() error
}

// Direction is one of the three convolutions of a training step.
type Direction uint8

const (
	Forward      Direction = iota // y from x and w
	GradInput                     // x from y and w
	GradWeights                   // w from x and y
	directionEnd                  // count of directions
)

func (d Direction) String() string {
	return [directionEnd]string{"forward", "gradient of the input", "gradient of the weights"}[d]
}

// Conv is a convolution of x (N, H, W, C) with w (K, R, S, C) to y (N, Ho, Wo, K),
// in the order in which the numbers lie.
type Conv struct {
	N, C, H, W       int
	K, R, S          int
	Ho, Wo           int
	PadH, PadW       int
	StrideH, StrideW int
	Depthwise        bool // each channel by a kernel of its own: K = C, and W is (K, R, S, 1)
	Type             Type
	Precision        Precision
	Deterministic    bool
}

// Operands are the tensors of a convolution; one of them is written.
type Operands struct {
	X, W, Y Ptr
	// Accumulate makes Run add to the one that is written.
	Accumulate bool
}

// ErrNoAlgorithm says that a library has none for a convolution, or none within the
// memory that it may work in. Whatever else goes wrong is another error.
var ErrNoAlgorithm = errors.New("there is no algorithm")

// Plan is a chosen algorithm.
type Plan struct {
	Handle    uintptr // the library's own
	Algorithm int
	Math      string  // how the library multiplies, in its own word
	Workspace int64   // bytes that it needs
	Millis    float64 // that it took when it was tried; 0 if it was not
	Found     int     // algorithms that could have been chosen
}

// Dnn convolves in the stream that it was made for.
type Dnn interface {
	// Plan tries the algorithms that need no more than limit bytes of work and
	// returns the fastest; for a deterministic convolution always the same one. It
	// overwrites the tensor that the direction writes. The error wraps
	// ErrNoAlgorithm where nothing else is wrong than that there is none.
	Plan(d Direction, c Conv, t Operands, work Ptr, limit int64) (Plan, error)
	// Run convolves. The error wraps ErrNoAlgorithm where the plan's algorithm does not
	// do what is asked for, and nothing was computed.
	Run(d Direction, p Plan, t Operands, work Ptr) error
	Close() error
}

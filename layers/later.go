package layers

// Later is an Engine that brings a number to the host behind the work that it was
// asked for, while the host goes on.
type Later interface {
	// ReadLater reads the one element of x, as it is when all is done that was asked
	// for before. The function that it returns waits for it; the number is kept for
	// some calls of ReadLater more.
	ReadLater(x Tensor) (func() (float64, error), error)
}

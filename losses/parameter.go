package losses

// Param is a number or an array that a loss owns besides its class rows: a
// learnt boundary, or a statistic that it keeps from batch to batch. A
// checkpoint holds both.
type Param struct {
	Name  string
	Shape []int
	// Value is the loss's own memory: writing to it changes the loss.
	Value []float64
	// Grad is overwritten by every Eval. It is nil for a statistic, which no
	// optimiser moves.
	Grad []float64
}

// Parameterized is a loss or a term with parameters of its own.
type Parameterized interface {
	Parameters() []Param
}

// Parameters returns what a loss or a RowTerm owns, nothing for most.
func Parameters(l any) []Param {
	if v, ok := l.(*viewed); ok {
		return Parameters(v.loss)
	}
	if p, ok := l.(Parameterized); ok {
		return p.Parameters()
	}
	return nil
}

// PerClass returns how many class rows the loss wants for each class: column
// class*PerClass + k is row k of a class. It is 1 for most losses, and means
// nothing for those that compare a batch with itself.
func PerClass(l Loss) int {
	if v, ok := l.(*viewed); ok {
		return PerClass(v.loss)
	}
	if p, ok := l.(interface{ PerClass() int }); ok {
		return p.PerClass()
	}
	return 1
}

// ClassTerm returns the term that a loss adds on its class rows alone, or nil.
// It is a loss over OwnClass.
func ClassTerm(l Loss) Loss {
	if v, ok := l.(*viewed); ok {
		if term := ClassTerm(v.loss); term != nil {
			return On(v.view, term)
		}
		return nil
	}
	if p, ok := l.(interface{ ClassTerm() Loss }); ok {
		return p.ClassTerm()
	}
	return nil
}

// FixedClasses returns the class rows, (classes, dim) row-major, of a loss
// whose class rows are not learnt. It returns nil for other losses.
func FixedClasses(l Loss, classes, dim int, seed uint64) ([]float64, error) {
	if v, ok := l.(*viewed); ok {
		return FixedClasses(v.loss, classes, dim, seed)
	}
	if f, ok := l.(interface {
		FixedClasses(classes, dim int, seed uint64) ([]float64, error)
	}); ok {
		return f.FixedClasses(classes, dim, seed)
	}
	return nil, nil
}

// RowTerm is a term on the embeddings themselves, as they are before any
// normalisation: what a matrix of metric values cannot say, such as their
// lengths.
type RowTerm interface {
	// EvalRows returns the term of x, (rows, dim) row-major, and overwrites grad,
	// of the same layout, with its derivative.
	EvalRows(x []float64, rows, dim int, grad []float64) (float64, error)
}

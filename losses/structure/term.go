package structure

import (
	"errors"
	"fmt"
	"math"
)

// Kind names a representation of the rows of a batch.
type Kind uint8

const (
	// Features are what the head is given: pooled (B, C), or a row itself.
	Features Kind = iota
	// Raw are the embeddings (B, h) before normalization.
	Raw
	// Compared are the embeddings (B, h) as the metric compares them.
	Compared
	// Cosines are those of the embeddings to the loss's class rows (B, classes).
	Cosines
	// Structure are what Head makes of Features (B, h).
	Structure
)

// View is one representation of a batch: X is (rows, Dim), row-major. Grad, of the same
// layout, is overwritten with the derivative of the term, and is nil where nobody needs it.
type View struct {
	Dim     int
	X, Grad []float64
}

// Term is a term on several representations of a batch.
type Term interface {
	// Kinds says which, in the order in which Eval gets them.
	Kinds() []Kind
	// Eval returns the term for rows with these labels.
	Eval(labels []int, views []View) (float64, error)
}

// check says what is wrong with views.
func check(name string, rows, want int, views []View) error {
	if len(views) != want {
		return fmt.Errorf("%s: %d representations, want %d", name, len(views), want)
	}
	for i, v := range views {
		if v.Dim < 1 || len(v.X) != rows*v.Dim || v.Grad != nil && len(v.Grad) != len(v.X) {
			return fmt.Errorf("%s: representation %d has %d numbers and %d derivatives for %d rows of %d", name, i, len(v.X), len(v.Grad), rows, v.Dim)
		}
		for _, x := range v.X {
			if x-x != 0 {
				return fmt.Errorf("%s: representation %d: %w", name, i, errNotFinite)
			}
		}
		clear(v.Grad)
	}
	return nil
}

var errNotFinite = errors.New("a number is not finite")

// setting returns a field, or the paper's value where it is 0; below 0 it is an error.
func setting(name, field string, v, paper float64) (float64, error) {
	switch {
	case !(v >= 0) || math.IsInf(v, 1):
		return 0, fmt.Errorf("%s: %s is %v, want a positive number, or 0 for %v", name, field, v, paper)
	case v == 0:
		return paper, nil
	}
	return v, nil
}

// square is the squared distance of rows i and j.
func (v View) square(i, j int) (sum float64) {
	a, b := v.X[i*v.Dim:(i+1)*v.Dim], v.X[j*v.Dim:(j+1)*v.Dim]
	for k, x := range a {
		sum += (x - b[k]) * (x - b[k])
	}
	return sum
}

// pull adds slope times the derivative of square.
func (v View) pull(i, j int, slope float64) {
	if v.Grad == nil || slope == 0 {
		return
	}
	for k := range v.Dim {
		g := 2 * slope * (v.X[i*v.Dim+k] - v.X[j*v.Dim+k])
		v.Grad[i*v.Dim+k] += g
		v.Grad[j*v.Dim+k] -= g
	}
}

package losses

// Orthogonality keeps the rows of a projection W, (rows, dim), of length 1 and
// at right angles (BRM Sect. 3.1 asks it of the linear embedding): Weight times
// the mean square of the entries of W W^T - I. It goes on a parameter, not on
// embeddings. More rows than dimensions cannot be orthogonal: then it is
// columns, with W^T W - I.
//
// The zero value has Weight 1.
type Orthogonality struct {
	Weight float64

	asSet bool // the field counts even where it is zero
}

func (o Orthogonality) fields(f *fields) {
	f.flag(o.asSet)
	f.notNegative("Weight", o.Weight)
}

// EvalRows implements RowTerm.
func (o Orthogonality) EvalRows(w []float64, rows, dim int, grad []float64) (float64, error) {
	if err := checkRows("orthogonality", w, rows, dim, grad); err != nil {
		return 0, err
	}
	o, err := settle("orthogonality", o, false, func() (Orthogonality, error) { return paperTerm[Orthogonality]("orthogonality") })
	if err != nil {
		return 0, err
	}
	n, inner, at := rows, dim, func(i, k int) int { return i*dim + k }
	if rows > dim {
		n, inner, at = dim, rows, func(i, k int) int { return k*dim + i }
	}
	zero(grad)
	weight := o.Weight / float64(n*n)
	value := 0.0
	for i := range n {
		for j := range i + 1 {
			e := 0.0
			for k := range inner {
				e += w[at(i, k)] * w[at(j, k)]
			}
			times := 2.0 // (i,j) and (j,i)
			if i == j {
				e--
				times = 1
			}
			value += times * weight * e * e
			for k := range inner {
				grad[at(i, k)] += 2 * times * weight * e * w[at(j, k)]
				grad[at(j, k)] += 2 * times * weight * e * w[at(i, k)]
			}
		}
	}
	return value, checkValue("orthogonality", value)
}

package losses

// ZeroMean draws the mean embedding of the batch to the origin: Weight times the
// squared length of the mean of the rows.
//
// The zero value has Weight 1.
type ZeroMean struct {
	Weight float64

	asSet bool // the field counts even where it is zero
}

func (z ZeroMean) fields(f *fields) {
	f.flag(z.asSet)
	f.notNegative("Weight", z.Weight)
}

// EvalRows implements RowTerm.
func (z ZeroMean) EvalRows(x []float64, rows, dim int, grad []float64) (float64, error) {
	if err := checkRows("zero-mean", x, rows, dim, grad); err != nil {
		return 0, err
	}
	z, err := settle("zero-mean", z, false, func() (ZeroMean, error) { return paperTerm[ZeroMean]("zero-mean") })
	if err != nil {
		return 0, err
	}
	mean := make([]float64, dim)
	for k, v := range x {
		mean[k%dim] += v / float64(rows)
	}
	value := 0.0
	for _, v := range mean {
		value += z.Weight * v * v
	}
	for k := range grad {
		grad[k] = 2 * z.Weight * mean[k%dim] / float64(rows)
	}
	return value, checkValue("zero-mean", value)
}

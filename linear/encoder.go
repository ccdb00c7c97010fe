package linear

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Missing says what becomes of gaps.
type Missing string

// What becomes of gaps.
const (
	// Refuse makes a gap an error that names it.
	Refuse Missing = "refuse"
	// ImputeMean puts the mean of the training rows in place of a missing number.
	ImputeMean Missing = "mean"
	// ImputeMedian puts their median.
	ImputeMedian Missing = "median"
)

// Encoder turns rows of a table into numbers. Everything it knows (categories,
// fill values, means, deviations) comes from the rows it was fitted on, so that
// test rows leave no trace in training.
type Encoder struct {
	Inputs []EncodedColumn `json:"columns"`
	// Standardized says that columns have their mean taken off and are divided
	// by their deviation (population form; 1 where it is 0).
	Standardized bool    `json:"standardised"`
	Missing      Missing `json:"missing"`
	// Constant names the encoded columns that do not vary on the fitted rows.
	Constant []string `json:"constant,omitempty"`
}

// EncodedColumn is what becomes of a column: one number, or one per category.
type EncodedColumn struct {
	Name string `json:"name"`
	// Categories of a column of words, ascending; nil for numbers. A word that
	// is none of them, and a gap, become all zeros.
	Categories []string `json:"categories,omitzero"`
	// Fill replaces a gap in a column of numbers.
	Fill float64 `json:"fill"`
	// Mean and Std are as long as the column becomes wide.
	Mean []float64 `json:"mean"`
	Std  []float64 `json:"std"`
}

func (c EncodedColumn) width() int {
	if c.Categories != nil {
		return len(c.Categories)
	}
	return 1
}

// EncodeOptions say how an Encoder is fitted.
type EncodeOptions struct {
	// Raw leaves the columns as they are instead of standardizing them.
	Raw bool
	// Missing is Refuse if empty.
	Missing Missing
}

// FitEncoder learns an encoding from the given rows of a table.
func FitEncoder(t *Table, rows []int, opt EncodeOptions) (*Encoder, error) {
	if opt.Missing == "" {
		opt.Missing = Refuse
	}
	if !slices.Contains([]Missing{Refuse, ImputeMean, ImputeMedian}, opt.Missing) {
		return nil, fmt.Errorf("missing values: %q, want %s, %s or %s", opt.Missing, Refuse, ImputeMean, ImputeMedian)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("there is no row to learn the encoding from")
	}
	e := &Encoder{Standardized: !opt.Raw, Missing: opt.Missing}
	for _, c := range t.Columns {
		in := EncodedColumn{Name: c.Name}
		if c.Words != nil {
			in.Categories = categories(c.Words, rows)
		} else {
			fill, err := fillValue(c, rows, opt.Missing)
			if err != nil {
				return nil, err
			}
			in.Fill = fill
		}
		w := in.width()
		in.Mean, in.Std = make([]float64, w), make([]float64, w)
		for k := range in.Std {
			in.Std[k] = 1
		}
		e.Inputs = append(e.Inputs, in)
	}
	raw, err := e.encode(t, rows)
	if err != nil {
		return nil, err
	}
	if err := e.fitScale(raw); err != nil {
		return nil, err
	}
	if opt.Raw {
		return e, e.checkRaw(raw)
	}
	return e, nil
}

// fitScale finds constant columns and, if asked for, means and deviations.
func (e *Encoder) fitScale(raw *mat.Dense) error {
	names := e.Names()
	j := 0
	for i := range e.Inputs {
		in := &e.Inputs[i]
		for k := range in.width() {
			column := mat.Col(nil, j, raw)
			low, high := slices.Min(column), slices.Max(column)
			if low == high {
				e.Constant = append(e.Constant, names[j])
			}
			if e.Standardized {
				mean, std := deviation(column)
				if low < high {
					in.Std[k] = std
				}
				if in.Mean[k] = mean; !(in.Std[k] >= smallestNormal) || math.IsInf(mean, 0) || math.IsInf(std, 0) {
					return fmt.Errorf("column %q goes from %g to %g, whose deviation no number of 64 bits holds in full: scale the column", names[j], low, high)
				}
			}
			j++
		}
	}
	return nil
}

// deviation returns mean and deviation (population form) of numbers. Where squares leave
// the range of 64 bits, differences are scaled before.
func deviation(x []float64) (mean, std float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	largest, square := 0.0, 0.0
	for _, v := range x {
		largest = max(largest, math.Abs(v-mean))
		square += (v - mean) * (v - mean) / n
	}
	const small, large = 0x1p-900, 0x1p900
	if largest == 0 || square > small && square < large {
		return mean, math.Sqrt(square)
	}
	square = 0
	for _, v := range x {
		d := (v - mean) / largest
		square += d * d / n
	}
	return mean, largest * math.Sqrt(square)
}

// categories lists the words of the given rows; it is never nil.
func categories(words []string, rows []int) []string {
	chosen := make([]string, len(rows))
	for k, i := range rows {
		chosen[k] = words[i]
	}
	return distinctWords(chosen)
}

func fillValue(c Column, rows []int, rule Missing) (float64, error) {
	var there []float64
	for _, i := range rows {
		if v := c.Numbers[i]; !math.IsNaN(v) {
			there = append(there, v)
		}
	}
	switch {
	case rule == Refuse:
		return 0, nil
	case len(there) == 0:
		return 0, fmt.Errorf("column %q has no value to impute from", c.Name)
	case rule == ImputeMedian:
		return quantile(there, .5), nil
	}
	sum := 0.0
	for _, v := range there {
		sum += v
	}
	return sum / float64(len(there)), nil
}

// Names are those of the encoded columns: a category stands behind its column's
// name as in "color=red".
func (e *Encoder) Names() []string {
	var out []string
	for _, in := range e.Inputs {
		if in.Categories == nil {
			out = append(out, in.Name)
		}
		for _, c := range in.Categories {
			out = append(out, in.Name+"="+c)
		}
	}
	return out
}

// Encode turns the given rows of a table with the same columns into numbers,
// (rows, encoded columns). Numbers that are farther from those of the rows that the
// encoder was fitted on than a metric can take are errors.
func (e *Encoder) Encode(t *Table, rows []int) (*mat.Dense, error) {
	x, err := e.encode(t, rows)
	if err != nil {
		return nil, err
	}
	for k, i := range rows {
		for j, v := range x.RawRowView(k) {
			if !(math.Abs(v) <= largestValue) {
				return nil, e.tooLarge(t, i, j, v)
			}
		}
	}
	return x, nil
}

func (e *Encoder) encode(t *Table, rows []int) (*mat.Dense, error) {
	columns, err := e.match(t)
	if err != nil {
		return nil, err
	}
	width := 0
	for _, in := range e.Inputs {
		width += in.width()
	}
	if width == 0 || len(rows) == 0 {
		return nil, fmt.Errorf("nothing to encode: %d rows, %d columns", len(rows), width)
	}
	x := mat.NewDense(len(rows), width, nil)
	for k, i := range rows {
		out := x.RawRowView(k)
		for c, in := range e.Inputs {
			w := in.width()
			if err := e.cell(out[:w], in, t, columns[c], i); err != nil {
				return nil, err
			}
			for j := range w {
				out[j] = (out[j] - in.Mean[j]) / in.Std[j]
			}
			out = out[w:]
		}
	}
	return x, nil
}

// ErrMissing says that a cell has no value, and the encoder none to put there.
var ErrMissing = errors.New("has no value")

func (e *Encoder) cell(out []float64, in EncodedColumn, t *Table, c *Column, i int) error {
	if in.Categories != nil {
		if c.Words[i] == "" && e.Missing == Refuse {
			return fmt.Errorf("%s, column %q %w", t.place(i), in.Name, ErrMissing)
		}
		if at, ok := slices.BinarySearch(in.Categories, c.Words[i]); ok {
			out[at] = 1
		}
		return nil
	}
	out[0] = c.Numbers[i]
	if math.IsNaN(out[0]) {
		if e.Missing == Refuse {
			return fmt.Errorf("%s, column %q %w", t.place(i), in.Name, ErrMissing)
		}
		out[0] = in.Fill
	}
	return nil
}

// match finds the encoder's columns in a table by name.
func (e *Encoder) match(t *Table) ([]*Column, error) {
	byName := map[string]*Column{}
	for i := range t.Columns {
		byName[t.Columns[i].Name] = &t.Columns[i]
	}
	out := make([]*Column, len(e.Inputs))
	for i, in := range e.Inputs {
		c := byName[in.Name]
		switch {
		case c == nil && t.labeled == in.Name:
			return nil, fmt.Errorf("%s: column %q, which the metric was learned on, is taken for the label: name another one, or say that there is none", t.Name, in.Name)
		case c == nil:
			return nil, fmt.Errorf("%s has no column %q", t.Name, in.Name)
		case (c.Words != nil) != (in.Categories != nil):
			return nil, fmt.Errorf("%s: column %q is of %s, the metric was learned on %s", t.Name, in.Name, kindOf(c.Words != nil), kindOf(in.Categories != nil))
		}
		out[i] = c
	}
	return out, nil
}

func kindOf(words bool) string {
	if words {
		return "categories"
	}
	return "numbers"
}

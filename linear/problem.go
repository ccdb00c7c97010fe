package linear

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

// Unknown is the label of a row whose class is not known. Learners that use
// labels leave such rows out.
const Unknown = -1

// Pair holds two row indices.
type Pair [2]int

// Triplet holds anchor, positive and negative: the anchor should be nearer to
// the positive than to the negative.
type Triplet [3]int

// Quadruplet holds rows a, b, c, d: a and b should be nearer to each other than
// c and d are.
type Quadruplet [4]int

// Problem is what a metric is learned from. Rows are those of X; the other
// members are optional, and a learner says which of them it needs. Learners
// that need constraints draw them from Labels where they are not given.
type Problem struct {
	// X is (n, d), finite, as a rule standardized.
	X *mat.Dense
	// Labels is n long or nil. Unknown (-1) is allowed; other negative labels
	// are not.
	Labels []int
	// Classes names the labels, for messages; it may be nil.
	Classes []string
	// Similar and Dissimilar are pairs of rows.
	Similar, Dissimilar []Pair
	Triplets            []Triplet
	Quadruplets         []Quadruplet
	// Chunks is n long or nil: rows with the same chunk number belong together;
	// -1 is in no chunk. Numbers may be any and have gaps.
	Chunks []int
}

// Validate returns the first thing that is wrong, with the row at fault.
func (p *Problem) Validate() error {
	if p == nil || p.X == nil {
		return fmt.Errorf("the problem has no rows")
	}
	n, d := p.X.Dims()
	if n < 2 {
		return fmt.Errorf("the problem has %d row, a metric needs at least 2", n)
	}
	for i := range n {
		for j, v := range p.X.RawRowView(i) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("row %d, column %d is %v, want a finite number", i, j, v)
			}
		}
	}
	if d == 0 {
		return fmt.Errorf("the rows have no columns")
	}
	if p.Labels != nil && len(p.Labels) != n {
		return fmt.Errorf("%d labels for %d rows", len(p.Labels), n)
	}
	for i, y := range p.Labels {
		if y < Unknown {
			return fmt.Errorf("row %d has label %d, want 0 or more, or %d for unknown", i, y, Unknown)
		}
	}
	if p.Chunks != nil && len(p.Chunks) != n {
		return fmt.Errorf("%d chunk numbers for %d rows", len(p.Chunks), n)
	}
	return p.validateConstraints(n)
}

func (p *Problem) validateConstraints(n int) error {
	check := func(what string, k int, rows []int, apart ...[2]int) error {
		for _, r := range rows {
			if r < 0 || r >= n {
				return fmt.Errorf("%s %d is %v, rows run from 0 to %d", what, k, rows, n-1)
			}
		}
		for _, ab := range apart {
			if rows[ab[0]] == rows[ab[1]] {
				return fmt.Errorf("%s %d compares row %d with itself", what, k, rows[ab[0]])
			}
		}
		return nil
	}
	for k, s := range p.Similar {
		if err := check("similar pair", k, s[:], [2]int{0, 1}); err != nil {
			return err
		}
	}
	for k, s := range p.Dissimilar {
		if err := check("dissimilar pair", k, s[:], [2]int{0, 1}); err != nil {
			return err
		}
	}
	for k, s := range p.Triplets {
		if err := check("triplet", k, s[:], [2]int{0, 1}, [2]int{0, 2}); err != nil {
			return err
		}
	}
	for k, s := range p.Quadruplets {
		if err := check("quadruplet", k, s[:], [2]int{0, 1}, [2]int{2, 3}); err != nil {
			return err
		}
	}
	return nil
}

// labeled returns the rows whose class is known, by class in ascending order
// of labels. need says what the learner asks of them.
func (p *Problem) labeled(minClasses int) (rows []int, classes [][]int, err error) {
	if p.Labels == nil {
		return nil, nil, fmt.Errorf("labels are needed")
	}
	rows, classes = byClass(p.Labels)
	switch {
	case len(rows) == 0:
		return nil, nil, fmt.Errorf("every label is unknown (%d)", Unknown)
	case len(classes) < minClasses:
		return nil, nil, fmt.Errorf("all %d labeled rows are of class %s, at least %d classes are needed", len(rows), p.className(p.Labels[rows[0]]), minClasses)
	}
	return rows, classes, nil
}

func (p *Problem) className(label int) string {
	if label < len(p.Classes) {
		return strconv.Quote(p.Classes[label])
	}
	return strconv.Itoa(label)
}

// known returns the rows of known class and their labels as a problem of its
// own. It is p itself if all are known.
func (p *Problem) known(minClasses int) (x *mat.Dense, labels []int, err error) {
	rows, classes, err := p.labeled(minClasses)
	if err != nil {
		return nil, nil, err
	}
	repeated := false
	for _, c := range classes {
		repeated = repeated || len(c) > 1
	}
	if !repeated {
		return nil, nil, fmt.Errorf("no class has two rows")
	}
	if len(rows) == len(p.Labels) {
		return p.X, p.Labels, nil
	}
	labels = make([]int, len(rows))
	for k, i := range rows {
		labels[k] = p.Labels[i]
	}
	return selectRows(p.X, rows), labels, nil
}

// byClass returns the rows of known class and, for each class in ascending
// order, its rows.
func byClass(labels []int) (rows []int, classes [][]int) {
	index := map[int]int{}
	distinct := distinctLabels(labels)
	for k, y := range distinct {
		index[y] = k
	}
	classes = make([][]int, len(distinct))
	for i, y := range labels {
		if y == Unknown {
			continue
		}
		rows = append(rows, i)
		classes[index[y]] = append(classes[index[y]], i)
	}
	return rows, classes
}

// selectRows copies rows of x.
func selectRows(x *mat.Dense, rows []int) *mat.Dense {
	_, d := x.Dims()
	out := mat.NewDense(len(rows), d, nil)
	for k, i := range rows {
		out.SetRow(k, x.RawRowView(i))
	}
	return out
}

package linear

import "github.com/vernier-ml/vernier/eval"

// Verdict is the outcome of a comparison of errors.
type Verdict int

// A win is a significantly smaller error.
const (
	Tie Verdict = iota
	Win
	Loss
)

func (v Verdict) String() string { return [...]string{"tie", "win", "loss"}[v] }

// Judge compares the errors of the same trials at a significance level, such as
// 0.05: a win if a's are significantly smaller.
func Judge(a, b []float64, level float64) (Verdict, error) {
	t, p, err := eval.PairedT(a, b)
	switch {
	case err != nil:
		return Tie, err
	case p >= level:
		return Tie, nil
	case t < 0:
		return Win, nil
	}
	return Loss, nil
}

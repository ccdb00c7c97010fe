package linear

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/eval"
)

// ROC returns the verification curve of pairs of rows of x. y[k] is 1 for a
// similar pair and -1 for a dissimilar one; anything else is an error. Its AUC
// is the score, its By methods calibrate a threshold on the distance.
func (r *Result) ROC(x *mat.Dense, pairs []Pair, y []int) (*eval.ROC, error) {
	if len(pairs) != len(y) {
		return nil, fmt.Errorf("%d pairs with %d labels", len(pairs), len(y))
	}
	same := make([]bool, len(y))
	for k, v := range y {
		if v != 1 && v != -1 {
			return nil, fmt.Errorf("pair %d has label %d, want 1 (similar) or -1 (dissimilar)", k, v)
		}
		same[k] = v == 1
	}
	d, err := r.Distances(x, pairs)
	if err != nil {
		return nil, err
	}
	return eval.NewROC(d, same)
}

// ScorePairs is the area under the ROC curve of labeled pairs, see ROC: the
// probability, from 0 to 1, that a similar pair is nearer than a dissimilar one.
func (r *Result) ScorePairs(x *mat.Dense, pairs []Pair, y []int) (float64, error) {
	roc, err := r.ROC(x, pairs, y)
	if err != nil {
		return 0, err
	}
	return roc.AUC(), nil
}

// ScoreTriplets is the share, from 0 to 1, of triplets whose anchor is nearer
// to the positive than to the negative; a tie counts half.
func (r *Result) ScoreTriplets(x *mat.Dense, triplets []Triplet) (float64, error) {
	q := make([]Quadruplet, len(triplets))
	for k, t := range triplets {
		q[k] = Quadruplet{t[0], t[1], t[0], t[2]}
	}
	return r.ScoreQuadruplets(x, q)
}

// ScoreQuadruplets is the share, from 0 to 1, of quadruplets with
// d(a,b) < d(c,d); a tie counts half.
func (r *Result) ScoreQuadruplets(x *mat.Dense, quadruplets []Quadruplet) (float64, error) {
	if len(quadruplets) == 0 {
		return 0, fmt.Errorf("nothing to score")
	}
	near, far := make([]Pair, len(quadruplets)), make([]Pair, len(quadruplets))
	for k, q := range quadruplets {
		near[k], far[k] = Pair{q[0], q[1]}, Pair{q[2], q[3]}
	}
	dn, err := r.Distances(x, near)
	if err != nil {
		return 0, err
	}
	df, err := r.Distances(x, far)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for k := range dn {
		switch {
		case dn[k] < df[k]:
			sum++
		case dn[k] == df[k]:
			sum += .5
		}
	}
	return sum / float64(len(dn)), nil
}

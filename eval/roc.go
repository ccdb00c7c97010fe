package eval

import (
	"fmt"
	"math"
	"slices"
)

// ROC is the receiver operator characteristic of verification: a pair is
// accepted as "same" when its distance is at most the threshold. Point 0
// accepts nothing, the last one everything; thresholds ascend.
type ROC struct {
	// Threshold[i] is a distance that occurs; Threshold[0] is below all (-1, or
	// 1 less than a negative smallest).
	Threshold []float64
	// FAR is the share of different pairs accepted (false positive rate), TAR
	// the share of same pairs accepted (true positive rate). FRR = 1 - TAR.
	FAR, TAR             []float64
	Positives, Negatives int // same and different pairs
}

// NewROC computes the curve from the distances of pairs and whether each is of
// the same class. Both kinds must occur.
func NewROC(distance []float64, same []bool) (*ROC, error) {
	if len(distance) != len(same) {
		return nil, fmt.Errorf("eval: %d distances and %d verdicts: want one of each for every pair", len(distance), len(same))
	}
	r := &ROC{}
	order := make([]int, len(distance))
	for i, d := range distance {
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return nil, fmt.Errorf("eval: the distance of pair %d is %v", i, d)
		}
		order[i] = i
		if same[i] {
			r.Positives++
		}
	}
	r.Negatives = len(same) - r.Positives
	if r.Positives == 0 || r.Negatives == 0 {
		return nil, fmt.Errorf("eval: %d same and %d different pairs: verification needs both kinds", r.Positives, r.Negatives)
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case distance[a] < distance[b]:
			return -1
		case distance[a] > distance[b]:
			return 1
		}
		return 0
	})
	r.point(min(0, distance[order[0]])-1, 0, 0)
	tp, fp := 0, 0
	for i, p := range order {
		if same[p] {
			tp++
		} else {
			fp++
		}
		if i+1 == len(order) || distance[order[i+1]] > distance[p] {
			r.point(distance[p], fp, tp)
		}
	}
	return r, nil
}

func (r *ROC) point(threshold float64, fp, tp int) {
	r.Threshold = append(r.Threshold, threshold)
	r.FAR = append(r.FAR, float64(fp)/float64(r.Negatives))
	r.TAR = append(r.TAR, float64(tp)/float64(r.Positives))
}

// AUC is the area under the curve by trapezoids: the probability that a same
// pair is nearer than a different one, plus half that of a tie.
func (r *ROC) AUC() float64 {
	area := 0.0
	for i := 1; i < len(r.FAR); i++ {
		area += (r.FAR[i] - r.FAR[i-1]) * (r.TAR[i] + r.TAR[i-1]) / 2
	}
	return area
}

// EER is the equal error rate: where FAR and FRR cross, linear between points.
// threshold is interpolated alike.
func (r *ROC) EER() (rate, threshold float64) {
	for i := 1; i < len(r.FAR); i++ {
		after := r.FAR[i] - (1 - r.TAR[i])
		if after < 0 {
			continue
		}
		before := r.FAR[i-1] - (1 - r.TAR[i-1])
		t := before / (before - after)
		return lerp(r.FAR[i-1], r.FAR[i], t), lerp(r.Threshold[i-1], r.Threshold[i], t)
	}
	return 1, r.Threshold[len(r.Threshold)-1] // not reached: the last point has FAR 1
}

// EERNearest is (FAR+FRR)/2 at the first point of smallest |FAR-FRR|, the form
// that needs no interpolation, and that point's threshold.
func (r *ROC) EERNearest() (rate, threshold float64) {
	best := math.Inf(1)
	for i, far := range r.FAR {
		frr := 1 - r.TAR[i]
		if gap := math.Abs(far - frr); gap < best {
			best, rate, threshold = gap, (far+frr)/2, r.Threshold[i]
		}
	}
	return rate, threshold
}

// TARAt is the largest TAR among the points with FAR <= far, and that point's
// threshold: a rate that some threshold really reaches.
func (r *ROC) TARAt(far float64) (rate, threshold float64) {
	i := r.lastWithin(far)
	return r.TAR[i], r.Threshold[i]
}

// TARAtLinear is TAR at FAR = far, linear between points; at a vertical step
// its upper end.
func (r *ROC) TARAtLinear(far float64) float64 {
	i := r.lastWithin(far)
	if i+1 == len(r.FAR) {
		return r.TAR[i]
	}
	return lerp(r.TAR[i], r.TAR[i+1], (far-r.FAR[i])/(r.FAR[i+1]-r.FAR[i]))
}

func (r *ROC) lastWithin(far float64) int {
	for i := len(r.FAR) - 1; i > 0; i-- {
		if r.FAR[i] <= far {
			return i
		}
	}
	return 0
}

// BestAccuracy is the largest share of pairs judged rightly, and the smallest
// threshold that reaches it.
func (r *ROC) BestAccuracy() (accuracy, threshold float64) {
	p, n := float64(r.Positives), float64(r.Negatives)
	for i := range r.FAR {
		if a := (r.TAR[i]*p + (1-r.FAR[i])*n) / (p + n); a > accuracy {
			accuracy, threshold = a, r.Threshold[i]
		}
	}
	return accuracy, threshold
}

// AveragePrecision is sum (R_i - R_{i-1}) P_i over the points, R being recall
// (TAR) and P precision.
func (r *ROC) AveragePrecision() float64 {
	p, n := float64(r.Positives), float64(r.Negatives)
	sum := 0.0
	for i := 1; i < len(r.FAR); i++ {
		accepted := r.TAR[i]*p + r.FAR[i]*n
		sum += (r.TAR[i] - r.TAR[i-1]) * r.TAR[i] * p / accepted
	}
	return sum
}

func lerp(a, b, t float64) float64 { return a + t*(b-a) }

package eval

import (
	"fmt"
	"math"
)

// Decision is a threshold and what it does on the pairs it was chosen on. A
// pair is accepted as "same" when its distance is at most Threshold.
type Decision struct {
	Threshold float64
	FAR, FRR  float64
	Accuracy  float64
	Precision float64 // share of accepted pairs that are the same; 1 if none is accepted
	Recall    float64 // TAR
}

// At describes a threshold: that of the last point not above it.
func (r *ROC) At(threshold float64) Decision {
	i := 0
	for i+1 < len(r.Threshold) && r.Threshold[i+1] <= threshold {
		i++
	}
	d := r.decision(i)
	d.Threshold = threshold
	return d
}

func (r *ROC) decision(i int) Decision {
	p, n := float64(r.Positives), float64(r.Negatives)
	tp, fp := r.TAR[i]*p, r.FAR[i]*n
	return Decision{
		Threshold: r.Threshold[i], FAR: r.FAR[i], FRR: 1 - r.TAR[i],
		Accuracy: (tp + n - fp) / (p + n), Precision: share(tp, tp+fp), Recall: r.TAR[i],
	}
}

// between is the decision at point i with the threshold moved to the middle of
// the gap above it, where no calibration pair lies: new pairs are as likely to
// fall on either side.
func (r *ROC) between(i int) Decision {
	d := r.decision(i)
	if i+1 < len(r.Threshold) && i > 0 {
		d.Threshold = (r.Threshold[i] + r.Threshold[i+1]) / 2
	}
	return d
}

// ByEER calibrates where FAR and FRR are nearest to equal.
func (r *ROC) ByEER() Decision {
	return r.between(r.smallest(func(d Decision) float64 { return math.Abs(d.FAR - d.FRR) }))
}

// ByFAR calibrates to the largest threshold whose FAR is at most far. It is an
// error to ask for a rate that the number of different pairs cannot show: below
// 1/Negatives no false acceptance was seen, which says little.
func (r *ROC) ByFAR(far float64) (Decision, error) {
	if !(far > 0 && far < 1) {
		return Decision{}, fmt.Errorf("eval: target FAR %v, want one between 0 and 1", far)
	}
	if far*float64(r.Negatives) < 1 {
		return Decision{}, fmt.Errorf("eval: target FAR %v needs at least %.7g pairs of different classes to be measured, there are %d", far, math.Ceil(1/far), r.Negatives)
	}
	return r.decision(r.lastWithin(far)), nil
}

// ByAccuracy calibrates to the best accuracy on these pairs, whose share of
// same pairs is rarely that of practice; see ByCost.
func (r *ROC) ByAccuracy() Decision {
	return r.between(r.smallest(func(d Decision) float64 { return -d.Accuracy }))
}

// ByFBeta calibrates to the largest F-beta = (1+b^2) P R/(b^2 P + R).
func (r *ROC) ByFBeta(beta float64) (Decision, error) {
	if !(beta > 0) || math.IsInf(beta, 1) {
		return Decision{}, fmt.Errorf("eval: beta %v, want a positive number", beta)
	}
	b := beta * beta
	return r.between(r.smallest(func(d Decision) float64 {
		if d.Recall == 0 {
			return 0
		}
		return -(1 + b) * d.Precision * d.Recall / (b*d.Precision + d.Recall)
	})), nil
}

// Costs describe the use of a verifier.
type Costs struct {
	Prior       float64 // share of same pairs in practice, between 0 and 1
	FalseAccept float64 // cost of accepting a different pair, > 0
	FalseReject float64 // cost of rejecting a same pair, > 0
}

func (c Costs) validate() error {
	const most = 1e12 // sums of costs stay finite
	positive := func(v float64) bool { return v > 0 && v <= most }
	if !(c.Prior > 0 && c.Prior < 1) || !positive(c.FalseAccept) || !positive(c.FalseReject) {
		return fmt.Errorf("prior %v and costs %v (accept), %v (reject): want a prior between 0 and 1 and costs above 0, up to 1e12", c.Prior, c.FalseAccept, c.FalseReject)
	}
	return nil
}

// ByCost calibrates to the smallest expected cost
// FalseAccept (1-Prior) FAR + FalseReject Prior FRR. Its minimum is the
// likelihood-ratio rule: accept while the slope of the curve, which is
// p(d|same)/p(d|different), is at least FalseAccept (1-Prior)/(FalseReject Prior).
func (r *ROC) ByCost(c Costs) (d Decision, cost float64, err error) {
	if err := c.validate(); err != nil {
		return d, 0, fmt.Errorf("eval: %w", err)
	}
	expected := func(d Decision) float64 {
		return c.FalseAccept*(1-c.Prior)*d.FAR + c.FalseReject*c.Prior*d.FRR
	}
	i := r.smallest(expected)
	return r.between(i), expected(r.decision(i)), nil
}

// smallest returns the first point of smallest loss.
func (r *ROC) smallest(loss func(Decision) float64) int {
	best, at := math.Inf(1), 0
	for i := range r.Threshold {
		if l := loss(r.decision(i)); l < best {
			best, at = l, i
		}
	}
	return at
}

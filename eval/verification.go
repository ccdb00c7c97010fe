package eval

import (
	"math"
	"slices"
	"sort"
)

// CurvePoint is a threshold of a ROC and its rates.
type CurvePoint struct {
	Threshold float64 `json:"threshold"`
	FAR       float64 `json:"far"`
	TAR       float64 `json:"tar"`
}

// Curve returns at most about n points of the curve, enough to draw it on plain
// axes, over a logarithmic FAR, and as DET: half of them are evenly spaced in
// the sum FAR + TAR, half in log FAR and log FRR. Every point is one of the
// curve; the first and the last are among them.
func (r *ROC) Curve(n int) []CurvePoint {
	last := len(r.FAR) - 1
	var at []int
	if last+1 <= n {
		at = LeaveOneOut(last + 1)
	} else {
		at = []int{0, last}
		plain := n / 2
		for i := range plain {
			want := 2 * float64(i) / float64(plain)
			at = append(at, sort.Search(last, func(j int) bool { return r.FAR[j]+r.TAR[j] >= want }))
		}
		logarithmic := n / 4
		for i := range logarithmic {
			t := float64(i) / float64(logarithmic)
			far := math.Pow(1/float64(r.Negatives), 1-t)
			frr := math.Pow(1/float64(r.Positives), 1-t)
			at = append(at,
				sort.Search(last, func(j int) bool { return r.FAR[j] >= far }),
				sort.Search(last, func(j int) bool { return 1-r.TAR[j] <= frr }))
		}
		slices.Sort(at)
		at = slices.Compact(at)
	}
	points := make([]CurvePoint, len(at))
	for i, j := range at {
		points[i] = CurvePoint{r.Threshold[j], r.FAR[j], r.TAR[j]}
	}
	return points
}

// DecisionFigures are a Decision in JSON.
type DecisionFigures struct {
	Threshold float64 `json:"threshold"`
	FAR       float64 `json:"far"`
	FRR       float64 `json:"frr"`
	Accuracy  float64 `json:"accuracy"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	// Same and Different count the pairs that the rates are of.
	Same      int `json:"same_pairs"`
	Different int `json:"different_pairs"`
}

// Figures returns a decision of this curve for JSON.
func (r *ROC) Figures(d Decision) DecisionFigures {
	return DecisionFigures{d.Threshold, d.FAR, d.FRR, d.Accuracy, d.Precision, d.Recall, r.Positives, r.Negatives}
}

// Verification returns the figures of the curve. TAR holds the rates at FAR
// 1e-1, 1e-2, 1e-3 and 1e-4, as far as there are enough different pairs to
// show them.
func (r *ROC) Verification() VerificationFigures { return newVerificationFigures(r) }

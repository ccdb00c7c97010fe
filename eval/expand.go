package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/metric"
)

// Expansion turns BRM into plain squared Euclidean distance: for rows a and b whose
// coordinates differ by at most Range,
//
//	| |Row(a) - Row(b)|^2 - D(a, b)^p | <= Bound,
//
// so that an ordinary vector database, or faiss, searches by BRM.
//
// With F(t) = R(|t|)^p, D^p is the mean of F(a_i - b_i) over coordinates. B^p - F is
// positive definite, so by Bochner's theorem it is a mixture of cosines, and
//
//	F(t) = lim sum_k w_k (1 - cos(f_k t)),  w_k >= 0.
//
// Now w (1 - cos f(x - y)) is the squared distance of sqrt(w/2) (cos f x, sin f x) and
// the same of y. Positive definite are, for p = 2, sigmoid (sech^2(t/2), whose
// transform is proportional to w/sinh(pi w)), tanh, and isru (1/(1 + omega t^2), whose
// transform falls exponentially); for p = 1 all restrictions, since B - R is convex and
// decreasing (Polya). On a bounded range few frequencies are enough, and a term
// Linear t^2, which is the limit of low frequencies, costs one number and not two.
type Expansion struct {
	Metric    string    `json:"metric"`
	Dim       int       `json:"dim"`       // of rows, for H coordinates
	H         int       `json:"h"`         // of the embedding
	Frequency []float64 `json:"frequency"` // f_k, radians a unit
	Weight    []float64 `json:"weight"`    // w_k
	Linear    float64   `json:"linear"`    // of t^2; 0 takes no number
	Range     float64   `json:"range"`     // largest difference of two coordinates
	Bound     float64   `json:"bound"`     // of the error of D^p
	// Low and High are the smallest and the largest value of each coordinate of the rows
	// that the expansion was made for.
	Low     []float32 `json:"low"`
	High    []float32 `json:"high"`
	Formula string    `json:"formula"` // of the numbers of each coordinate
}

const (
	// expandRange is how much of the data's range is added for rows to come.
	expandRange = 1.05
	// maxFrequencies keeps rows within what databases take.
	maxFrequencies = 48
	expandFormula  = "for each coordinate x: sqrt(linear/h) x, if linear > 0; then for each k sqrt(w/2h) cos(f x), sqrt(w/2h) sin(f x)"
)

// Expand finds the expansion of m within eps over the range of e with the fewest
// frequencies that it can. It is an error if m has none, or if eps needs too many.
func Expand(m metric.Metric, e *Embeddings, eps float64) (*Expansion, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if err := Expandable(m, eps); err != nil {
		return nil, err
	}
	low, high := extremes(e)
	span, largest := ranges(low, high)
	if span == 0 {
		return nil, fmt.Errorf("eval: all %d rows are the same: there is no range to expand over", e.N)
	}
	f := newExpandFit(m, span*expandRange, largest)
	x := &Expansion{Metric: m.String(), H: e.H, Range: f.far, Low: low, High: high, Formula: expandFormula}
	var best expandTerms
	few, many := 0, 1 // many frequencies are enough, few are not
	for ; ; many = min(maxFrequencies, many+1+many/4) {
		if best = f.best(many, eps); best.bound <= eps {
			break
		}
		if many == maxFrequencies {
			return nil, fmt.Errorf("eval: %v within %v over differences up to %.3g needs more than %d frequencies (these reach %.2g): "+
				"ask for a larger error, or scale the embedding down", m, eps, f.far, maxFrequencies, best.bound)
		}
		few = many
	}
	for many-few > 1 {
		middle := (few + many) / 2
		if t := f.best(middle, eps); t.bound <= eps {
			best, many = t, middle
		} else {
			few = middle
		}
	}
	x.Frequency, x.Weight, x.Linear, x.Bound = best.frequency, best.weight, best.linear, best.bound
	x.Dim = e.H * x.each()
	return x, nil
}

// Expandable says why a metric has no expansion, or none within eps, as far as that
// can be said without embeddings.
func Expandable(m metric.Metric, eps float64) error {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("eval: %w", err)
	}
	switch {
	case m.Kind != metric.BRM:
		return fmt.Errorf("eval: %v is no boundary-restricted metric: databases know it without an expansion", m)
	case m.P == 2 && (m.Restriction == metric.SoftSign || m.Restriction == metric.ArcTan):
		return fmt.Errorf("eval: %v has no expansion: B^2 - R^2 of %v is not known to be positive definite "+
			"(sigmoid, tanh and isru are for p = 2, all restrictions for p = 1)", m, m.Restriction)
	}
	if bound := math.Pow(m.Restriction.Bound(m.Omega), float64(m.P)); !(eps > 0 && eps < bound) {
		return fmt.Errorf("eval: an expansion within %v: want more than 0 and less than %.4g, the bound of D^%d", eps, bound, m.P)
	}
	return nil
}

// extremes are the smallest and the largest value of each coordinate.
func extremes(e *Embeddings) (low, high []float32) {
	low, high = slices.Clone(e.Row(0)), slices.Clone(e.Row(0))
	for i := range e.N {
		for c, v := range e.Row(i) {
			low[c], high[c] = min(low[c], v), max(high[c], v)
		}
	}
	return low, high
}

// ranges returns the largest spread of a coordinate and the largest |x|.
func ranges(low, high []float32) (span, largest float64) {
	for c := range low {
		span = max(span, float64(high[c])-float64(low[c]))
		largest = max(largest, math.Abs(float64(low[c])), math.Abs(float64(high[c])))
	}
	return span, largest
}

// ParseExpansion reads what JSON an Expansion became, to expand further rows in the same
// way: rows of other expansions are not comparable with them.
func ParseExpansion(text []byte) (*Expansion, error) {
	x := &Expansion{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(x); err != nil {
		return nil, fmt.Errorf("eval: an expansion: %w", err)
	}
	if _, err := metric.Parse(x.Metric); err != nil {
		return nil, fmt.Errorf("eval: an expansion: %w", err)
	}
	fine := x.H > 0 && x.H <= 1<<20 && len(x.Frequency) <= maxFrequencies && len(x.Weight) == len(x.Frequency) && len(x.Low) == x.H && len(x.High) == x.H && x.Linear >= 0 && x.Range > 0
	for _, w := range x.Weight {
		fine = fine && w >= 0
	}
	if !fine || x.Dim != x.H*x.each() {
		return nil, fmt.Errorf("eval: an expansion of %d coordinates to %d numbers, with %d frequencies, %d weights and the extremes of %d coordinates: these do not go together", x.H, x.Dim, len(x.Frequency), len(x.Weight), len(x.Low))
	}
	return x, nil
}

// Outside counts the rows that may differ from those that the expansion was made for by
// more than Range in a coordinate: of their distances Bound does not hold.
func (x *Expansion) Outside(e *Embeddings) int {
	n := 0
	for i := range e.N {
		for c, v := range e.Row(i) {
			if float64(v)-float64(x.Low[c]) > x.Range || float64(x.High[c])-float64(v) > x.Range {
				n++
				break
			}
		}
	}
	return n
}

// each is how many numbers a coordinate becomes.
func (x *Expansion) each() int {
	n := 2 * len(x.Frequency)
	if x.Linear > 0 {
		n++
	}
	return n
}

// Row appends the expansion of a row of H numbers to dst.
func (x *Expansion) Row(dst, row []float32) []float32 {
	h := float64(x.H)
	for _, v := range row {
		if x.Linear > 0 {
			dst = append(dst, float32(math.Sqrt(x.Linear/h)*float64(v)))
		}
		for k, f := range x.Frequency {
			sin, cos := math.Sincos(f * float64(v))
			s := math.Sqrt(x.Weight[k] / 2 / h)
			dst = append(dst, float32(s*cos), float32(s*sin))
		}
	}
	return dst
}

// Rows expands every row, (N, Dim).
func (x *Expansion) Rows(e *Embeddings) (*Embeddings, error) {
	if e.H != x.H {
		return nil, fmt.Errorf("eval: the expansion is of %d coordinates, the rows have %d", x.H, e.H)
	}
	out := &Embeddings{X: make([]float32, e.N*x.Dim), N: e.N, H: x.Dim, Labels: e.Labels}
	_ = parallel(SearchOptions{}.workers(), e.N, func(_, i int) error {
		x.Row(out.X[i*x.Dim:i*x.Dim], e.Row(i))
		return nil
	})
	return out, nil
}

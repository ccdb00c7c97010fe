package eval

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/vernier-ml/vernier/metric"
)

// PairOptions say which pairs SamplePairs takes.
type PairOptions struct {
	// Max bounds the pairs of each kind; where there are more they are drawn
	// at random, with repetition. 0 means 200,000.
	Max  int
	Seed uint64
	// Groups, if not nil, are the group of every row: pairs of one class and group are
	// left out, as SearchOptions.Groups leaves them out of rankings.
	Groups []int
	// Workers is as in SearchOptions; it changes no result.
	Workers int
}

const defaultPairs = 200_000

// PairDistances are distances (see Distance) of pairs of different rows inside
// classes and between classes, each ascending.
type PairDistances struct {
	Metric       metric.Metric
	Intra, Inter []float64
	// AllIntra and AllInter say that these are all pairs and no sample.
	AllIntra, AllInter bool
}

// SamplePairs measures pairs in float64. A set without a pair inside a class or
// without one between classes gives an empty list.
func SamplePairs(e *Embeddings, m metric.Metric, opt PairOptions) (*PairDistances, error) {
	if err := e.ValidateLabeled(); err != nil {
		return nil, err
	}
	o, err := newOrder(m)
	if err != nil {
		return nil, err
	}
	if opt.Max == 0 {
		opt.Max = defaultPairs
	}
	if opt.Max < 0 {
		return nil, fmt.Errorf("eval: at most %d pairs asked for, want a positive number", opt.Max)
	}
	if opt.Groups != nil && len(opt.Groups) != e.N {
		return nil, fmt.Errorf("eval: groups of %d rows, there are %d", len(opt.Groups), e.N)
	}
	p := &PairDistances{Metric: m}
	intra, inter := p.choose(e, opt)
	p.measure(e, o, intra, inter, opt.Workers)
	return p, nil
}

// MeasurePairs measures given pairs of rows in float64; the rows need no
// labels. Intra are those of the same, Inter the different ones, and each list
// is complete.
func MeasurePairs(e *Embeddings, m metric.Metric, pairs []Pair, workers int) (*PairDistances, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	o, err := newOrder(m)
	if err != nil {
		return nil, err
	}
	var intra, inter [][2]int32
	for i, p := range pairs {
		switch {
		case min(p.A, p.B) < 0 || max(p.A, p.B) >= e.N:
			return nil, fmt.Errorf("eval: pair %d is of rows %d and %d, there are %d", i, p.A, p.B, e.N)
		case p.Same:
			intra = append(intra, [2]int32{int32(p.A), int32(p.B)})
		default:
			inter = append(inter, [2]int32{int32(p.A), int32(p.B)})
		}
	}
	d := &PairDistances{Metric: m, AllIntra: true, AllInter: true}
	d.measure(e, o, intra, inter, workers)
	return d, nil
}

// measure fills in the distances.
func (p *PairDistances) measure(e *Embeddings, o order, intra, inter [][2]int32, workers int) {
	norm := norms(1, e)
	of := func(pairs [][2]int32) []float64 {
		d := make([]float64, len(pairs))
		_ = parallel(SearchOptions{Workers: workers}.workers(), len(pairs), func(_, i int) error {
			a, b := int(pairs[i][0]), int(pairs[i][1])
			d[i] = o.distance(o.exactKey(e.Row(a), e.Row(b), norm[a], norm[b]))
			return nil
		})
		slices.Sort(d)
		return d
	}
	p.Intra, p.Inter = of(intra), of(inter)
}

// choose lists the pairs of both kinds.
func (p *PairDistances) choose(e *Embeddings, opt PairOptions) (intra, inter [][2]int32) {
	class, distinct := Compact(e.Labels)
	rows := members(class, len(distinct))
	rng := rand.New(rand.NewPCG(opt.Seed, 1))
	if opt.Groups != nil {
		intra, p.AllIntra = pairsAcross(rng, rows, opt.Groups, opt.Max)
	} else {
		intra, p.AllIntra = pairsInside(rng, rows, opt.Max)
	}
	inter, p.AllInter = pairsBetween(rng, rows, e.N, opt.Max)
	return intra, inter
}

func pairsInside(rng *rand.Rand, rows [][]int32, most int) (pairs [][2]int32, all bool) {
	pick, total := weighted(rows, func(n float64) float64 { return n * (n - 1) / 2 })
	if total <= float64(most) {
		for _, r := range rows {
			for i, a := range r {
				for _, b := range r[:i] {
					pairs = append(pairs, [2]int32{b, a})
				}
			}
		}
		return pairs, true
	}
	for len(pairs) < most {
		r := rows[pick(rng)]
		a, b := rng.IntN(len(r)), rng.IntN(len(r)-1)
		if b >= a {
			b++
		}
		pairs = append(pairs, [2]int32{r[a], r[b]})
	}
	return pairs, false
}

// pairsAcross are pairs inside classes of rows of different groups.
func pairsAcross(rng *rand.Rand, rows [][]int32, group []int, limit int) (pairs [][2]int32, all bool) {
	// cell is the rows class[from:to] of a class sorted by group, which are of one.
	type cell struct {
		class    []int32
		from, to int
	}
	var cells []cell
	var upTo []float64 // the sum of the pairs of cells so far, each counted twice
	total := 0.
	for _, r := range rows {
		r = slices.Clone(r)
		slices.SortStableFunc(r, func(a, b int32) int { return cmp.Compare(group[a], group[b]) })
		for from := 0; from < len(r); {
			to := from + 1
			for to < len(r) && group[r[to]] == group[r[from]] {
				to++
			}
			if others := len(r) - (to - from); others > 0 {
				total += float64(to-from) * float64(others)
				cells, upTo = append(cells, cell{r, from, to}), append(upTo, total)
			}
			from = to
		}
	}
	if total/2 <= float64(limit) {
		for _, c := range cells {
			for _, a := range c.class[c.from:c.to] {
				for _, b := range c.class[:c.from] {
					pairs = append(pairs, [2]int32{b, a})
				}
			}
		}
		return pairs, true
	}
	for len(pairs) < limit {
		u := rng.Float64() * total
		c := cells[min(sort.Search(len(cells), func(i int) bool { return upTo[i] > u }), len(cells)-1)]
		size := c.to - c.from
		a, b := c.from+rng.IntN(size), rng.IntN(len(c.class)-size)
		if b >= c.from {
			b += size
		}
		pairs = append(pairs, [2]int32{c.class[a], c.class[b]})
	}
	return pairs, false
}

func pairsBetween(rng *rand.Rand, rows [][]int32, n, most int) (pairs [][2]int32, all bool) {
	pick, twice := weighted(rows, func(size float64) float64 { return size * (float64(n) - size) })
	if twice/2 <= float64(most) {
		for c, r := range rows {
			for _, others := range rows[:c] {
				for _, a := range r {
					for _, b := range others {
						pairs = append(pairs, [2]int32{b, a})
					}
				}
			}
		}
		return pairs, true
	}
	byClass := slices.Concat(rows...)
	from := make([]int, len(rows)) // where a class begins in byClass
	for c := range rows[1:] {
		from[c+1] = from[c] + len(rows[c])
	}
	for len(pairs) < most {
		c := pick(rng)
		other := rng.IntN(n - len(rows[c]))
		if other >= from[c] {
			other += len(rows[c])
		}
		pairs = append(pairs, [2]int32{rows[c][rng.IntN(len(rows[c]))], byClass[other]})
	}
	return pairs, false
}

// weighted returns a draw of classes by a weight of their size, and the sum of
// the weights.
func weighted(rows [][]int32, weight func(size float64) float64) (pick func(*rand.Rand) int, total float64) {
	upTo := make([]float64, len(rows))
	for c, r := range rows {
		total += weight(float64(len(r)))
		upTo[c] = total
	}
	return func(rng *rand.Rand) int {
		u := rng.Float64() * total
		return min(sort.Search(len(rows), func(c int) bool { return upTo[c] > u }), len(rows)-1)
	}, total
}

// ROC treats the pairs as a verification task. FAR and TAR are shares of each
// kind by itself, so that sampling does not bias them; accuracy and average
// precision do depend on how many of each there are.
func (p *PairDistances) ROC() (*ROC, error) {
	distance := slices.Concat(p.Intra, p.Inter)
	same := make([]bool, len(distance))
	for i := range p.Intra {
		same[i] = true
	}
	return NewROC(distance, same)
}

// Spread summarizes distances.
type Spread struct {
	Mean, Std, Median float64 // Std has divisor n-1
	Min, Max          float64
}

// NewSpread summarizes ascending numbers; nothing gives NaN.
func NewSpread(sorted []float64) Spread {
	if len(sorted) == 0 {
		nan := math.NaN()
		return Spread{nan, nan, nan, nan, nan}
	}
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	return Spread{
		Mean: sum / float64(len(sorted)), Std: deviation(sorted), Median: Quantile(sorted, 0.5),
		Min: sorted[0], Max: sorted[len(sorted)-1],
	}
}

// Quantile of ascending numbers, linear between them (definition 7 of Hyndman
// and Fan 1996); NaN of none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := min(max(q, 0), 1) * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return lerp(sorted[i], sorted[i+1], at-float64(i))
}

// MarginRange is the margin-range ratio m/b of BRM Fig. 1: how much of the
// range of distances the margin between classes takes up.
type MarginRange struct {
	// Margin is the width between the distances inside and between classes:
	// from the 95% quantile of the former to the 5% quantile of the latter.
	// It is negative where the two overlap by more than these tails.
	Margin float64
	// Range b is the largest distance of all, the boundary of the space.
	Range float64
	Ratio float64
}

// marginTail is the share of pairs on either side that MarginRange disregards.
const marginTail = 0.05

// MarginRange measures the margin that the embedding really has. The paper
// defines m as the margin that the loss asks for; see LossMarginRange.
func (p *PairDistances) MarginRange() MarginRange {
	margin := Quantile(p.Inter, marginTail) - Quantile(p.Intra, 1-marginTail)
	b := p.boundary()
	return MarginRange{margin, b, margin / b}
}

// LossMarginRange is tau/b for the margin tau that a loss asked for, in units
// of the distance (BRM section 3.1 and Fig. 2).
func (p *PairDistances) LossMarginRange(tau float64) MarginRange {
	b := p.boundary()
	return MarginRange{tau, b, tau / b}
}

func (p *PairDistances) boundary() float64 {
	return math.Max(NewSpread(p.Intra).Max, NewSpread(p.Inter).Max)
}

// Histogram counts distances inside and between classes in shared bins.
type Histogram struct {
	Edges        []float64 // bins+1, equally wide
	Intra, Inter []int
	Metric       metric.Metric
}

// Histogram sorts all distances into bins from 0 (or the smallest, if that is
// negative) to the largest.
func (p *PairDistances) Histogram(bins int) (*Histogram, error) {
	if bins < 1 {
		return nil, fmt.Errorf("eval: histogram of %d bins, want at least 1", bins)
	}
	if len(p.Intra)+len(p.Inter) == 0 {
		return nil, fmt.Errorf("eval: histogram of no distances")
	}
	low, high := 0.0, 0.0
	for _, d := range [][]float64{p.Intra, p.Inter} {
		if len(d) > 0 {
			low, high = min(low, d[0]), max(high, d[len(d)-1])
		}
	}
	if low == high {
		high = low + 1 // all distances are 0
	}
	h := &Histogram{Metric: p.Metric, Intra: make([]int, bins), Inter: make([]int, bins)}
	for i := range bins + 1 {
		h.Edges = append(h.Edges, lerp(low, high, float64(i)/float64(bins)))
	}
	count := func(into []int, d []float64) {
		for _, v := range d {
			into[min(int((v-low)/(high-low)*float64(bins)), bins-1)]++
		}
	}
	count(h.Intra, p.Intra)
	count(h.Inter, p.Inter)
	return h, nil
}

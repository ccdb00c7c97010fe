package tsne

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// Options say how Map works. The zero value is usual.
type Options struct {
	// Perplexity is about how many neighbors a point has; 0 means 30, or a
	// third of the rows if that is less.
	Perplexity float64
	Iterations int // 0 means 1000
	// Theta says how coarsely far points are joined; 0 means 0.5, negative not
	// at all, which takes N^2 steps an iteration.
	Theta float64
	// Workers is as in eval.SearchOptions; it changes no result.
	Workers int
	// Progress, if set, is called with the number of iterations done.
	Progress func(done, total int)
}

// Constants of the descent: those of van der Maaten's program.
const (
	exaggeration  = 12.0
	exaggerated   = 250 // iterations
	earlyMomentum = 0.5
	lateMomentum  = 0.8
	smallestGain  = 0.01
)

// Map places rows (N, H) in the plane so that near rows stay near; N is at least 4
// and H at least 2. Near means by the metric: of every row the 3 x perplexity
// nearest count, found exactly, on all processors if eng is nil. The start is the
// projection onto the two principal components, so nothing is drawn at random.
func Map(ctx context.Context, eng eval.Engine, e *eval.Embeddings, m metric.Metric, opt Options) (*eval.Projection, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if e.N < 4 || e.H < 2 {
		return nil, fmt.Errorf("eval: a map of %d rows of %d numbers: want at least 4 of 2", e.N, e.H)
	}
	if opt.Perplexity == 0 {
		opt.Perplexity = math.Min(30, float64(e.N-1)/3)
	}
	if !(opt.Perplexity >= 1 && opt.Perplexity <= float64(e.N-1)/3) {
		return nil, fmt.Errorf("eval: perplexity %v with %d rows: want 1 to %v", opt.Perplexity, e.N, float64(e.N-1)/3)
	}
	if opt.Iterations == 0 {
		opt.Iterations = 1000
	}
	if opt.Theta == 0 {
		opt.Theta = 0.5
	}
	k := min(int(3*opt.Perplexity), e.N-1)
	near, err := eval.Neighbors(ctx, eng, e, e, m, k, eval.SearchOptions{Self: eval.LeaveOneOut(e.N), Workers: opt.Workers})
	if err != nil {
		return nil, err
	}
	start, err := eval.PCA(e, 2)
	if err != nil {
		return nil, err
	}
	d := &descent{p: affinities(near, m, opt.Perplexity), y: start.X, opt: opt}
	d.scaleStart()
	if err := d.run(ctx); err != nil {
		return nil, err
	}
	return &eval.Projection{N: e.N, K: 2, X: d.y}, nil
}

// sparse is a symmetric (N, N) matrix by rows.
type sparse struct {
	from  []int // row i is from[i] to from[i+1]
	index []int32
	value []float64
}

// affinities are the joint probabilities p_ij of van der Maaten and Hinton
// 2008, Eqs. 1 and 2, over the neighbors alone.
func affinities(near *eval.NeighborList, m metric.Metric, perplexity float64) *sparse {
	n := near.Queries
	conditional := make([]float64, len(near.Distance))
	for i := range n {
		_, distance := near.Of(i)
		fitPerplexity(conditional[i*near.K:(i+1)*near.K], squares(distance, m), perplexity)
	}
	// Rows of (p_j|i + p_i|j)/2n, in ascending order of j.
	rows := make([]map[int32]float64, n)
	for i := range rows {
		rows[i] = map[int32]float64{}
	}
	for i := range n {
		index, _ := near.Of(i)
		for j, to := range index {
			p := conditional[i*near.K+j] / float64(2*n)
			rows[i][to] += p
			rows[to][int32(i)] += p
		}
	}
	s := &sparse{from: []int{0}}
	for _, row := range rows {
		for _, j := range slices.Sorted(maps.Keys(row)) {
			s.index, s.value = append(s.index, j), append(s.value, row[j])
		}
		s.from = append(s.from, len(s.index))
	}
	return s
}

// squares turns distances, ascending, into what stands in for the square of a
// Euclidean one. A cosine distance is half the square of a chord already.
func squares(distance []float64, m metric.Metric) []float64 {
	s := make([]float64, len(distance))
	for i, d := range distance {
		switch {
		case m.Kind == metric.Cosine || m.Squared():
			s[i] = d
		case m.Kind == metric.Dot:
			s[i] = d - distance[0]
		default:
			s[i] = d * d
		}
	}
	return s
}

// fitPerplexity fills p with exp(-beta s)/sum, beta such that the entropy of p
// is log(perplexity), by bisection.
func fitPerplexity(p, s []float64, perplexity float64) {
	low, high, beta := 0.0, math.Inf(1), 1.0
	if last := s[len(s)-1] - s[0]; last > 0 {
		beta = 1 / last
	}
	for range 100 {
		sum, mean := 0.0, 0.0
		for i, v := range s {
			p[i] = math.Exp(-beta * (v - s[0]))
			sum += p[i]
			mean += p[i] * (v - s[0])
		}
		entropy := math.Log(sum) + beta*mean/sum
		for i := range p {
			p[i] /= sum
		}
		gap := entropy - math.Log(perplexity)
		switch {
		case math.Abs(gap) < 1e-6:
			return
		case gap > 0:
			low = beta
		default:
			high = beta
		}
		if beta = (low + high) / 2; math.IsInf(high, 1) {
			beta = 2 * low
		}
		if math.IsInf(beta, 1) || beta == 0 {
			return // all neighbors are equally near
		}
	}
}

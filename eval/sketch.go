package eval

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/metric"
)

// sketch approximates D^2 of BRM with p = 2 by a matrix product, and bounds its
// error, so that a search computes only those distances that the approximation
// leaves open.
//
// F(t) = R(|t|)^2 is smooth, so that as a kernel F(a - b) of two coordinates it has
// nearly a low rank: with r and c its mean over one and both sides,
//
//	F(a - b) = r(a) + r(b) - c + sum_k s_k u_k(a) u_k(b) + e(a, b),  s_k = +1 or -1,
//
// where the u_k are eigenfunctions of what is left after the means, under the
// distribution of the coordinates: no other choice has a smaller mean square error
// (Schmidt, Eckart and Young). Summed over coordinates that is a product of rows of
// terms*h numbers.
//
// Bound: r and u_k are tables, linear between knots of distance d. In a cell of the
// grid of knots the approximation is then bilinear, and F differs from its own
// bilinear interpolation by at most max|F”| d^2/4; |F”| <= 2 R'(0)^2 for every
// restriction. So |e| <= R'(0)^2 d^2/2 + the bilinear interpolation of |e| at knots;
// and with numbers g for which |e(x_i, x_j)| <= g_i + g_j at all knots,
//
//	|e(a, b)| <= g(a) + g(b) + R'(0)^2 d^2/2,
//
// whose sums over coordinates every row has for itself.
type sketch struct {
	terms, h  int
	mean      []float64 // of each coordinate, taken off: F sees differences only
	low, step float64   // of the knots
	knots     int
	table     []float64 // terms+2 numbers a knot: u_k, r - c/2, g
	sign      []float64
	between   float64 // R'(0)^2 d^2/2
	slack     float64 // expected bound of a pair
}

const (
	sketchKnots = 1025
	sketchNodes = 129 // of the eigenvalue problem; divides the knots' intervals
	maxTerms    = 6
	// rare is the weight of the whole range beside that of the coordinates, so that
	// an outlier does not cost its row the bound.
	rare = 0.003
)

// width of a row on the engine: its functions, and the right side's mean.
func (s *sketch) width() int { return s.terms*s.h + 1 }

// spread is how coordinates lie: their means, range, and share near each node.
type spread struct {
	mean      []float64
	low, high float64
	weight    []float64
}

// extent is the range of coordinates less the given means; 0 is in it.
func extent(workers int, e *Embeddings, mean []float64) (low, high float64) {
	lows, highs := make([]float64, workers), make([]float64, workers)
	_ = parallel(workers, e.N, func(w, i int) error {
		for c, v := range e.Row(i) {
			x := float64(v) - mean[c]
			lows[w], highs[w] = math.Min(lows[w], x), math.Max(highs[w], x)
		}
		return nil
	})
	for w := range lows {
		low, high = math.Min(low, lows[w]), math.Max(high, highs[w])
	}
	return low, high
}

// newSpread is that of the rows of a gallery without their weight.
func newSpread(workers int, k *kept, e *Embeddings) spread {
	p := spread{mean: k.means(workers, e)}
	p.low, p.high = k.extent(workers, e, p.mean)
	return p
}

// widened has a range that takes in another one.
func (p spread) widened(low, high float64) spread {
	p.low, p.high = math.Min(p.low, low), math.Max(p.high, high)
	return p
}

// weigh finds the share of coordinates near each node.
func (p *spread) weigh(e *Embeddings) {
	p.weight = make([]float64, sketchNodes)
	if p.high == p.low {
		return
	}
	const most = 1 << 20 // numbers are enough to weigh nodes
	step := max(1, len(e.X)/most) | 1
	sum := 0.0
	for i := 0; i < len(e.X); i += step {
		at := (float64(e.X[i]) - p.mean[i%e.H] - p.low) / (p.high - p.low) * (sketchNodes - 1)
		p.weight[int(math.Round(at))]++
		sum++
	}
	for j := range p.weight {
		p.weight[j] = (1-rare)*p.weight[j]/sum + rare/sketchNodes
	}
}

// kernel is F at the distance of knots, and what is left of it after the means,
// between all knots (rows) and the nodes.
type kernel struct {
	spread
	step  float64
	f     []float64 // F(i step)
	r     []float64 // by knot
	c     float64
	left  *mat.Dense // (knots, nodes)
	value []float64  // eigenvalues, largest magnitude first
	u     *mat.Dense // (knots, maxTerms), scaled by sqrt|value|

	mu    sync.Mutex
	made  [maxTerms + 1]*sketch // by terms
	error []float64             // between all knots, of taken terms
	taken int
}

func newKernel(m metric.Metric, p spread) *kernel {
	k := &kernel{spread: p, step: (p.high - p.low) / (sketchKnots - 1)}
	k.f = make([]float64, sketchKnots)
	for i := range k.f {
		v := m.Restriction.Value(float64(i)*k.step, m.Omega)
		k.f[i] = v * v
	}
	const stride = (sketchKnots - 1) / (sketchNodes - 1)
	k.r = make([]float64, sketchKnots)
	for i := range k.r {
		for j, w := range p.weight {
			k.r[i] += w * k.f[abs(i-j*stride)]
		}
	}
	for j, w := range p.weight {
		k.c += w * k.r[j*stride]
	}
	k.left = mat.NewDense(sketchKnots, sketchNodes, nil)
	for i := range sketchKnots {
		for j := range sketchNodes {
			k.left.Set(i, j, k.f[abs(i-j*stride)]-k.r[i]-k.r[j*stride]+k.c)
		}
	}
	return k
}

// solve finds the eigenfunctions, extended from the nodes to all knots by the
// equation that defines them (Nystrom). It reports whether there are enough.
func (k *kernel) solve() bool {
	const stride = (sketchKnots - 1) / (sketchNodes - 1)
	a := mat.NewSymDense(sketchNodes, nil)
	for i, wi := range k.weight {
		for j := i; j < sketchNodes; j++ {
			a.SetSym(i, j, math.Sqrt(wi*k.weight[j])*k.left.At(i*stride, j))
		}
	}
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		return false
	}
	values := e.Values(nil) // ascending
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	k.u = mat.NewDense(sketchKnots, maxTerms, nil)
	low, high := 0, len(values)-1
	for t := range maxTerms {
		at := high
		if -values[low] > values[high] {
			at, low = low, low+1
		} else {
			high--
		}
		v := values[at]
		if v == 0 {
			return false
		}
		k.value = append(k.value, v)
		for i := range sketchKnots {
			sum := 0.0
			for j, w := range k.weight {
				sum += math.Sqrt(w) * k.left.At(i, j) * vectors.At(j, at)
			}
			k.u.Set(i, t, sum/v*math.Sqrt(math.Abs(v)))
		}
	}
	return true
}

// rest is what the means leave of F between all knots, and of it what the first terms leave.
func (k *kernel) rest(terms int) []float64 {
	n := sketchKnots
	if k.error == nil {
		k.error = make([]float64, n*n)
		for i := range n {
			for j := range n {
				k.error[i*n+j] = k.f[abs(i-j)] - k.r[i] - k.r[j] + k.c
			}
		}
	}
	for ; k.taken < terms; k.taken++ {
		u, sign := mat.Col(nil, k.taken, k.u), math.Copysign(1, k.value[k.taken])
		for i, ui := range u {
			ui *= sign
			row := k.error[i*n : (i+1)*n]
			for j, uj := range u {
				row[j] -= ui * uj
			}
		}
	}
	return k.error
}

// bounds returns g, see sketch, for an approximation with the given number of terms, which is
// at least that of the call before.
func (k *kernel) bounds(terms int) []float64 {
	n := sketchKnots
	e := k.rest(terms)
	// Half of the largest error of each is enough. Then let every knot, the most
	// common first, take what the others leave.
	g := make([]float64, n)
	for i := range g {
		most := 0.0
		for _, v := range e[i*n : (i+1)*n] {
			if v = math.Abs(v); v > most {
				most = v
			}
		}
		g[i] = most / 2
	}
	for range 3 {
		for i := range n {
			row := e[i*n : (i+1)*n]
			g[i] = math.Inf(1) // it does not bound itself
			need := math.Abs(row[i]) / 2
			for j, v := range row {
				if v = math.Abs(v) - g[j]; v > need {
					need = v
				}
			}
			g[i] = need
		}
	}
	return g
}

// sketch is the approximation with the given number of terms, which is kept.
func (k *kernel) sketch(m metric.Metric, terms int) *sketch {
	k.mu.Lock()
	defer k.mu.Unlock()
	for t := 1; t <= terms; t++ {
		if k.made[t] == nil {
			k.made[t] = k.newSketch(m, t)
		}
	}
	return k.made[terms]
}

func (k *kernel) newSketch(m metric.Metric, terms int) *sketch {
	slope := m.Restriction.Slope(0, m.Omega)
	s := &sketch{
		terms: terms, h: len(k.mean), mean: k.mean, low: k.low, step: k.step, knots: sketchKnots,
		between: slope * slope * k.step * k.step / 2,
	}
	g := k.bounds(terms)
	for i := range sketchKnots {
		for t := range terms {
			s.table = append(s.table, k.u.At(i, t))
		}
		s.table = append(s.table, k.r[i]-k.c/2, g[i])
	}
	for t := range terms {
		s.sign = append(s.sign, math.Copysign(1, k.value[t]))
	}
	const stride = (sketchKnots - 1) / (sketchNodes - 1)
	for j, w := range k.weight {
		s.slack += 2 * w * g[j*stride]
	}
	s.slack += s.between
	return s
}

func abs(i int) int { return max(i, -i) }

// at returns the table's two rows around coordinate c's value v, and where
// between them it is.
func (s *sketch) at(c int, v float32) (low, high []float64, frac float64) {
	x := (float64(v) - s.mean[c] - s.low) / s.step
	i := max(0, min(int(x), s.knots-2))
	w := s.terms + 2
	return s.table[i*w : (i+1)*w], s.table[(i+1)*w : (i+2)*w], x - float64(i)
}

// left and right fill rows of width numbers from rows of h; their product is
// D^2 less the left row's own mean.
func (s *sketch) left(dst, x []float32) {
	for c, v := range x {
		low, high, frac := s.at(c, v)
		for t := range s.terms {
			dst[c*s.terms+t] = float32(s.sign[t] / float64(s.h) * (low[t] + frac*(high[t]-low[t])))
		}
	}
	dst[len(x)*s.terms] = 1
}

// right returns the facts of its row.
func (s *sketch) right(dst, x []float32) (f facts) {
	square := 0.0
	terms, h := s.terms, float64(s.h)
	for c, v := range x {
		low, high, frac := s.at(c, v)
		low, high = low[:terms+2], high[:terms+2]
		for t := range terms {
			u := low[t] + frac*(high[t]-low[t])
			square += u * u
			dst[t] = float32(u)
		}
		dst = dst[terms:]
		f.mean += low[terms] + frac*(high[terms]-low[terms])
		f.slack += low[terms+1] + frac*(high[terms+1]-low[terms+1])
	}
	dst[0] = float32(f.mean / h)
	return facts{f.mean / h, f.slack/h + s.between/2, math.Sqrt(square / h)}
}

// facts are what a row contributes to keys and their errors.
type facts struct {
	mean  float64 // its r, averaged over coordinates
	slack float64 // its part of the bound, likewise
	reach float64 // length of its functions over sqrt h: a product's rounding is relative to that of both
}

func (s *sketch) facts(x []float32) (f facts) {
	square := 0.0
	for c, v := range x {
		low, high, frac := s.at(c, v)
		for t := range s.terms {
			u := low[t] + frac*(high[t]-low[t])
			square += u * u
		}
		f.mean += low[s.terms] + frac*(high[s.terms]-low[s.terms])
		f.slack += low[s.terms+1] + frac*(high[s.terms+1]-low[s.terms+1])
	}
	h := float64(s.h)
	return facts{f.mean / h, f.slack/h + s.between/2, math.Sqrt(square / h)}
}

// error is the bound for a query and every gallery row that most bounds.
func (s *sketch) error(query, most facts) float64 {
	rounding := float64(s.width()+12) * unitRoundoff
	return query.slack + most.slack + rounding*(query.reach*most.reach+most.mean) + float64(s.width()+12)*underflow
}

// errorOf is error for one gallery row.
func (s *sketch) errorOf(query facts, most facts, slack float64) float64 {
	most.slack = slack
	return s.error(query, most)
}

// allFacts returns the facts of all rows.
func (s *sketch) allFacts(workers int, e *Embeddings) []facts {
	all := make([]facts, e.N)
	_ = parallel(workers, e.N, func(_, i int) error {
		all[i] = s.facts(e.Row(i))
		return nil
	})
	return all
}

// largest is the largest of each fact.
func largest(all []facts) (most facts) {
	for _, f := range all {
		most.mean, most.slack, most.reach = math.Max(most.mean, math.Abs(f.mean)), math.Max(most.slack, f.slack), math.Max(most.reach, f.reach)
	}
	return most
}

package eval

import (
	"math"

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

func newSpread(workers int, k *kept, sets ...*Embeddings) spread {
	h := sets[0].H
	p := spread{mean: k.means(sets[0]), weight: make([]float64, sketchNodes)}
	for _, e := range sets {
		low, high := k.extent(workers, e, p.mean)
		p.low, p.high = math.Min(p.low, low), math.Max(p.high, high)
	}
	if p.high == p.low {
		return p
	}
	const most = 1 << 20 // numbers are enough to weigh nodes
	step := max(1, len(sets[0].X)/most) | 1
	sum := 0.0
	for i := 0; i < len(sets[0].X); i += step {
		at := (float64(sets[0].X[i]) - p.mean[i%h] - p.low) / (p.high - p.low) * (sketchNodes - 1)
		p.weight[int(math.Round(at))]++
		sum++
	}
	for j := range p.weight {
		p.weight[j] = (1-rare)*p.weight[j]/sum + rare/sketchNodes
	}
	return p
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

// bounds returns g, see sketch, for an approximation with the given number of terms.
func (k *kernel) bounds(terms int) []float64 {
	n := sketchKnots
	e := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			v := k.f[i-j] - k.r[i] - k.r[j] + k.c
			for t := range terms {
				v -= math.Copysign(1, k.value[t]) * k.u.At(i, t) * k.u.At(j, t)
			}
			e[i*n+j], e[j*n+i] = math.Abs(v), math.Abs(v)
		}
	}
	// Half of the largest error of each is enough. Then let every knot, the most
	// common first, take what the others leave.
	g := make([]float64, n)
	for i := range g {
		for _, v := range e[i*n : (i+1)*n] {
			g[i] = math.Max(g[i], v/2)
		}
	}
	for range 3 {
		for i := range n {
			need := e[i*n+i] / 2
			for j, v := range e[i*n : (i+1)*n] {
				if j != i {
					need = math.Max(need, v-g[j])
				}
			}
			g[i] = need
		}
	}
	return g
}

// sketch is the approximation with the given number of terms.
func (k *kernel) sketch(m metric.Metric, terms int) *sketch {
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

func (s *sketch) right(dst, x []float32) {
	sum := 0.0
	for c, v := range x {
		low, high, frac := s.at(c, v)
		for t := range s.terms {
			dst[c*s.terms+t] = float32(low[t] + frac*(high[t]-low[t]))
		}
		sum += low[s.terms] + frac*(high[s.terms]-low[s.terms])
	}
	dst[len(x)*s.terms] = float32(sum / float64(s.h))
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

// allFacts returns the facts of all rows and the largest of each.
func (s *sketch) allFacts(workers int, e *Embeddings) (all []facts, most facts) {
	all = make([]facts, e.N)
	_ = parallel(workers, e.N, func(_, i int) error {
		all[i] = s.facts(e.Row(i))
		return nil
	})
	for _, f := range all {
		most.mean, most.slack, most.reach = math.Max(most.mean, math.Abs(f.mean)), math.Max(most.slack, f.slack), math.Max(most.reach, f.reach)
	}
	return all, most
}

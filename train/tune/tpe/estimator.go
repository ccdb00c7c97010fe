package tpe

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Options are the constants of the estimator. The zero value is the usual.
type Options struct {
	// Startup is the number of first points that are drawn at random; 0 means 10.
	Startup int
	// Candidates is the number of points of which the best is proposed; 0 means 24.
	Candidates int
}

func (o Options) complete() Options {
	if o.Startup == 0 {
		o.Startup = 10
	}
	if o.Candidates == 0 {
		o.Candidates = 24
	}
	return o
}

// good is the number of n trials that count as good ones.
func good(n int) int { return min(int(math.Ceil(.1*float64(n))), 25) }

// Suggest proposes the point of the given number from earlier trials: the candidate,
// drawn where good trials are, whose density among these is highest in proportion to
// that among the others (Bergstra et al. 2011, Algorithms for hyper-parameter
// optimization, Sect. 4). Densities are mixtures of one normal kernel a trial and a wide
// one for what was believed before. Parameters that are always there have a common kernel
// (Falkner et al. 2018, BOHB) whose width shrinks as in Scott's rule; one with a condition has
// a density of its own, of the trials that have it.
func Suggest(s Space, trials []Trial, seed uint64, number int, o Options) map[string]float64 {
	o = o.complete()
	if number < o.Startup || len(trials) < 2 {
		return Random(s, seed, number)
	}
	r := source(seed, number, "")
	order := slices.Clone(trials)
	slices.SortStableFunc(order, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(worst(b.Value), worst(a.Value)))
	})
	n := good(len(order))
	at := map[string]float64{}
	var common Space
	for _, p := range s {
		if p.Active == nil {
			common = append(common, p)
		}
	}
	common.propose(at, order[:n], order[n:], r, o)
	for _, p := range s {
		if p.Active != nil && p.Active(at) {
			Space{p}.propose(at, having(order[:n], p.Name), having(order[n:], p.Name), r, o)
		}
	}
	return at
}

func worst(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(-1)
	}
	return v
}

func having(trials []Trial, name string) (list []Trial) {
	for _, t := range trials {
		if _, ok := t.Params[name]; ok {
			list = append(list, t)
		}
	}
	return list
}

// propose adds the values of the parameters to a point.
func (s Space) propose(at map[string]float64, good, bad []Trial, r *rand.Rand, o Options) {
	if len(s) == 0 {
		return
	}
	l, g := newMixture(s, good), newMixture(s, bad)
	best, score := map[string]float64(nil), math.Inf(-1)
	for range o.Candidates {
		x := l.draw(r)
		if v := l.logDensity(x) - g.logDensity(x); best == nil || v > score {
			best, score = x, v
		}
	}
	for name, v := range best {
		at[name] = v
	}
}

// mixture is a density over the parameters of a space: a kernel for each trial, and last
// a wide one.
type mixture struct {
	space  Space
	trials []Trial
	width  float64 // of a kernel, in shares of a range
	weight float64 // of a kernel
}

// widthOfOne is the width of a kernel where one trial is known, in shares of the range.
const widthOfOne = .1

// narrowest is the least width of kernels. A good point is not looked for nearer than that.
const narrowest = .01

func newMixture(s Space, trials []Trial) mixture {
	n, d := float64(len(trials)), float64(len(s))
	return mixture{
		space: s, trials: trials, weight: 1 / (n + 1),
		width: max(widthOfOne*math.Pow(max(n, 1), -1/(d+4)), narrowest),
	}
}

func (m mixture) draw(r *rand.Rand) map[string]float64 {
	x := map[string]float64{}
	k := r.IntN(len(m.trials) + 1)
	for _, p := range m.space {
		if k == len(m.trials) {
			x[p.Name] = m.wide(p, r)
			continue
		}
		center := m.trials[k].Params[p.Name]
		if p.Kind == Choice {
			x[p.Name] = center
			if r.Float64() < m.other(p) {
				x[p.Name] = float64(r.IntN(p.N))
			}
			continue
		}
		x[p.Name] = p.outward(truncated(p.inward(center), m.width, r))
	}
	return x
}

// wide draws from the wide kernel.
func (m mixture) wide(p Param, r *rand.Rand) float64 {
	if p.Kind == Choice {
		return float64(r.IntN(p.N))
	}
	return p.outward(truncated(.5, 1, r))
}

// other is the probability that a kernel of choices gives to all of them alike.
func (m mixture) other(p Param) float64 { return 1 / (1 + float64(len(m.trials))/float64(p.N)) }

func (m mixture) logDensity(x map[string]float64) float64 {
	logs := make([]float64, 0, len(m.trials)+1)
	for k := range len(m.trials) + 1 {
		sum := math.Log(m.weight)
		for _, p := range m.space {
			v := x[p.Name]
			switch {
			case k == len(m.trials) && p.Kind == Choice:
				sum -= math.Log(float64(p.N))
			case k == len(m.trials):
				sum += p.logKernel(v, .5, 1)
			case p.Kind == Choice:
				share := m.other(p) / float64(p.N)
				if m.trials[k].Params[p.Name] == v {
					share += 1 - m.other(p)
				}
				sum += math.Log(share)
			default:
				sum += p.logKernel(v, p.inward(m.trials[k].Params[p.Name]), m.width)
			}
		}
		logs = append(logs, sum)
	}
	top := slices.Max(logs)
	sum := 0.
	for _, v := range logs {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

// logKernel is the logarithm of the density of a normal kernel within the range; for whole
// numbers, of the mass on one.
func (p Param) logKernel(v, center, width float64) float64 {
	mass := phi((1-center)/width) - phi(-center/width)
	u := p.inward(v)
	if p.Kind == Int {
		low, high := p.interval()
		half := .5 / (high - low)
		return math.Log(max(phi((u+half-center)/width)-phi((u-half-center)/width), 1e-300) / mass)
	}
	z := (u - center) / width
	return -z*z/2 - math.Log(width*math.Sqrt(2*math.Pi)*mass)
}

// truncated draws from a normal distribution within 0 and 1.
func truncated(center, width float64, r *rand.Rand) float64 {
	low, high := phi(-center/width), phi((1-center)/width)
	u := low + r.Float64()*(high-low)
	return min(max(center+width*math.Sqrt2*math.Erfinv(2*u-1), 0), 1)
}

// phi is the distribution function of the standard normal distribution.
func phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

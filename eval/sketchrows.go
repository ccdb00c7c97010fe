package eval

import "math"

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

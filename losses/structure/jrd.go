package structure

import (
	"fmt"
	"math"
)

// JRD is joint representation diversification (Chu et al. 2020), a term beside cosface:
// rows of different classes shall not be alike in features, embedding and cosines to the
// classes at once. With b the mean squared distance of different rows, a constant for the
// gradient,
//
//	K(i,j) = mean over t < q of exp(-|r_i - r_j|^2/(b Spread^(t - floor(q/2))))
//
// for each representation r, and the term is Weight times the mean over pairs of different
// classes of the product of the three K. Without such a pair it is 0; where all rows of a
// representation are equal its K is 1.
//
// The zero value has the authors' constants: Weight 1, Kernels (the three q) 3, 3 and 1,
// Spread 2.
type JRD struct {
	Weight  float64
	Kernels [3]int // of features, embeddings, cosines
	Spread  float64
}

// Kinds returns Features, Compared and Cosines.
func (JRD) Kinds() []Kind { return []Kind{Features, Compared, Cosines} }

// Eval implements Term.
func (t JRD) Eval(labels []int, views []View) (float64, error) {
	weight, err := setting("jrd", "Weight", t.Weight, 1)
	if err != nil {
		return 0, err
	}
	spread, err := setting("jrd", "Spread", t.Spread, 2)
	if err != nil {
		return 0, err
	}
	counts := t.Kernels
	for r, q := range counts {
		if q == 0 {
			counts[r] = [3]int{3, 3, 1}[r]
		}
		if q < 0 {
			return 0, fmt.Errorf("jrd: Kernels is %v, want positive numbers, or 0 for 3, 3 and 1", t.Kernels)
		}
	}
	n := len(labels)
	if err := check("jrd", n, 3, views); err != nil {
		return 0, err
	}
	pairs := 0
	for i := range n {
		for j := range i {
			if labels[i] != labels[j] {
				pairs++
			}
		}
	}
	if pairs == 0 {
		return 0, nil
	}
	var kernels [3]mixture
	for r, v := range views {
		kernels[r] = newMixture(v, n, counts[r], spread)
	}
	share, value := weight/float64(pairs), 0.
	for i := range n {
		for j := range i {
			if labels[i] == labels[j] {
				continue
			}
			var k, slope [3]float64
			for r, v := range views {
				k[r], slope[r] = kernels[r].at(v.square(i, j))
			}
			value += share * k[0] * k[1] * k[2]
			for r, v := range views {
				v.pull(i, j, share*slope[r]*k[(r+1)%3]*k[(r+2)%3])
			}
		}
	}
	return value, nil
}

// mixture is a mean of Gaussian kernels, by their factors of squared distances.
type mixture []float64

func newMixture(v View, rows, count int, spread float64) mixture {
	mean := 0.
	for i := range rows {
		for j := range i {
			mean += v.square(i, j) * 2 / float64(rows*(rows-1))
		}
	}
	m := make(mixture, count)
	if mean == 0 {
		return m // all rows are equal: 1 for every pair
	}
	for t := range m {
		m[t] = 1 / (mean * math.Pow(spread, float64(t-count/2)))
	}
	return m
}

// at returns the kernel at a squared distance, and its derivative by it.
func (m mixture) at(square float64) (value, slope float64) {
	for _, by := range m {
		e := math.Exp(-square*by) / float64(len(m))
		value += e
		slope -= by * e
	}
	return value, slope
}

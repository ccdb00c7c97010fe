package layers

import (
	"fmt"
	"math"
)

// flow computes the matrix of a geometry flow layer on the host.
type flow struct {
	spec                 FlowSpec
	n, channels, numbers int       // items, channels and values of an item
	host                 []float32 // Gram matrices (C, N, N)
	stats                FlowStats
}

// sameItem is the squared distance, in squared distances to the reference, from
// which on two items are apart: below it a Gram matrix in float32 cannot tell.
const sameItem = 1e-6

// matrix returns the (N, N) matrix of Eq. 14 from the channels' Gram matrices:
// 1/(1 + lambda sum of w_j) on the diagonal, lambda w_jl of that beside it. Each
// of its rows adds up to 1.
func (f *flow) matrix(grams []float32) ([]float32, error) {
	w := f.weights(grams)
	n, lambda := f.n, f.spec.Lambda
	m := make([]float32, n*n)
	f.stats.Mixed = 0
	for j := range n {
		sum := 1.0
		for l := range n {
			sum += lambda * w[j*n+l]
		}
		if !(sum > 0) {
			return nil, fmt.Errorf("the weights of item %d add up to %.4g: at lambda %v nothing is left to divide by; let weights end at 0", j, (sum-1)/lambda, lambda)
		}
		for l := range n {
			m[j*n+l] = float32(lambda * w[j*n+l] / sum)
		}
		m[j*n+j] = float32(1 / sum)
		f.stats.Mixed += (1 - 1/sum) / float64(n)
	}
	return m, nil
}

// weights returns w (N, N), with 0 on the diagonal. Inputs that are not finite
// have no neighbours.
func (f *flow) weights(grams []float32) []float64 {
	n := f.n
	w := make([]float64, n*n)
	f.stats = FlowStats{Name: f.stats.Name}
	for _, v := range grams {
		if v-v != 0 {
			return w
		}
	}
	distance, unit := f.distances(grams)
	near := func(j, l int) bool { return distance[j*n+l] <= f.spec.Delta*unit }
	pairs := f.pairs(near)
	angles := make([]float64, len(pairs))
	if f.spec.Curvature {
		angles = f.angles(grams, near, pairs)
	}
	eps := f.spec.eps(f.channels)
	for k, p := range pairs {
		d := distance[p.j*n+p.l]
		if !f.spec.Raw && unit > 0 {
			d /= unit
		}
		weight := 1.0
		if d > 0 && angles[k] > 0 { // two items in one place are not curved
			weight -= eps * angles[k] / d
		}
		if !f.spec.Negative {
			weight = max(weight, 0)
		}
		w[p.j*n+p.l], w[p.l*n+p.j] = weight, weight
		f.stats.Weight += weight
	}
	f.stats.Neighbours = 2 * float64(len(pairs)) / float64(n)
	f.stats.Weight /= float64(max(len(pairs), 1))
	return w
}

// pair is two items, j < l.
type pair struct{ j, l int }

// pairs lists the neighbours.
func (f *flow) pairs(near func(j, l int) bool) []pair {
	var list []pair
	for j := range f.n {
		for l := j + 1; l < f.n; l++ {
			if near(j, l) {
				list = append(list, pair{j, l})
			}
		}
	}
	return list
}

// distances returns the Euclidean distances (N, N) over all channels, and what
// they are divided by; 0 where all items are in one place.
func (f *flow) distances(grams []float32) (d []float64, unit float64) {
	n := f.n
	sum := make([]float64, n*n)
	for c := range f.channels {
		for k, v := range grams[c*n*n : (c+1)*n*n] {
			sum[k] += float64(v)
		}
	}
	d = make([]float64, n*n)
	total, largest := 0.0, 0.0
	for j := range n {
		for l := range j {
			a, b := sum[j*n+j], sum[l*n+l]
			square := a + b - 2*sum[j*n+l]
			if square <= sameItem*(a+b) {
				square = 0
			}
			v := math.Sqrt(square)
			d[j*n+l], d[l*n+j] = v, v
			total, largest = total+v, max(largest, v)
		}
	}
	switch f.spec.Distance {
	case FlowMean:
		unit = total / float64(n*(n-1)/2)
	case FlowMax:
		unit = largest
	case FlowRMS:
		unit = math.Sqrt(float64(f.numbers))
	default:
		unit = 1
	}
	return d, unit
}

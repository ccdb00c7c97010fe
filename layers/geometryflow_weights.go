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
	f.describe(w)
	n, lambda := f.n, f.spec.Lambda
	m := make([]float32, n*n)
	for j := range n {
		sum := f.total(w, j)
		if !(sum > 0) {
			return nil, fmt.Errorf("the weights of item %d add up to %.4g: at lambda %v nothing is left to divide by; let weights end at 0", j, (sum-1)/lambda, lambda)
		}
		for l := range n {
			m[j*n+l] = float32(lambda * w.matrix[j*n+l] / sum)
		}
		m[j*n+j] = float32(1 / sum)
		f.stats.Mixed += (1 - 1/sum) / float64(n)
	}
	return m, nil
}

// total is the divisor of item j.
func (f *flow) total(w flowWeights, j int) float64 {
	sum := 1.0
	for _, v := range w.matrix[j*f.n : (j+1)*f.n] {
		sum += f.spec.Lambda * v
	}
	return sum
}

// flowWeights are w and what they were made of.
type flowWeights struct {
	matrix []float64 // (N, N), with 0 on the diagonal
	pairs  []pair    // of neighbors
	angles []float64 // of the pairs, summed over channels
	// distance (N, N) is Euclidean; unit divides it.
	distance []float64
	unit     float64
	near     func(j, l int) bool
}

// weights computes w. Inputs that are not finite have no neighbors.
func (f *flow) weights(grams []float32) (w flowWeights) {
	n := f.n
	w.matrix = make([]float64, n*n)
	for _, v := range grams {
		if v-v != 0 {
			return w
		}
	}
	w.distance, w.unit = f.distances(grams)
	w.near = func(j, l int) bool { return w.distance[j*n+l] <= f.spec.Delta*w.unit }
	w.pairs = f.pairs(w.near)
	w.angles = make([]float64, len(w.pairs))
	if f.spec.Curvature {
		w.angles = f.angles(grams, w.near, w.pairs)
	}
	eps := f.spec.eps(f.channels)
	for k, p := range w.pairs {
		weight := 1.0
		if d := f.divisor(w, p); d > 0 && w.angles[k] > 0 { // two items in one place are not curved
			weight -= eps * w.angles[k] / d
		}
		if !f.spec.Negative {
			weight = max(weight, 0)
		}
		w.matrix[p.j*n+p.l], w.matrix[p.l*n+p.j] = weight, weight
	}
	return w
}

// divisor is what the angle of a pair is divided by.
func (f *flow) divisor(w flowWeights, p pair) float64 {
	d := w.distance[p.j*f.n+p.l]
	if !f.spec.Raw && w.unit > 0 {
		d /= w.unit
	}
	return d
}

// describe fills in the statistics.
func (f *flow) describe(w flowWeights) {
	f.stats = FlowStats{Name: f.stats.Name, Neighbors: 2 * float64(len(w.pairs)) / float64(f.n)}
	for _, p := range w.pairs {
		f.stats.Weight += w.matrix[p.j*f.n+p.l]
	}
	f.stats.Weight /= float64(max(len(w.pairs), 1))
}

// pair is two items, j < l.
type pair struct{ j, l int }

// pairs lists the neighbors.
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

package model

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// meanDistance divides the rows of a batch (B, h) by the mean Euclidean distance m
// between its different rows, with the gradient through that mean (Kim and Park 2021):
//
//	y = x/m, dx = dy/m - (sum dy.x)/m^2 dm/dx
//
// Rows that are all equal, and a row alone, stay as they are.
type meanDistance struct{}

func (meanDistance) Shape(in ...[]int) ([]int, error) {
	if len(in) != 1 || len(in[0]) != 2 {
		return nil, fmt.Errorf("inputs of shapes %v, want rows (B, h)", in)
	}
	return in[0], nil
}

func (meanDistance) Forward(y layers.Array, x ...layers.Array) error {
	m := 1.
	if mean := newRowDistances(x[0]).mean; mean > 0 {
		m = mean
	}
	for k, v := range x[0].V {
		y.V[k] = float32(float64(v) / m)
	}
	return nil
}

func (meanDistance) Backward(dx []layers.Array, dy, _ layers.Array, x ...layers.Array) error {
	if dx[0].V == nil {
		return nil
	}
	d := newRowDistances(x[0])
	if d.mean == 0 {
		copy(dx[0].V, dy.V)
		return nil
	}
	along := 0.
	for k, v := range x[0].V {
		along += float64(dy.V[k]) * float64(v)
	}
	slopes := d.slopes(x[0])
	for k, v := range dy.V {
		dx[0].V[k] = float32(float64(v)/d.mean - along/(d.mean*d.mean)*slopes[k])
	}
	return nil
}

// rowDistances are the distances between different rows, each pair once: of row i to
// those before it, from i(i-1)/2 on.
type rowDistances struct {
	pairs []float64
	mean  float64 // 0 of one row
}

func newRowDistances(x layers.Array) rowDistances {
	n, h := x.Shape[0], x.Shape[1]
	var d rowDistances
	for i := range n {
		for j := range i {
			sum := 0.
			for k := range h {
				t := float64(x.V[i*h+k]) - float64(x.V[j*h+k])
				sum += t * t
			}
			d.pairs = append(d.pairs, math.Sqrt(sum))
		}
	}
	for _, v := range d.pairs {
		d.mean += v / float64(len(d.pairs))
	}
	return d
}

// slopes are the derivatives of the mean by each number of x.
func (d rowDistances) slopes(x layers.Array) []float64 {
	n, h := x.Shape[0], x.Shape[1]
	out := make([]float64, len(x.V))
	at := 0
	for i := range n {
		for j := range i {
			by := d.pairs[at] * float64(len(d.pairs))
			at++
			if by == 0 {
				continue // equal rows
			}
			for k := range h {
				t := (float64(x.V[i*h+k]) - float64(x.V[j*h+k])) / by
				out[i*h+k] += t
				out[j*h+k] -= t
			}
		}
	}
	return out
}

package links

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/vernier-ml/vernier/layers"
)

// Constants of the authors' code.
const (
	tieWidth = 1e-8 // entries this close to the last that is kept are kept too
	sumFloor = 1e-8 // added to what a column is divided by
)

// Edges returns what the distance takes of links a (h, h), row-major, rows being the lower
// level's units: of each column the keep largest entries above 0, and those that tie with the
// last of them, divided by their sum. A column without such entries is 0.
func Edges(a []float32, h, keep int) []float64 {
	e, column := make([]float64, h*h), make([]float64, h)
	for u := range h {
		for i := range h {
			column[i] = max(0, float64(a[i*h+u]))
		}
		sorted := slices.Clone(column)
		slices.Sort(sorted)
		least := sorted[h-min(keep, h)] - tieWidth
		sum := 0.
		for _, v := range column {
			if v >= least {
				sum += v
			}
		}
		for i, v := range column {
			if v >= least {
				e[i*h+u] = v / (sum + sumFloor)
			}
		}
	}
	return e
}

// Link computes the links (h, h) of two neighboring levels from the maps of a batch: the mean
// over images of the inner products of a lower and an upper unit's map, each of length 1. The
// lower maps are averaged to the size of the upper ones first. Inputs are maps (B, h, H, W) and
// biases (h) of the lower level, the same of the upper one, and the links before (h, h). The
// output is links that have moved by the share Momentum towards those of the batch, and with
// Store, unless it is nil, takes the place of those before. Links of 0 everywhere are none yet.
type Link struct {
	Momentum float64
	Store    func(links []float32) error
}

// Shape implements layers.HostOp.
func (Link) Shape(in ...[]int) ([]int, error) {
	if len(in) != 5 || len(in[0]) != 4 || len(in[2]) != 4 || len(in[1]) != 1 || len(in[3]) != 1 {
		return nil, fmt.Errorf("links are made of two maps with biases and the links before, not of %v", in)
	}
	low, high := in[0], in[2]
	h := low[1]
	switch {
	case low[0] != high[0] || high[1] != h || in[1][0] != h || in[3][0] != h || !slices.Equal(in[4], []int{h, h}):
		return nil, fmt.Errorf("maps %v and %v do not have the same images and units, or links %v not theirs", low, high, in[4])
	case low[2]%high[2] != 0 || low[3]%high[3] != 0:
		return nil, fmt.Errorf("maps of %d x %d do not divide into places of %d x %d: take another size of the images", low[2], low[3], high[2], high[3])
	}
	return []int{h, h}, nil
}

// Forward implements layers.HostOp.
func (l Link) Forward(y layers.Array, x ...layers.Array) error {
	low, high := x[0], x[2]
	n, h := high.Shape[0], high.Shape[1]
	places := high.Shape[2] * high.Shape[3]
	sums := make([]float64, h*h)
	a, b := make([]float64, h*places), make([]float64, h*places)
	for i := range n {
		pooled(a, low, i, x[1].V, high.Shape[2], high.Shape[3])
		pooled(b, high, i, x[3].V, high.Shape[2], high.Shape[3])
		unitRows(a, places)
		unitRows(b, places)
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, matrix(a, h), matrix(b, h), 1, matrix(sums, h))
	}
	before, first := x[4].V, true
	for _, v := range before {
		first = first && v == 0
	}
	for k, v := range sums {
		y.V[k] = float32(v / float64(n))
		if !first {
			y.V[k] = float32(float64(before[k]) + l.Momentum*(v/float64(n)-float64(before[k])))
		}
	}
	if l.Store == nil {
		return nil
	}
	return l.Store(y.V)
}

// Backward implements layers.HostOp: links are constants for the gradient.
func (Link) Backward(dx []layers.Array, _, _ layers.Array, _ ...layers.Array) error {
	for _, d := range dx {
		clear(d.V)
	}
	return nil
}

// pooled writes the maps of an image, averaged to rows x cols places and with the bias, to dst.
func pooled(dst []float64, m layers.Array, image int, bias []float32, rows, cols int) {
	h, height, width := m.Shape[1], m.Shape[2], m.Shape[3]
	down, across := height/rows, width/cols
	for u := range h {
		from := m.V[(image*h+u)*height*width:][:height*width]
		to := dst[u*rows*cols:][:rows*cols]
		for k := range to {
			to[k] = 0
		}
		for r := range height {
			for c, v := range from[r*width : (r+1)*width] {
				to[r/down*cols+c/across] += float64(v)
			}
		}
		for k := range to {
			to[k] = to[k]/float64(down*across) + float64(bias[u])
		}
	}
}

// matrix is x as rows of equal length.
func matrix(x []float64, rows int) blas64.General {
	return blas64.General{Rows: rows, Cols: len(x) / rows, Stride: len(x) / rows, Data: x}
}

package links

import (
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/layers"
)

// Final is the distance along the links of a batch from rows of classes, (B, C). Inputs are, for
// L levels, embeddings (B, h), certainties (B, h) and rows of classes (C, h) of each level, links
// (h, h) between each and the next, and a and b (h) of each level but the first: 6L-3 in all.
// The certainty of a class is the mean over batch and units. Only a and b have a gradient.
//
// D is linear in the squared differences: with the weights w_L = 1 of g_L,
//
//	D = sum over l of (w_l p_l).delta_l, w_{l-1} = E_{l-1} (w_l (1 - p_l)), p_1 = 1
//
// and since p depends on the image alone, that is h^2 steps an image and level and no more.
type Final struct {
	Levels int
	Keep   int // entries of a column of the links
	Gamma  float64
}

// Shape implements layers.HostOp.
func (f Final) Shape(in ...[]int) ([]int, error) {
	if f.Levels < 1 || len(in) != 6*f.Levels-3 || f.Keep < 1 {
		return nil, fmt.Errorf("%d levels that keep %d links want %d inputs, not %d", f.Levels, f.Keep, 6*f.Levels-3, len(in))
	}
	if len(in[0]) != 2 || len(in[2*f.Levels]) != 2 {
		return nil, fmt.Errorf("want rows (B, h), got %v and %v", in[0], in[2*f.Levels])
	}
	n, h, classes := in[0][0], in[0][1], in[2*f.Levels][0]
	for i, s := range in {
		want := []int{n, h}
		switch l := f.Levels; {
		case i >= 4*l-1:
			want = []int{h}
		case i >= 3*l:
			want = []int{h, h}
		case i >= 2*l:
			want = []int{classes, h}
		}
		if !slices.Equal(s, want) {
			return nil, fmt.Errorf("input %d has shape %v, want %v", i, s, want)
		}
	}
	return []int{n, classes}, nil
}

// parts are the inputs of Final by what they are.
type parts struct {
	x, c, y []layers.Array
	edges   [][]float64
	a, b    []layers.Array // of level l at l-1
	mean    []float64      // certainty of a class
	h       int
}

func (f Final) parts(in []layers.Array) parts {
	l := f.Levels
	p := parts{x: in[:l], c: in[l : 2*l], y: in[2*l : 3*l], a: in[4*l-1 : 5*l-2], b: in[5*l-2:], h: in[0].Shape[1]}
	for _, m := range in[3*l : 4*l-1] {
		p.edges = append(p.edges, Edges(m.V, p.h, f.Keep))
	}
	for _, c := range p.c {
		sum := 0.
		for _, v := range c.V {
			sum += float64(v)
		}
		p.mean = append(p.mean, sum/float64(len(c.V)))
	}
	return p
}

// weights returns p of an image, level by level, and the weights w of g.
func (f Final) weights(in parts, image int) (p, w [][]float64) {
	h := in.h
	p, w = make([][]float64, f.Levels), make([][]float64, f.Levels)
	for l := range p {
		p[l] = make([]float64, h)
		for u := range p[l] {
			p[l][u] = 1
			if l > 0 {
				z := float64(in.c[l].V[image*h+u])*in.mean[l]*float64(in.a[l-1].V[u]) + float64(in.b[l-1].V[u])
				p[l][u] = sigmoid(f.Gamma * z)
			}
		}
	}
	w[f.Levels-1] = slices.Repeat([]float64{1}, h)
	for l := f.Levels - 1; l > 0; l-- {
		w[l-1] = make([]float64, h)
		for i := range h {
			sum := 0.
			for u, e := range in.edges[l-1][i*h : (i+1)*h] {
				sum += e * w[l][u] * (1 - p[l][u])
			}
			w[l-1][i] = sum
		}
	}
	return p, w
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// Forward implements layers.HostOp.
func (f Final) Forward(y layers.Array, x ...layers.Array) error {
	in := f.parts(x)
	n, classes, h := y.Shape[0], y.Shape[1], in.h
	for i := range n {
		p, w := f.weights(in, i)
		for c := range classes {
			sum := 0.
			for l := range f.Levels {
				row, other := in.x[l].V[i*h:(i+1)*h], in.y[l].V[c*h:(c+1)*h]
				for u, v := range row {
					d := float64(v) - float64(other[u])
					sum += w[l][u] * p[l][u] * d * d
				}
			}
			y.V[i*classes+c] = float32(sum)
		}
	}
	return nil
}

// Backward implements layers.HostOp.
func (f Final) Backward(dx []layers.Array, dy, _ layers.Array, x ...layers.Array) error {
	in := f.parts(x)
	n, classes, h, levels := dy.Shape[0], dy.Shape[1], in.h, f.Levels
	for _, d := range dx {
		clear(d.V)
	}
	da, db := make([][]float64, levels), make([][]float64, levels)
	for l := 1; l < levels; l++ {
		da[l], db[l] = make([]float64, h), make([]float64, h)
	}
	for i := range n {
		p, w := f.weights(in, i)
		// g is the sum over classes of dy g_l, which is linear too, s that of dy delta_l.
		var g []float64
		for l := range levels {
			s := make([]float64, h)
			for c := range classes {
				by, row, other := float64(dy.V[i*classes+c]), in.x[l].V[i*h:(i+1)*h], in.y[l].V[c*h:(c+1)*h]
				for u, v := range row {
					d := float64(v) - float64(other[u])
					s[u] += by * d * d
				}
			}
			if l == 0 {
				g = s
				continue
			}
			below := make([]float64, h) // g E
			for k, v := range g {
				for u, e := range in.edges[l-1][k*h : (k+1)*h] {
					below[u] += v * e
				}
			}
			for u := range h {
				slope := w[l][u] * (s[u] - below[u]) * f.Gamma * p[l][u] * (1 - p[l][u])
				da[l][u] += slope * float64(in.c[l].V[i*h+u]) * in.mean[l]
				db[l][u] += slope
				below[u] = p[l][u]*s[u] + (1-p[l][u])*below[u]
			}
			g = below
		}
	}
	for l := 1; l < levels; l++ {
		for to, from := range map[int][]float64{4*levels - 1 + l - 1: da[l], 5*levels - 2 + l - 1: db[l]} {
			for u := range dx[to].V {
				dx[to].V[u] = float32(from[u])
			}
		}
	}
	return nil
}

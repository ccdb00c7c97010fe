package links

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Graph is the distance along links between two images, with the certainties of both. A row has
// 2 Levels H numbers: the embedding of each level, of length 1, from the lowest on, and then the
// certainty of each.
type Graph struct {
	Levels, H int
	Gamma     float64
	// Edges are what Edges returns, A and B the learned numbers, of each level but the first.
	Edges [][]float64
	A, B  [][]float32
}

// Check says what of a graph does not fit together.
func (g *Graph) Check() error {
	rest := g.Levels - 1
	if g.Levels < 1 || g.H < 1 || len(g.Edges) != rest || len(g.A) != rest || len(g.B) != rest {
		return fmt.Errorf("links of %d levels of %d units have %d tables and %d and %d learned vectors", g.Levels, g.H, len(g.Edges), len(g.A), len(g.B))
	}
	for l := range rest {
		if len(g.Edges[l]) != g.H*g.H || len(g.A[l]) != g.H || len(g.B[l]) != g.H {
			return fmt.Errorf("links of level %d have %d, %d and %d numbers, want %d, %d and %d", l+2, len(g.Edges[l]), len(g.A[l]), len(g.B[l]), g.H*g.H, g.H, g.H)
		}
	}
	return nil
}

// Width is the length of a row.
func (g *Graph) Width() int { return 2 * g.Levels * g.H }

// Blocks is how many rows are compared at once, for memory.
const blockRows = 256

// Row sets dst[j] to the distance of a row x from row j of rows. It takes about 2 H^2 (Levels-1)
// steps a row. It may be called by several goroutines.
func (g *Graph) Row(dst []float64, x, rows []float32) {
	width := g.Width()
	kernels := make([][]float32, len(g.Edges))
	for l, e := range g.Edges {
		kernels[l] = make([]float32, len(e))
		for k, v := range e {
			kernels[l][k] = float32(v)
		}
	}
	for from := 0; from < len(dst); from += blockRows {
		n := min(blockRows, len(dst)-from)
		g.block(dst[from:from+n], x, rows[from*width:(from+n)*width], kernels)
	}
}

// block is Row for few rows. See Final for the order in which it goes.
func (g *Graph) block(dst []float64, x, rows []float32, kernels [][]float32) {
	n, h, width := len(dst), g.H, g.Width()
	w, rest := general(n, h), general(n, h) // weights of g_l, and of what comes from the level below
	for k := range w.Data {
		w.Data[k] = 1
	}
	clear(dst)
	for l := g.Levels - 1; l >= 0; l-- {
		xs, cs := x[l*h:(l+1)*h], x[(g.Levels+l)*h:][:h]
		for j := range n {
			row := rows[j*width:]
			ys, cy, wj := row[l*h:(l+1)*h], row[(g.Levels+l)*h:][:h], w.Data[j*h:(j+1)*h]
			sum := 0.
			for u, v := range xs {
				p, d := 1., float64(v)-float64(ys[u])
				if l > 0 {
					p = sigmoid(g.Gamma * (float64(cs[u])*float64(cy[u])*float64(g.A[l-1][u]) + float64(g.B[l-1][u])))
					rest.Data[j*h+u] = float32(float64(wj[u]) * (1 - p))
				}
				sum += float64(wj[u]) * p * d * d
			}
			dst[j] += sum
		}
		if l > 0 {
			e := blas32.General{Rows: h, Cols: h, Stride: h, Data: kernels[l-1]}
			blas32.Gemm(blas.NoTrans, blas.Trans, 1, rest, e, 0, w)
		}
	}
}

func general(rows, cols int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

package intrabatch

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/vernier-ml/vernier/layers"
)

// Attention is multi-head attention among the rows of a batch, with one more logit of 0 whose
// value is 0, as the authors' code has it:
//
//	s_ij = q_i . k_j / sqrt(h/Heads)
//	w_ij = exp(s_ij) / (1 + sum over m of exp(s_im))
//	y_i  = sum over j of w_ij v_j
//
// Its inputs are qkv (n, 3h), queries, keys and values one behind the other with the heads
// side by side in each, and, if the weights are dropped, what multiplies them (n, Heads*n).
// Its output is (n, h).
type Attention struct{ Heads int }

// Shape implements layers.HostOp.
func (a Attention) Shape(in ...[]int) ([]int, error) {
	if len(in) < 1 || len(in) > 2 || len(in[0]) != 2 {
		return nil, fmt.Errorf("attention in a batch is among rows (n, 3h), not %v", in)
	}
	n, h := in[0][0], in[0][1]/3
	if a.Heads < 1 || in[0][1] != 3*h || h%a.Heads != 0 {
		return nil, fmt.Errorf("attention of %d heads in a batch needs rows of 3h numbers with h a multiple of the heads, got %v", a.Heads, in[0])
	}
	if len(in) == 2 && (len(in[1]) != 2 || in[1][0] != n || in[1][1] != a.Heads*n) {
		return nil, fmt.Errorf("the weights of %d heads among %d rows are (%d, %d), not %v", a.Heads, n, n, a.Heads*n, in[1])
	}
	return []int{n, h}, nil
}

// Forward implements layers.HostOp.
func (a Attention) Forward(y layers.Array, x ...layers.Array) error {
	for head := range a.Heads {
		_, _, v, w := a.weights(head, x)
		a.drop(head, w, x)
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, w, v, 0, columns(y, head*v.Cols, v.Cols))
	}
	return nil
}

// Backward implements layers.HostOp. Nothing is asked of the second input.
func (a Attention) Backward(dx []layers.Array, dy, _ layers.Array, x ...layers.Array) error {
	if len(dx) > 1 && dx[1].V != nil {
		return fmt.Errorf("attention in a batch has no gradient of what multiplies its weights")
	}
	if dx[0].V == nil {
		return nil
	}
	n, h := dy.Shape[0], dy.Shape[1]
	for head := range a.Heads {
		q, k, v, w := a.weights(head, x)
		at := head * v.Cols
		dq, dk, dv := columns(dx[0], at, v.Cols), columns(dx[0], h+at, v.Cols), columns(dx[0], 2*h+at, v.Cols)
		dys := columns(dy, at, v.Cols)
		used := matrix(n, n)
		copy(used.Data, w.Data)
		a.drop(head, used, x)
		blas32.Gemm(blas.Trans, blas.NoTrans, 1, used, dys, 0, dv)
		dw := matrix(n, n)
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, dys, v, 0, dw)
		a.drop(head, dw, x)
		// A softmax with a logit that has no gradient: ds = w (dw - sum of w dw).
		for i := range n {
			row, dRow := w.Data[i*n:(i+1)*n], dw.Data[i*n:(i+1)*n]
			sum := 0.
			for j, g := range dRow {
				sum += float64(row[j]) * float64(g)
			}
			for j, g := range dRow {
				dRow[j] = row[j] * (g - float32(sum))
			}
		}
		s := scale(v.Cols)
		blas32.Gemm(blas.NoTrans, blas.NoTrans, s, dw, k, 0, dq)
		blas32.Gemm(blas.Trans, blas.NoTrans, s, dw, q, 0, dk)
	}
	return nil
}

// weights returns the parts of a head and its weights w (n, n), before any is dropped.
func (a Attention) weights(head int, x []layers.Array) (q, k, v, w blas32.General) {
	n, h := x[0].Shape[0], x[0].Shape[1]/3
	d := h / a.Heads
	at := head * d
	q, k, v = columns(x[0], at, d), columns(x[0], h+at, d), columns(x[0], 2*h+at, d)
	w = matrix(n, n)
	blas32.Gemm(blas.NoTrans, blas.Trans, scale(q.Cols), q, k, 0, w)
	for i := range n {
		row := w.Data[i*n : (i+1)*n]
		top := 0. // of all logits, the further one included
		for _, s := range row {
			top = max(top, float64(s))
		}
		sum := math.Exp(-top)
		for _, s := range row {
			sum += math.Exp(float64(s) - top)
		}
		for j, s := range row {
			row[j] = float32(math.Exp(float64(s)-top) / sum)
		}
	}
	return q, k, v, w
}

// drop multiplies weights, or their gradients, of a head by the second input, if there is one.
func (a Attention) drop(head int, w blas32.General, x []layers.Array) {
	if len(x) < 2 {
		return
	}
	n := w.Rows
	for i := range n {
		for j, by := range x[1].V[(i*a.Heads+head)*n:][:n] {
			w.Data[i*n+j] *= by
		}
	}
}

// columns are a number of columns of x from one on.
func columns(x layers.Array, from, number int) blas32.General {
	return blas32.General{Rows: x.Shape[0], Cols: number, Stride: x.Shape[1], Data: x.V[from:]}
}

func matrix(rows, cols int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

func scale(width int) float32 { return float32(1 / math.Sqrt(float64(width))) }

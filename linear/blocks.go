package linear

import (
	"context"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
)

// Engine is what linear needs of an engine.Engine: large products and neighbor
// search in float32.
type Engine interface {
	eval.Engine
	MatMul(c, a, b engine.Tensor, transA, transB, accumulate bool) error
}

// parts is in how many pieces parallel work is cut. It does not depend on the
// machine, so that sums over pieces do not either.
const parts = 16

// inParts calls f for consecutive ranges of 0..n-1, concurrently.
func inParts(n int, f func(part, from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), parts)
	var wg sync.WaitGroup
	next := make(chan int, parts)
	for p := range parts {
		next <- p
	}
	close(next)
	for range workers {
		wg.Go(func() {
			for p := range next {
				if from, to := p*n/parts, (p+1)*n/parts; from < to {
					f(p, from, to)
				}
			}
		})
	}
	wg.Wait()
}

// blockBytes bounds a block of distances.
const blockBytes = 8 << 20

// squaredBlocks calls f with the squared distances of a few rows of q, starting
// at row from, to all n rows of g: d2 is row-major, (rows, n), and valid during
// the call. Memory is that of a block. They come from |q|^2 + |g|^2 - 2 q.g, so
// that a distance of 0 may be slightly negative; with an engine they carry the
// rounding of float32 relative to the rows' norms.
func squaredBlocks(ctx context.Context, eng Engine, q, g *mat.Dense, f func(from, rows int, d2 []float64) error) error {
	nq, _ := q.Dims()
	n, _ := g.Dims()
	step := max(1, min(nq, blockBytes/8/n))
	nq2, ng2 := squaredNorms(q), squaredNorms(g)
	dot := mat.NewDense(step, n, nil)
	product, err := newProduct(eng, step, g)
	if err != nil {
		return err
	}
	for from := 0; from < nq; from += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := min(step, nq-from)
		d2 := dot.RawMatrix().Data[:rows*n]
		if err := product.squared(dot, q, from, rows, nq2, ng2); err != nil {
			return err
		}
		if err := f(from, rows, d2); err != nil {
			return err
		}
	}
	return nil
}

func squaredNorms(x *mat.Dense) []float64 {
	n, _ := x.Dims()
	out := make([]float64, n)
	for i := range out {
		for _, v := range x.RawRowView(i) {
			out[i] += v * v
		}
	}
	return out
}

// product multiplies blocks of rows with a fixed g^T, on the host or an engine.
type product struct {
	eng        Engine
	g          *mat.Dense
	step       int
	te, tg, tc engine.Tensor
	in, out    []float32
}

func newProduct(eng Engine, step int, g *mat.Dense) (*product, error) {
	p := &product{eng: eng, g: g, step: step}
	if eng == nil {
		return p, nil
	}
	n, h := g.Dims()
	var err error
	if p.tg, err = upload(eng, g); err != nil {
		return nil, err
	}
	if p.te, err = eng.New(step, h); err != nil {
		return nil, err
	}
	if p.tc, err = eng.New(step, n); err != nil {
		return nil, err
	}
	p.in, p.out = make([]float32, step*h), make([]float32, step*n)
	return p, nil
}

// squared sets the first rows rows of dst to the squared distances of rows
// from.. of q to those of g, given the squared norms of both.
func (p *product) squared(dst, q *mat.Dense, from, rows int, nq2, ng2 []float64) error {
	n, h := p.g.Dims()
	d2 := dst.RawMatrix().Data
	if p.eng == nil {
		dst.Slice(0, rows, 0, n).(*mat.Dense).Mul(q.Slice(from, from+rows, 0, h), p.g.T())
		inParts(rows, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				row, qi := d2[i*n:(i+1)*n], nq2[from+i]
				for j, v := range row {
					row[j] = qi + ng2[j] - 2*v
				}
			}
		})
		return nil
	}
	for i := range rows {
		for j, v := range q.RawRowView(from + i) {
			p.in[i*h+j] = float32(v)
		}
	}
	if err := p.eng.Write(p.te, p.in); err != nil {
		return err
	}
	if err := p.eng.MatMul(p.tc, p.te, p.tg, false, true, false); err != nil {
		return err
	}
	if err := p.eng.Read(p.out, p.tc); err != nil {
		return err
	}
	inParts(rows, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			row, dots, qi := d2[i*n:(i+1)*n], p.out[i*n:(i+1)*n], nq2[from+i]
			for j, v := range dots {
				row[j] = qi + ng2[j] - 2*float64(v)
			}
		}
	})
	return nil
}

func upload(eng Engine, x *mat.Dense) (engine.Tensor, error) {
	n, h := x.Dims()
	t, err := eng.New(n, h)
	if err != nil {
		return nil, err
	}
	return t, eng.Write(t, narrow(x))
}

// narrow copies x to float32, row-major.
func narrow(x *mat.Dense) []float32 {
	n, h := x.Dims()
	out := make([]float32, n*h)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			out[i*h+j] = float32(v)
		}
	}
	return out
}

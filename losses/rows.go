package losses

import (
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/metric"
)

// Parts say how a loss that is a sum over rows (ByRows) is evaluated in parts of a batch. Each
// rank takes its own: the matrix of its rows with the whole batch. Gradients of the columns
// are added in the order of comm.Tree over all parts, so that they do not depend on the number
// of ranks, each of which takes 1, 2, 4, ... parts. The zero value is a batch in one part.
type Parts struct {
	Size int       // rows of a part, of which the batch is a multiple
	Comm comm.Comm // of ranks, each of which knows all embeddings and labels; nil for one
}

// ByRows reports whether a loss on values of a metric, a similarity or a distance, is a sum
// over the rows of its matrix, weighed by counts that are sums over rows too: each part of the
// rows can then be evaluated on its own. These are contrastive, triplet (without swap and
// miners that take several anchors), multi-similarity, supcon and npairs (of all pairs).
func ByRows(l Loss, similarity bool) bool {
	if v, ok := l.(*viewed); ok {
		return ByRows(v.loss, v.view.Similarity(similarity))
	}
	w, ok := l.(written)
	if !ok {
		return false
	}
	own, err := settled(w, similarity)
	if err != nil {
		return false // Eval says what is wrong
	}
	sum, ok := own.(interface{ byRows() bool })
	return ok && sum.byRows()
}

// others joins the rows of a matrix with those that other ranks have.
type others struct {
	comm comm.Comm
	err  error // the first of an exchange; what is computed then counts for nothing
}

// total returns the sums of counts over all rows.
func (m *Matrix) total(counts ...int) []int {
	if m.others == nil || m.others.err != nil {
		return counts
	}
	all, err := comm.GatherInts(m.others.comm, counts)
	if err != nil {
		m.others.err = err
		return counts
	}
	sums := make([]int, len(counts))
	for _, own := range all {
		for i, n := range own {
			sums[i] += n
		}
	}
	return sums
}

// sum adds one value for each row, in the order of all rows.
func (m *Matrix) sum(values []float64) float64 {
	if m.others != nil && m.others.err == nil {
		values, m.others.err = comm.Concat(m.others.comm, values)
	}
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum
}

// count makes the counts those of all rows.
func (r *Result) count(m *Matrix) {
	sums := m.total(r.Active, r.Total)
	r.Active, r.Total = sums[0], sums[1]
}

// inParts reports whether a loss on embeddings of the given number is evaluated in parts.
func (o OpOptions) inParts(h hosted, rows int) bool {
	return o.Parts.Size > 0 && rows%o.Parts.Size == 0 && h.memory == nil && o.Keys == nil && o.LogScale == nil && ByRows(h.loss, o.Metric.Similarity())
}

// byRows adds a loss on the embeddings e (B, h) that is evaluated in parts.
func (n *Node) byRows(g *layers.Graph, h hosted, e *layers.Node, o OpOptions) *layers.Node {
	if g.Err() != nil {
		return nil
	}
	n.onHost = true
	l := newRowLoss(h, g.Engine(), o, e.Shape()[0], e.Shape()[1])
	return g.LossOf(h.name, e, l.run)
}

// rowLoss evaluates the rows of a loss that this rank takes.
type rowLoss struct {
	hosted
	eng    engine.Engine
	metric metric.Metric
	comm   comm.Comm

	batch, dim, size int
	first, end       int // own rows
	own              Matrix
	grad             []float64

	anchors, values []engine.Tensor // of each own part: (m, h), (m, B)
	dValues, dRows  engine.Tensor   // of one part: (m, B), (m, h)
	// columns are sums of gradients of columns, (B, h), as comm.Merges says.
	columns []engine.Tensor

	rows, part, sum, ownRows []float32 // on the host: (B, h), (m, B), (B, h), own (rows, h)
}

func newRowLoss(h hosted, eng engine.Engine, o OpOptions, batch, dim int) *rowLoss {
	l := &rowLoss{hosted: h, eng: eng, metric: o.Metric, comm: comm.OrSingle(o.Parts.Comm), batch: batch, dim: dim, size: o.Parts.Size}
	parts := batch / l.size
	first, end := comm.Share(parts, l.comm.Rank(), l.comm.Size())
	l.first, l.end = first*l.size, end*l.size
	n := l.end - l.first
	labels := h.matrix.RowLabels
	l.own = Matrix{
		Rows: n, Cols: batch, V: make([]float64, n*batch), RowLabels: labels[l.first:l.end], ColLabels: labels,
		Similarity: h.matrix.Similarity, RowIDs: make([]int, n), ColIDs: make([]int, batch), others: &others{comm: l.comm},
	}
	for j := range l.own.ColIDs {
		l.own.ColIDs[j] = j
	}
	copy(l.own.RowIDs, l.own.ColIDs[l.first:])
	l.grad = make([]float64, n*batch)
	l.rows, l.sum = make([]float32, batch*dim), make([]float32, batch*dim)
	l.part, l.ownRows = make([]float32, l.size*batch), make([]float32, n*dim)
	return l
}

// allocate makes the tensors.
func (l *rowLoss) allocate() (err error) {
	tensor := func(shape ...int) (t engine.Tensor) {
		if err == nil {
			t, err = l.eng.New(shape...)
		}
		return t
	}
	parts := (l.end - l.first) / l.size
	for range parts {
		l.anchors, l.values = append(l.anchors, tensor(l.size, l.dim)), append(l.values, tensor(l.size, l.batch))
	}
	for range comm.Depth(parts) {
		l.columns = append(l.columns, tensor(l.batch, l.dim))
	}
	l.dValues, l.dRows = tensor(l.size, l.batch), tensor(l.size, l.dim)
	return err
}

// run computes the loss of embeddings x (B, h), and unless dx is nil its gradient.
func (l *rowLoss) run(loss, dx, x engine.Tensor) error {
	if l.anchors == nil {
		if err := l.allocate(); err != nil {
			return fmt.Errorf("losses: %s by rows: %w", l.name, err)
		}
	}
	if err := l.compare(x); err != nil {
		return err
	}
	value, err := l.evaluate()
	if err != nil {
		return err
	}
	if dx != nil {
		if err := l.back(dx, x); err != nil {
			return err
		}
	}
	return l.eng.Write(loss, []float32{float32(value)})
}

// compare fills the matrix of own rows with the batch.
func (l *rowLoss) compare(x engine.Tensor) error {
	if err := l.eng.Read(l.rows, x); err != nil {
		return err
	}
	for k, anchors := range l.anchors {
		from := (l.first + k*l.size) * l.dim
		if err := l.eng.Write(anchors, l.rows[from:from+l.size*l.dim]); err != nil {
			return err
		}
		if err := l.eng.Pairwise(l.values[k], anchors, x, l.metric); err != nil {
			return err
		}
		if err := l.eng.Read(l.part, l.values[k]); err != nil {
			return err
		}
		to := l.own.V[k*len(l.part):]
		for i, v := range l.part {
			to[i] = float64(v)
		}
	}
	return nil
}

// evaluate lets the loss see the own rows, unless some rank's are not finite: the graph then
// looks for the node that made them.
func (l *rowLoss) evaluate() (value float64, err error) {
	if bad, err := comm.Any(l.comm, !finite(l.own.V)); err != nil || bad {
		clear(l.grad)
		return math.NaN(), err
	}
	if *l.result, err = l.loss.Eval(&l.own, l.grad); err == nil {
		err = l.own.others.err
	}
	scale(l.grad, l.weight)
	return l.weight * l.result.Value, err
}

// back computes the gradient of x: that of the rows of every part, and the sum over all parts
// of that of the columns.
func (l *rowLoss) back(dx, x engine.Tensor) error {
	top, parts := 0, len(l.anchors)
	for k := range parts {
		for i, g := range l.grad[k*len(l.part):][:len(l.part)] {
			l.part[i] = float32(g)
		}
		if err := l.eng.Write(l.dValues, l.part); err != nil {
			return err
		}
		if err := l.eng.PairwiseGrad(l.dRows, l.columns[top], l.dValues, l.values[k], l.anchors[k], x, l.metric); err != nil {
			return err
		}
		if err := l.eng.Read(l.ownRows[k*l.size*l.dim:][:l.size*l.dim], l.dRows); err != nil {
			return err
		}
		merges := comm.Merges(k, parts)
		for i := range merges {
			below := l.columns[top-i-1]
			if err := l.eng.Add(below, below, l.columns[top-i]); err != nil {
				return err
			}
		}
		top += 1 - merges
	}
	if err := l.eng.Read(l.sum, l.columns[0]); err != nil {
		return err
	}
	if err := l.comm.Sum(l.sum); err != nil {
		return err
	}
	if err := l.comm.GatherRows(l.rows, l.ownRows); err != nil {
		return err
	}
	for i, v := range l.rows {
		l.sum[i] += v
	}
	return l.eng.Write(dx, l.sum)
}

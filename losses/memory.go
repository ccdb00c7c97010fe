package losses

import (
	"fmt"

	"github.com/vernier-ml/vernier/layers"
)

// MemoryOptions ask for a cross-batch memory (Wang et al. 2020, Cross-batch
// memory for embedding learning): embeddings of the latest batches, with which
// a batch is compared besides itself. They take no gradient. With OpOptions.Keys it is the
// queue of momentum contrast (He et al. 2020), which keeps those.
type MemoryOptions struct {
	Size int // embeddings that are kept beside those of the batch; 0 for none
	// Start is the number of steps after which the first batch is kept: at first
	// embeddings move too fast to be worth it.
	Start int
}

// memory is a queue of embeddings. All of its state lies in parameters of the
// graph, so that a checkpoint holds it.
type memory struct {
	opt                        MemoryOptions
	batch, dim                 int
	e                          *layers.Node // (B, h), what is kept of a batch
	rows, labels, items, state *layers.Node // (M, h), (M), (M), (3)
	pairs                      *layers.Node // (B, M)

	rowIDs []int
	full   Matrix // batch and memory side by side
	grad   []float64
}

// state of the queue, by index.
const (
	filled = iota // slots in use
	next          // the slot to be written next
	steps         // taken
	states
)

// maxItem is the largest number of an item that float32 holds exactly.
const maxItem = 1 << 24

// MaxMemory is the largest size of a memory, whose slots are counted as float32.
const MaxMemory = maxItem

// newMemory adds a memory of kept (B, h), which embeddings e (B, h) are compared with.
func newMemory(g *layers.Graph, e, kept *layers.Node, o OpOptions) (*memory, error) {
	shape := e.Shape()
	q := &memory{opt: o.Memory, batch: shape[0], dim: shape[1], e: kept, rowIDs: make([]int, shape[0])}
	if q.opt.Size < q.batch {
		return nil, fmt.Errorf("losses: a memory of %d embeddings is smaller than the batch of %d", q.opt.Size, q.batch)
	}
	if q.opt.Size > MaxMemory {
		return nil, fmt.Errorf("losses: a memory of %d embeddings, at most %d are kept", q.opt.Size, MaxMemory)
	}
	buffer := func(name string, shape ...int) *layers.Node {
		return g.Param(ParamPrefix+"memory."+name, layers.Buffer, layers.Constant(0), shape...)
	}
	q.rows = buffer("rows", q.opt.Size, q.dim)
	q.labels = buffer("labels", q.opt.Size)
	q.items = buffer("items", q.opt.Size)
	q.state = buffer("state", states)
	g.Keep(kept)
	q.pairs = g.Pairwise("memory "+o.Metric.String(), e, q.rows, o.Metric)
	return q, g.Err()
}

// nodes are the inputs that join reads after the matrix of the batch.
func (q *memory) nodes() []*layers.Node {
	return []*layers.Node{q.pairs, q.labels, q.items, q.state}
}

// join puts the columns in use beside those of the batch. Columns that hold an
// item of the batch at an earlier time are marked by its id.
func (q *memory) join(m *Matrix, values [][]float64) (*Matrix, []float64) {
	use := int(values[4][filled])
	cols := m.Cols + use
	f := &q.full
	f.Rows, f.Cols, f.Similarity, f.SelfColumns, f.RowLabels, f.RowIDs = m.Rows, cols, m.Similarity, true, m.RowLabels, q.rowIDs
	f.V = grow(f.V, m.Rows*cols)
	f.ColLabels, f.ColIDs = append(f.ColLabels[:0], m.ColLabels...), f.ColIDs[:0]
	for range m.Cols {
		f.ColIDs = append(f.ColIDs, -1) // the batch goes by index
	}
	for k := range use {
		f.ColLabels = append(f.ColLabels, int(values[2][k]))
		f.ColIDs = append(f.ColIDs, int(values[3][k]))
	}
	for i := range m.Rows {
		row := f.row(f.V, i)
		copy(row, m.row(m.V, i))
		copy(row[m.Cols:], values[1][i*q.opt.Size:][:use])
	}
	q.grad = grow(q.grad, len(f.V))
	return f, q.grad
}

// split hands the gradient of the joined matrix to its two parts.
func (q *memory) split(grad []float64, grads [][]float64) {
	use := q.full.Cols - q.batch
	for i := range q.batch {
		row := q.full.row(grad, i)
		copy(grads[0][i*q.batch:], row[:q.batch])
		to := grads[1][i*q.opt.Size:][:q.opt.Size]
		clear(to[copy(to, row[q.batch:][:use]):])
	}
}

// SetItems says which items of the training set the batch holds, before a Run, to losses
// that are Itemized. With a memory, an item is not compared with itself of an earlier batch.
func (n *Node) SetItems(items []int) error {
	for _, l := range n.itemized {
		if err := l.SetItems(items); err != nil {
			return err
		}
	}
	if n.memory == nil {
		return nil
	}
	if len(items) != n.memory.batch {
		return fmt.Errorf("losses: %d items for a batch of %d", len(items), n.memory.batch)
	}
	for _, item := range items {
		if item < 0 || item > maxItem {
			return fmt.Errorf("losses: item %d: a memory counts items from 0 to %d", item, maxItem)
		}
	}
	copy(n.memory.rowIDs, items)
	return nil
}

// Remember ends a step: the batch of the latest Run enters the memory and the
// oldest embeddings leave it. Without a memory it does nothing.
func (n *Node) Remember() error {
	if n.memory == nil {
		return nil
	}
	q, eng := n.memory, n.g.Engine()
	read := func(node *layers.Node) (host []float32, err error) {
		host = make([]float32, node.Shape().TotalSize())
		return host, eng.Read(host, n.g.Value(node))
	}
	var host [5][]float32
	nodes := [5]*layers.Node{q.state, q.e, q.rows, q.labels, q.items}
	for i, node := range nodes {
		var err error
		if host[i], err = read(node); err != nil {
			return fmt.Errorf("losses: memory: %w", err)
		}
		if i == 0 {
			if host[0][steps]++; int(host[0][steps]) <= q.opt.Start {
				return eng.Write(n.g.Value(q.state), host[0])
			}
		}
	}
	state, e, rows, labels, items := host[0], host[1], host[2], host[3], host[4]
	for i := range q.batch {
		slot := int(state[next])
		copy(rows[slot*q.dim:][:q.dim], e[i*q.dim:])
		labels[slot], items[slot] = float32(n.pairs.RowLabels[i]), float32(q.rowIDs[i])
		state[next] = float32((slot + 1) % q.opt.Size)
		state[filled] = min(state[filled]+1, float32(q.opt.Size))
	}
	for i, node := range nodes {
		if node == q.e {
			continue
		}
		if err := eng.Write(n.g.Value(node), host[i]); err != nil {
			return fmt.Errorf("losses: memory: %w", err)
		}
	}
	return nil
}

// Bytes is what a memory takes beside the parameters and values of the graph, for
// batches of the given size and embeddings of dim numbers: rows that travel to the
// host, and the matrix of batch and memory with its gradient, whole and in parts.
func (o MemoryOptions) Bytes(batch, dim int) int64 {
	if o.Size == 0 {
		return 0
	}
	b, m := int64(batch), int64(o.Size)
	return 4*m*(int64(dim)+2) + 32*b*(b+m)
}

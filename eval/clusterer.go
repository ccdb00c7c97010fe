package eval

import (
	"context"
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/layers"
)

// clusterer holds the rows on the engine, so that restarts share them.
type clusterer struct {
	eng           Engine
	order         order
	x             []float32 // (n, h)
	n, h, k       int
	workers       int
	maxIterations int
	// zero is a key that float32 may give for a distance of 0.
	zero float32

	blocks  []layers.Tensor // rows on the engine, blockRows each
	size    int             // rows of a block
	dist    map[[2]int]layers.Tensor
	host    []float32
	nearest []int32
	key     []float32
}

func newClusterer(eng Engine, e *Embeddings, m layers.Metric, opt KMeansOptions) (*clusterer, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	if err := opt.check(e.N); err != nil {
		return nil, err
	}
	o, err := clusterOrder(m)
	if err != nil {
		return nil, err
	}
	c := &clusterer{eng: eng, order: o, x: e.X, n: e.N, h: e.H, k: opt.K, maxIterations: opt.MaxIterations}
	if m.Kind == layers.Cosine {
		c.x = unitRows(e.X, e.H)
	}
	if c.maxIterations == 0 {
		c.maxIterations = defaultIterations
	}
	search := SearchOptions{Memory: opt.Memory, Workers: opt.Workers}
	c.workers = search.workers()
	c.size = search.blockRows(c.n, max(opt.K, candidates))
	largest := 0.0
	for i := range c.n {
		largest = max(largest, norm(c.row(i)))
	}
	c.zero = roundUp(o.keyError(largest, largest, c.h))
	c.nearest, c.key = make([]int32, c.n), make([]float32, c.n)
	c.dist = map[[2]int]layers.Tensor{}
	return c, c.upload()
}

// clusterOrder is the order by which rows choose their centre.
func clusterOrder(m layers.Metric) (order, error) {
	if m.Kind != layers.BRM {
		m = layers.Metric{Kind: layers.SquaredEuclidean}
	}
	return newOrder(m)
}

func (c *clusterer) row(i int) []float32 { return c.x[i*c.h : (i+1)*c.h] }

func (c *clusterer) upload() error {
	for from := 0; from < c.n; from += c.size {
		to := min(from+c.size, c.n)
		t, err := c.tensor(c.x[from*c.h : to*c.h])
		if err != nil {
			return fmt.Errorf("eval: rows %d to %d to be clustered: %w", from, to-1, err)
		}
		c.blocks = append(c.blocks, t)
	}
	return nil
}

// tensor puts rows on the engine.
func (c *clusterer) tensor(rows []float32) (layers.Tensor, error) {
	t, err := c.eng.New(len(rows)/c.h, c.h)
	if err != nil {
		return nil, err
	}
	return t, c.eng.Write(t, rows)
}

// pairs reads the keys of a (rows, h) and b (cols, h) into the host buffer. The
// tensors of distances are kept by shape: there are few.
func (c *clusterer) pairs(a, b layers.Tensor, rows, cols int) ([]float32, error) {
	shape := [2]int{rows, cols}
	if c.dist[shape] == nil {
		d, err := c.eng.New(rows, cols)
		if err != nil {
			return nil, err
		}
		c.dist[shape] = d
	}
	if err := c.eng.Pairwise(c.dist[shape], a, b, c.order.kernel); err != nil {
		return nil, err
	}
	if cap(c.host) < rows*cols {
		c.host = make([]float32, rows*cols)
	}
	host := c.host[:rows*cols]
	return host, c.eng.Read(host, c.dist[shape])
}

// compare calls visit for every row with its keys to the given points, from
// several goroutines at once.
func (c *clusterer) compare(ctx context.Context, points []float32, visit func(row int, keys []float32)) error {
	cols := len(points) / c.h
	b, err := c.tensor(points)
	if err != nil {
		return fmt.Errorf("eval: %d cluster centres: %w", cols, err)
	}
	for at, block := range c.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		from := at * c.size
		rows := min(c.size, c.n-from)
		keys, err := c.pairs(block, b, rows, cols)
		if err != nil {
			return fmt.Errorf("eval: distances of rows %d to %d to %d centres: %w", from, from+rows-1, cols, err)
		}
		_ = parallel(c.workers, rows, func(_, i int) error {
			visit(from+i, keys[i*cols:(i+1)*cols])
			return nil
		})
	}
	return nil
}

// centreKey is exactKey to a centre in float64, for the orders of clusterOrder.
func (o order) centreKey(x []float32, centre []float64) float64 {
	sum := 0.0
	for i, v := range x {
		d := math.Abs(float64(v) - centre[i])
		if o.metric.Kind == layers.BRM {
			d = o.metric.Restriction.Value(d, o.metric.Omega)
			if o.metric.P == 1 {
				sum += d
				continue
			}
		}
		sum += d * d
	}
	if o.metric.Kind == layers.BRM {
		sum /= float64(len(x))
	}
	return sum
}

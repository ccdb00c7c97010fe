package eval

import (
	"context"
	"fmt"
	"math"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// clusterer holds the rows on the engine, so that restarts share them.
type clusterer struct {
	eng           Engine
	view          rowEngine          // eng, or nil if it is none
	device        engine.RowSearcher // eng, or nil if it is none
	layout        layout
	rows          *Embeddings // of unit length for cosine
	k             int
	workers       int
	maxIterations int
	center        CenterRule
	// zero is a key that float32 may give for a distance of 0.
	zero float64

	size   int             // rows of a block
	blocks []engine.Tensor // all rows on the engine
	shift  []float64       // what the engine's keys of a row lack
	dist   map[[2]int]engine.Tensor
	held   int // numbers in dist
	most   int // that are held: two blocks, as the last of all rows has a shape of its own
	host   []float32
	// State of the current run: the nearest center of every row and its key.
	nearest []int32
	key     []float64
}

func newClusterer(eng Engine, e *Embeddings, m metric.Metric, opt KMeansOptions) (*clusterer, error) {
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
	c := &clusterer{eng: eng, rows: e, k: opt.K, maxIterations: opt.MaxIterations, center: opt.Center, dist: map[[2]int]engine.Tensor{}}
	if m.Kind == metric.Cosine {
		c.rows = &Embeddings{X: unitRows(e.X, e.H), N: e.N, H: e.H}
	}
	if c.maxIterations == 0 {
		c.maxIterations = defaultIterations
	}
	search := SearchOptions{Memory: opt.Memory, Workers: opt.Workers}
	c.workers = search.workers()
	c.layout = newLayout(o, c.workers, c.rows, nil)
	copies := 2
	if host, ok := eng.(rowEngine); ok {
		c.view, copies = host, 1
	} else if device, ok := eng.(engine.RowSearcher); ok {
		c.device, copies = device, 1
	}
	c.size = search.blockRows(e.N, max(opt.K, candidates), 2*copies) // see most
	c.most = 2 * c.size * max(opt.K, candidates)
	largest := 0.0
	for _, r := range c.layout.reach(c.workers, c.rows) {
		largest = max(largest, r)
		c.shift = append(c.shift, c.layout.shift(r))
	}
	c.zero = c.layout.keyError(largest, largest, e.H)
	if math.IsInf(c.zero, 1) {
		return nil, fmt.Errorf("eval: embeddings with norms of %.3g are too large to be clustered in float32: scale them down", largest)
	}
	c.nearest, c.key = make([]int32, e.N), make([]float64, e.N)
	return c, c.upload()
}

// clusterOrder is the order by which rows choose their center.
func clusterOrder(m metric.Metric) (order, error) {
	if m.Kind != metric.BRM {
		m = metric.Metric{Kind: metric.SquaredEuclidean}
	}
	return newOrder(m)
}

func (c *clusterer) upload() error {
	for from := 0; from < c.rows.N; from += c.size {
		to := min(from+c.size, c.rows.N)
		t, err := c.tensor(c.layout.left(c.rows.X[from*c.rows.H : to*c.rows.H]))
		if err != nil {
			return fmt.Errorf("eval: rows %d to %d to be clustered: %w", from, to-1, err)
		}
		c.blocks = append(c.blocks, t)
	}
	return nil
}

// tensor puts laid out rows on the engine.
func (c *clusterer) tensor(rows []float32) (engine.Tensor, error) {
	t, err := c.eng.New(len(rows)/c.layout.width(), c.layout.width())
	if err != nil {
		return nil, err
	}
	return t, c.eng.Write(t, rows)
}

// distances returns the keys of left rows a and right rows b, until the next call.
// Their tensors are kept while there is room: shapes come again.
func (c *clusterer) distances(a, b engine.Tensor, rows, cols int) (engine.Tensor, error) {
	shape := [2]int{rows, cols}
	if c.dist[shape] == nil {
		if c.held+rows*cols > c.most {
			clear(c.dist)
			c.held = 0
		}
		d, err := c.eng.New(rows, cols)
		if err != nil {
			return nil, err
		}
		c.dist[shape] = d
		c.held += rows * cols
	}
	return c.dist[shape], c.eng.Pairwise(c.dist[shape], a, b, c.layout.kernel)
}

// pairs is distances on the host.
func (c *clusterer) pairs(a, b engine.Tensor, rows, cols int) ([]float32, error) {
	d, err := c.distances(a, b, rows, cols)
	if err != nil {
		return nil, err
	}
	if c.view != nil {
		return c.view.View(d)
	}
	if cap(c.host) < rows*cols {
		c.host = make([]float32, rows*cols)
	}
	host := c.host[:rows*cols]
	return host, c.eng.Read(host, d)
}

// least returns a function that gives the smallest key of a row, and the first of
// the right rows that has it.
func (c *clusterer) least(a, b engine.Tensor, rows, cols int) (of func(i int) (at int32, key float32), err error) {
	if c.device != nil {
		d, err := c.distances(a, b, rows, cols)
		if err != nil {
			return nil, err
		}
		at, keys, err := c.device.Least(d)
		return func(i int) (int32, float32) { return at[i], keys[i] }, err
	}
	keys, err := c.pairs(a, b, rows, cols)
	return func(i int) (at int32, key float32) {
		row := keys[i*cols : (i+1)*cols]
		for j, k := range row {
			if k < row[at] {
				at = int32(j)
			}
		}
		return at, row[at]
	}, err
}

// compare calls visit for rows, all if nil, with the first of the given points that
// is nearest and the engine's key to it, from several goroutines at once.
func (c *clusterer) compare(ctx context.Context, rows []int, points []float32, visit func(row int, at int32, key float32)) error {
	n := c.rows.N
	if rows != nil {
		n = len(rows)
	}
	cols := len(points) / c.rows.H
	b, err := c.tensor(c.layout.right(points))
	if err != nil {
		return fmt.Errorf("eval: %d cluster centers: %w", cols, err)
	}
	for from := 0; from < n; from += c.size {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(c.size, n-from)
		block, err := c.block(rows, from, count)
		if err != nil {
			return fmt.Errorf("eval: %d rows to be clustered: %w", count, err)
		}
		least, err := c.least(block, b, count, cols)
		if err != nil {
			return fmt.Errorf("eval: distances of %d rows to %d centers: %w", count, cols, err)
		}
		_ = parallel(c.workers, count, func(_, i int) error {
			row := from + i
			if rows != nil {
				row = rows[row]
			}
			at, key := least(i)
			visit(row, at, key)
			return nil
		})
	}
	return nil
}

// block is a block of all rows, or of the given ones.
func (c *clusterer) block(rows []int, from, count int) (engine.Tensor, error) {
	if rows == nil {
		return c.blocks[from/c.size], nil
	}
	return c.tensor(c.layout.left(c.rows.gather(rows[from : from+count])))
}

// centerKey is exactKey to a center in float64, for the orders of clusterOrder.
func (o order) centerKey(x []float32, center []float64) float64 {
	sum := 0.0
	for i, v := range x {
		d := math.Abs(float64(v) - center[i])
		if o.metric.Kind == metric.BRM {
			d = o.metric.Restriction.Value(d, o.metric.Omega)
			if o.metric.P == 1 {
				sum += d
				continue
			}
		}
		sum += d * d
	}
	if o.metric.Kind == metric.BRM {
		sum /= float64(len(x))
	}
	return sum
}

// assign sends every row to its nearest center, the lower one in a tie. Of
// Lloyd's iterations most move few rows, and a center whose rows are the same
// is where it was. So, unless all is set, only changed centers are compared
// with all rows, and all centers with the rows of changed ones; the result is
// that of comparing everything.
func (c *clusterer) assign(ctx context.Context, centers []float64, changed []bool, all bool) error {
	stale, cols := c.stale(changed)
	k := len(changed)
	if n := c.rows.N; all || n*len(cols)+len(stale)*k >= n*k {
		return c.compare(ctx, nil, float32s(centers), func(row int, at int32, key float32) {
			c.nearest[row], c.key[row] = at, c.distance(row, key)
		})
	}
	if len(cols) == 0 {
		return nil
	}
	h := c.rows.H
	points := make([]float64, 0, len(cols)*h)
	for _, j := range cols {
		points = append(points, centers[j*h:(j+1)*h]...)
	}
	err := c.compare(ctx, nil, float32s(points), func(row int, at int32, key32 float32) {
		if changed[c.nearest[row]] {
			return // compared with every center below
		}
		to, key := int32(cols[at]), c.distance(row, key32)
		if key < c.key[row] || key == c.key[row] && to < c.nearest[row] {
			c.nearest[row], c.key[row] = to, key
		}
	})
	if err != nil {
		return err
	}
	return c.compare(ctx, stale, float32s(centers), func(row int, at int32, key float32) {
		c.nearest[row], c.key[row] = at, c.distance(row, key)
	})
}

// stale lists the rows whose center has moved, and the changed clusters.
func (c *clusterer) stale(changed []bool) (rows, cols []int) {
	rows = []int{}
	for i, a := range c.nearest {
		if int(a) < len(changed) && changed[a] {
			rows = append(rows, i)
		}
	}
	for j, moved := range changed {
		if moved {
			cols = append(cols, j)
		}
	}
	return rows, cols
}

// distance is the key of a row with what the engine's lacks.
func (c *clusterer) distance(row int, key float32) float64 {
	return math.Max(0, float64(key)+c.shift[row])
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

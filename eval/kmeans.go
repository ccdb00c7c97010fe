package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/vernier-ml/vernier/comm"
	"github.com/vernier-ml/vernier/metric"
)

// KMeansOptions say how KMeans runs.
type KMeansOptions struct {
	// K is the number of clusters; Cluster takes the number of distinct labels
	// if it is 0.
	K int
	// Restarts is how many runs Cluster averages; 0 means 20 (BRM section 5.3).
	Restarts int
	Seed     uint64
	Center   CenterRule
	// MaxIterations bounds Lloyd's; 0 means 100.
	MaxIterations int
	// Memory bounds the bytes of a block of distances; 0 means 256 MiB.
	Memory int64
	// Workers is as in SearchOptions; it changes no result.
	Workers int
	// Comm is as in SearchOptions: in Cluster its ranks take a share of the restarts each.
	Comm comm.Comm
	// Progress, if set, is called by Cluster with the number of restarts done.
	Progress func(done, total int)
}

const (
	defaultRestarts   = 20
	defaultIterations = 100
	// patience is how many iterations may pass without a smaller inertia. Only
	// a metric whose center is not the mean (BRM) can need it.
	patience = 10
)

// Clustering is the result of one run.
type Clustering struct {
	K          int
	Assignment []int     // cluster 0..K-1 of each row
	Centers    []float64 // (K, H)
	// Inertia is the sum over rows of the squared Euclidean distance to their
	// center; for BRM of D^p.
	Inertia    float64
	Iterations int
	// Converged says that the last iteration moved no row.
	Converged bool
}

// KMeans clusters the rows by k-means++ and Lloyd's algorithm in the embedding
// space: rows go to the center that is nearest by the model's own metric, and a
// center is the mean of its rows.
//
// Euclidean and dot product cluster raw rows by Euclidean distance. Cosine
// clusters rows of unit length by Euclidean distance, whose square is twice
// their cosine distance; published figures do the same. BRM assigns by BRM; its
// mean is not the minimizer of the inertia, so the run also ends when inertia
// has not fallen for some iterations, with the best state seen. That happens
// where most differences are saturated; CenterOfMetric avoids it.
//
// A cluster that becomes empty takes the row that is farthest from its center.
// If the rows have fewer than k distinct places, K of the result is smaller.
func KMeans(ctx context.Context, eng Engine, e *Embeddings, m metric.Metric, opt KMeansOptions) (*Clustering, error) {
	eng, done, err := OrCPU(eng)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := newClusterer(eng, e, m, opt)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, rand.New(rand.NewPCG(opt.Seed, 0)))
}

// lloyd runs from given centers (K, H).
func lloyd(ctx context.Context, eng Engine, e *Embeddings, m metric.Metric, centers []float64) (*Clustering, error) {
	c, err := newClusterer(eng, e, m, KMeansOptions{K: len(centers) / e.H})
	if err != nil {
		return nil, err
	}
	return c.lloyd(ctx, centers)
}

func (c *clusterer) run(ctx context.Context, rng *rand.Rand) (*Clustering, error) {
	centers, err := c.plusPlus(ctx, rng)
	if err != nil {
		return nil, err
	}
	return c.lloyd(ctx, centers)
}

func (c *clusterer) lloyd(ctx context.Context, centers []float64) (*Clustering, error) {
	k := len(centers) / c.rows.H
	r := &Clustering{K: k, Centers: centers, Assignment: make([]int, c.rows.N)}
	previous := make([]int32, c.rows.N)
	clear(c.nearest)
	var best snapshot
	changed := make([]bool, k) // clusters with other rows than one iteration ago
	for r.Iterations < c.maxIterations && r.Iterations-best.iteration <= patience {
		copy(previous, c.nearest)
		if err := c.assign(ctx, centers, changed, r.Iterations < 2); err != nil {
			return nil, err
		}
		if r.Iterations > 0 && slices.Equal(previous, c.nearest) {
			r.Converged = true
			break
		}
		inertia := 0.0
		for _, key := range c.key {
			inertia += key
		}
		r.Iterations++
		c.fillEmpty(k)
		clear(changed)
		for i, a := range c.nearest {
			if a != previous[i] {
				changed[a], changed[previous[i]] = true, true
			}
		}
		c.means(centers)
		if r.Iterations == 1 || inertia < best.inertia {
			best.take(r.Iterations, inertia, c.nearest, centers)
		}
	}
	if !r.Converged {
		copy(c.nearest, best.nearest)
		copy(centers, best.centers)
	}
	for i, a := range c.nearest {
		r.Assignment[i] = int(a)
	}
	r.Inertia = c.inertia(centers)
	return r, nil
}

// snapshot is the state of the iteration with the smallest inertia.
type snapshot struct {
	iteration int
	inertia   float64
	nearest   []int32
	centers   []float64
}

func (s *snapshot) take(iteration int, inertia float64, nearest []int32, centers []float64) {
	s.iteration, s.inertia = iteration, inertia
	s.nearest = append(s.nearest[:0], nearest...)
	s.centers = append(s.centers[:0], centers...)
}

// fillEmpty gives every empty cluster the row farthest from its center, the
// lower one in a tie, that is not alone in its cluster. Where even the farthest
// lies on its center the cluster stays empty.
func (c *clusterer) fillEmpty(k int) {
	size := make([]int, k)
	for _, a := range c.nearest {
		size[a]++
	}
	for empty, n := range size {
		if n > 0 {
			continue
		}
		far := -1
		for i, a := range c.nearest {
			if size[a] > 1 && c.key[i] > c.zero && (far < 0 || c.key[i] > c.key[far]) {
				far = i
			}
		}
		if far < 0 {
			return
		}
		size[c.nearest[far]]--
		size[empty] = 1
		c.nearest[far], c.key[far] = int32(empty), 0
	}
}

// means sets each center to the mean of its rows, or what CenterRule says. A worker owns whole
// clusters and adds rows in ascending order, so that the number of workers
// changes no bit.
func (c *clusterer) means(centers []float64) {
	class := make([]int, c.rows.N)
	for i, a := range c.nearest {
		class[i] = int(a)
	}
	h := c.rows.H
	rows := members(class, len(centers)/h)
	_ = parallel(c.workers, len(rows), func(_, k int) error {
		if len(rows[k]) == 0 {
			return nil
		}
		center := centers[k*h : (k+1)*h]
		before := slices.Clone(center)
		clear(center)
		for _, i := range rows[k] {
			for j, v := range c.rows.Row(int(i)) {
				center[j] += float64(v)
			}
		}
		for j := range center {
			center[j] /= float64(len(rows[k]))
		}
		if c.center == CenterOfMetric && c.layout.kernel.Kind == metric.BRM {
			c.relax(center, before, rows[k])
		}
		return nil
	})
}

// inertia is evaluated in float64.
func (c *clusterer) inertia(centers []float64) float64 {
	each := make([]float64, c.rows.N)
	h := c.rows.H
	_ = parallel(c.workers, c.rows.N, func(_, i int) error {
		each[i] = c.layout.centerKey(c.rows.Row(i), centers[int(c.nearest[i])*h:][:h])
		return nil
	})
	sum := 0.0
	for _, v := range each {
		sum += v
	}
	return sum
}

func (opt KMeansOptions) check(rows int) error {
	switch {
	case opt.K < 1 || opt.K > rows:
		return fmt.Errorf("eval: %d clusters of %d rows: want 1 to %d", opt.K, rows, rows)
	case opt.Center > CenterOfMetric:
		return fmt.Errorf("eval: center rule %d is unknown, the last is %d", opt.Center, CenterOfMetric)
	case opt.Restarts < 0 || opt.MaxIterations < 0:
		return fmt.Errorf("eval: %d restarts of %d iterations: neither may be negative", opt.Restarts, opt.MaxIterations)
	}
	return nil
}

// candidates is how many rows k-means++ draws at once at most.
const candidates = 64

// plusPlus chooses starting centers by k-means++ (Arthur and Vassilvitskii
// 2007): each next one is a row drawn with probability proportional to the
// square of its distance to the nearest center so far.
//
// Taken literally that is one pass over all rows for each center. Here a batch
// of candidates is drawn at once and each is accepted with the probability by
// which its weight has shrunk since the draw; weights only shrink, so an
// accepted one is distributed exactly as if it had been drawn then (rejection
// sampling). A batch then costs one matrix of distances.
func (c *clusterer) plusPlus(ctx context.Context, rng *rand.Rand) ([]float64, error) {
	batch := max(1, min(candidates, c.k/8))
	weight := make([]float64, c.rows.N)
	chosen := []int{rng.IntN(c.rows.N)}
	if err := c.lighten(ctx, weight, chosen, batch, true); err != nil {
		return nil, err
	}
	upTo := make([]float64, c.rows.N) // running sum of weights
	for len(chosen) < c.k {
		sum := 0.0
		for i, w := range weight {
			sum += w
			upTo[i] = sum
		}
		if sum == 0 {
			break // every row lies on a center
		}
		draws := make([]int, batch)
		for i := range draws {
			u := rng.Float64() * sum
			draws[i] = min(sort.Search(c.rows.N, func(j int) bool { return upTo[j] > u }), c.rows.N-1)
		}
		accepted, err := c.accept(rng, weight, draws, c.k-len(chosen))
		if err != nil {
			return nil, err
		}
		if len(accepted) == 0 {
			continue // only rounding can draw rows of weight 0 alone
		}
		chosen = append(chosen, accepted...)
		if err := c.lighten(ctx, weight, accepted, batch, false); err != nil {
			return nil, err
		}
	}
	centers := make([]float64, 0, len(chosen)*c.rows.H)
	for _, i := range chosen {
		for _, v := range c.rows.Row(i) {
			centers = append(centers, float64(v))
		}
	}
	return centers, nil
}

// accept returns the draws that pass, at most most.
func (c *clusterer) accept(rng *rand.Rand, weight []float64, draws []int, most int) (accepted []int, err error) {
	if len(draws) == 1 {
		return draws, nil
	}
	points := c.rows.gather(draws)
	left, err := c.tensor(c.layout.left(points))
	if err != nil {
		return nil, err
	}
	right, err := c.tensor(c.layout.right(points))
	if err != nil {
		return nil, err
	}
	keys, err := c.pairs(left, right, len(draws), len(draws))
	if err != nil {
		return nil, err
	}
	var taken []int // positions in draws
	for i, row := range draws {
		now := weight[row]
		for _, j := range taken {
			now = min(now, c.weight(row, keys[i*len(draws)+j]))
		}
		if rng.Float64()*weight[row] < now && len(taken) < most {
			taken = append(taken, i)
			accepted = append(accepted, row)
		}
	}
	return accepted, nil
}

// lighten lowers every weight to what the new centers leave, or sets it if
// first. Batches are padded to one size by repetition.
func (c *clusterer) lighten(ctx context.Context, weight []float64, chosen []int, batch int, first bool) error {
	padded := slices.Clone(chosen)
	for len(padded) < batch {
		padded = append(padded, chosen[0])
	}
	return c.compare(ctx, nil, c.rows.gather(padded), func(row int, _ int32, key float32) {
		w := c.weight(row, key)
		if first || w < weight[row] {
			weight[row] = w
		}
	})
}

// weight is the squared distance that a row's key stands for, 0 within its
// error: a copy of a center is never chosen.
func (c *clusterer) weight(row int, key float32) float64 {
	w := float64(key) + c.shift[row]
	if !(w > c.zero) {
		return 0
	}
	if c.layout.kernel.Kind == metric.BRM && c.layout.kernel.P == 1 { // the key is D
		w *= w
	}
	return w
}

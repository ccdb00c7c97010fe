package eval

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/layers"
)

// KMeansOptions say how KMeans runs.
type KMeansOptions struct {
	// K is the number of clusters; Cluster takes the number of distinct labels
	// if it is 0.
	K int
	// Restarts is how many runs Cluster averages; 0 means 20 (BRM section 5.3).
	Restarts int
	Seed     uint64
	// MaxIterations bounds Lloyd's; 0 means 100.
	MaxIterations int
	// Memory bounds the bytes of a block of distances; 0 means 256 MiB.
	Memory int64
	// Workers is as in SearchOptions; it changes no result.
	Workers int
	// Progress, if set, is told by Cluster how many restarts are done.
	Progress func(done, total int)
}

const (
	defaultRestarts   = 20
	defaultIterations = 100
	// patience is how many iterations may pass without a smaller inertia. Only
	// a metric whose centre is not the mean (BRM) can need it.
	patience = 10
)

// Clustering is the result of one run.
type Clustering struct {
	K          int
	Assignment []int     // cluster 0..K-1 of each row
	Centres    []float64 // (K, H)
	// Inertia is the sum over rows of the squared Euclidean distance to their
	// centre; for BRM of D^p.
	Inertia    float64
	Iterations int
	// Converged says that the last iteration moved no row.
	Converged bool
}

// KMeans clusters the rows by k-means++ and Lloyd's algorithm in the embedding
// space: rows go to the centre that is nearest by the model's own metric, and a
// centre is the mean of its rows.
//
// Euclidean and dot product cluster raw rows by Euclidean distance. Cosine
// clusters rows of unit length by Euclidean distance, whose square is twice
// their cosine distance; published figures do the same. BRM assigns by BRM; its
// mean is not the minimiser of the inertia, so the run also ends when inertia
// has not fallen for some iterations, with the best state seen. That happens
// where most differences are saturated.
//
// A cluster that becomes empty takes the row that is farthest from its centre.
// If the rows have fewer than k distinct places, K of the result is smaller.
func KMeans(ctx context.Context, eng Engine, e *Embeddings, m layers.Metric, opt KMeansOptions) (*Clustering, error) {
	c, err := newClusterer(eng, e, m, opt)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, rand.New(rand.NewPCG(opt.Seed, 0)))
}

// lloyd runs from given centres (K, H).
func lloyd(ctx context.Context, eng Engine, e *Embeddings, m layers.Metric, centres []float64) (*Clustering, error) {
	c, err := newClusterer(eng, e, m, KMeansOptions{K: len(centres) / e.H})
	if err != nil {
		return nil, err
	}
	return c.lloyd(ctx, centres)
}

func (c *clusterer) run(ctx context.Context, rng *rand.Rand) (*Clustering, error) {
	centres, err := c.plusPlus(ctx, rng)
	if err != nil {
		return nil, err
	}
	return c.lloyd(ctx, centres)
}

func (c *clusterer) lloyd(ctx context.Context, centres []float64) (*Clustering, error) {
	k := len(centres) / c.h
	r := &Clustering{K: k, Centres: centres, Assignment: make([]int, c.n)}
	previous := make([]int32, c.n)
	for i := range previous {
		previous[i] = -1
	}
	var best snapshot
	for r.Iterations < c.maxIterations && r.Iterations-best.iteration <= patience {
		moved, inertia, err := c.assign(ctx, centres, previous)
		if err != nil {
			return nil, err
		}
		if moved == 0 {
			r.Converged = true
			break
		}
		r.Iterations++
		c.fillEmpty(k)
		copy(previous, c.nearest)
		c.means(centres)
		if r.Iterations == 1 || inertia < best.inertia {
			best.take(r.Iterations, inertia, c.nearest, centres)
		}
	}
	if !r.Converged {
		copy(c.nearest, best.nearest)
		copy(centres, best.centres)
	}
	for i, a := range c.nearest {
		r.Assignment[i] = int(a)
	}
	r.Inertia = c.inertia(centres)
	return r, nil
}

// snapshot is the state of the iteration with the smallest inertia.
type snapshot struct {
	iteration int
	inertia   float64
	nearest   []int32
	centres   []float64
}

func (s *snapshot) take(iteration int, inertia float64, nearest []int32, centres []float64) {
	s.iteration, s.inertia = iteration, inertia
	s.nearest = append(s.nearest[:0], nearest...)
	s.centres = append(s.centres[:0], centres...)
}

// assign sends every row to its nearest centre, the lower one in a tie, and
// counts those that were elsewhere before.
func (c *clusterer) assign(ctx context.Context, centres []float64, previous []int32) (moved int, inertia float64, err error) {
	k := len(centres) / c.h
	host := make([]float32, len(centres))
	for i, v := range centres {
		host[i] = float32(v)
	}
	err = c.compare(ctx, host, func(row int, keys []float32) {
		best := 0
		for j, key := range keys[:k] {
			if key < keys[best] {
				best = j
			}
		}
		c.nearest[row], c.key[row] = int32(best), keys[best]
	})
	for i, a := range c.nearest {
		if a != previous[i] {
			moved++
		}
		inertia += float64(c.key[i])
	}
	return moved, inertia, err
}

// fillEmpty gives every empty cluster the row farthest from its centre, the
// lower one in a tie, that is not alone in its cluster. Where even the farthest
// lies on its centre the cluster stays empty.
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

// means sets each centre to the mean of its rows. A worker owns whole
// clusters and adds rows in ascending order, so that the number of workers
// changes no bit.
func (c *clusterer) means(centres []float64) {
	class := make([]int, c.n)
	for i, a := range c.nearest {
		class[i] = int(a)
	}
	rows := members(class, len(centres)/c.h)
	_ = parallel(c.workers, len(rows), func(_, k int) error {
		if len(rows[k]) == 0 {
			return nil
		}
		centre := centres[k*c.h : (k+1)*c.h]
		clear(centre)
		for _, i := range rows[k] {
			for j, v := range c.x[int(i)*c.h:][:c.h] {
				centre[j] += float64(v)
			}
		}
		for j := range centre {
			centre[j] /= float64(len(rows[k]))
		}
		return nil
	})
}

// inertia is evaluated in float64.
func (c *clusterer) inertia(centres []float64) float64 {
	each := make([]float64, c.n)
	_ = parallel(c.workers, c.n, func(_, i int) error {
		each[i] = c.order.centreKey(c.x[i*c.h:][:c.h], centres[int(c.nearest[i])*c.h:][:c.h])
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
	case opt.Restarts < 0 || opt.MaxIterations < 0:
		return fmt.Errorf("eval: %d restarts of %d iterations: neither may be negative", opt.Restarts, opt.MaxIterations)
	}
	return nil
}

package eval

import (
	"math"
	"sync"

	"github.com/vernier-ml/vernier/metric"
)

// kept is what searches of many queries find out of a gallery, whatever the queries are: a
// Searcher keeps it from one call to the next, and for parts of the gallery. A nil one keeps
// nothing. It is of one metric.
type kept struct {
	gallery   *Embeddings
	mu        sync.Mutex
	mean      []float64
	norm      []float64
	reach     []float64
	low, high float64 // of coordinates less their means
	ranged    bool
	kernel    *kernel // of sketches, for coordinates in its range
}

// of reports whether it is of a gallery.
func (k *kept) of(e *Embeddings) bool { return k != nil && k.gallery == e }

// once is what was kept of a gallery, or else what find returns.
func (k *kept) once(e *Embeddings, at func(*kept) *[]float64, find func() []float64) []float64 {
	if !k.of(e) {
		return find()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if v := at(k); *v == nil {
		*v = find()
	}
	return *at(k)
}

func (k *kept) means(workers int, e *Embeddings) []float64 {
	return k.once(e, func(k *kept) *[]float64 { return &k.mean }, func() []float64 { return columnMeans(workers, e) })
}

func (k *kept) norms(workers int, e *Embeddings) []float64 {
	return k.once(e, func(k *kept) *[]float64 { return &k.norm }, func() []float64 { return norms(workers, e) })
}

func (k *kept) reaches(l layout, workers int, e *Embeddings) []float64 {
	return k.once(e, func(k *kept) *[]float64 { return &k.reach }, func() []float64 { return l.reach(workers, e) })
}

// extent is the range of coordinates less the given means, which are those of the gallery.
func (k *kept) extent(workers int, e *Embeddings, mean []float64) (low, high float64) {
	if !k.of(e) {
		return extent(workers, e, mean)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.ranged {
		k.low, k.high = extent(workers, e, mean)
		k.ranged = true
	}
	return k.low, k.high
}

// kernelOf is a kernel for sketches of queries and a gallery, or nil if there is none. What is
// kept is of the whole gallery, and does for its parts; for queries that lie outside of its
// range it is made anew.
func (k *kept) kernelOf(m metric.Metric, workers int, queries, gallery *Embeddings) *kernel {
	if k == nil {
		p := newSpread(workers, nil, gallery)
		if queries != gallery {
			low, high := extent(workers, queries, p.mean)
			p = p.widened(low, high)
		}
		p.weigh(gallery)
		return solvedKernel(m, p)
	}
	p := newSpread(workers, k, k.gallery)
	if queries != k.gallery {
		low, high := extent(workers, queries, p.mean)
		p = p.widened(low, high)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kernel != nil {
		if k.kernel.low <= p.low && p.high <= k.kernel.high {
			return k.kernel
		}
		p = p.widened(k.kernel.low, k.kernel.high)
	}
	p.weigh(k.gallery)
	made := solvedKernel(m, p)
	if made != nil {
		k.kernel = made
	}
	return made
}

// solvedKernel is nil if there is no range, or no solution.
func solvedKernel(m metric.Metric, p spread) *kernel {
	if p.high == p.low || p.high-p.low > math.MaxFloat32 {
		return nil
	}
	k := newKernel(m, p)
	if !k.solve() {
		return nil
	}
	return k
}

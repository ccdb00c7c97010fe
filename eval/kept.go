package eval

import "sync"

// kept is what searches of many queries find out of a gallery, whatever the queries are: a
// Searcher keeps it from one call to the next. A nil one keeps nothing. It is of one metric.
type kept struct {
	gallery   *Embeddings
	mu        sync.Mutex
	mean      []float64
	norm      []float64
	reach     []float64
	low, high float64 // of coordinates less their means
	ranged    bool
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

func (k *kept) means(e *Embeddings) []float64 {
	return k.once(e, func(k *kept) *[]float64 { return &k.mean }, func() []float64 { return columnMeans(e) })
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

package rerank

import (
	"context"
	"fmt"
	"sync"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/metric"
)

// blockNumbers bounds the distances that are computed at a time.
const blockNumbers = 1 << 23

// rows gives the metric between the rows of two sets, a row at a time, as an engine
// computes it in float32. Several goroutines may ask at once; those that ask for rows
// near each other share a block.
type rows struct {
	eng    eval.Engine
	a, b   *eval.Embeddings
	metric metric.Metric
	height int // of a block

	mu     sync.Mutex
	y      engine.Tensor
	blocks map[int][]float32
	order  []int
}

func newRows(eng eval.Engine, a, b *eval.Embeddings, m metric.Metric) (*rows, error) {
	r := &rows{eng: eng, a: a, b: b, metric: m, height: max(1, min(a.N, blockNumbers/max(b.N, 1))), blocks: map[int][]float32{}}
	var err error
	if r.y, err = eng.New(b.N, b.H); err == nil {
		err = eng.Write(r.y, b.X)
	}
	return r, err
}

// of returns the values between row i of a and all of b, which must not be changed.
func (r *rows) of(ctx context.Context, i int) ([]float32, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := i / r.height
	if _, has := r.blocks[k]; !has {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := r.compute(k*r.height, min(r.height, r.a.N-k*r.height))
		if err != nil {
			return nil, fmt.Errorf("re-ranking: %w", err)
		}
		r.blocks[k], r.order = d, append(r.order, k)
		if len(r.order) > 2 {
			delete(r.blocks, r.order[0])
			r.order = r.order[1:]
		}
	}
	at := (i - k*r.height) * r.b.N
	return r.blocks[k][at : at+r.b.N], nil
}

func (r *rows) compute(from, n int) ([]float32, error) {
	x, err := r.eng.New(n, r.a.H)
	if err != nil {
		return nil, err
	}
	d, err := r.eng.New(n, r.b.N)
	if err != nil {
		return nil, err
	}
	if err := r.eng.Write(x, r.a.X[from*r.a.H:(from+n)*r.a.H]); err != nil {
		return nil, err
	}
	if err := r.eng.Pairwise(d, x, r.y, r.metric); err != nil {
		return nil, err
	}
	host := make([]float32, n*r.b.N)
	return host, r.eng.Read(host, d)
}

// spread turns a row of a metric's values into squares of distances, 0 or more: of a
// similarity what it lacks of 1 (cosine) or of the largest.
func spread(dst []float64, values []float32, m metric.Metric) (largest float64) {
	top := 1.
	if m.Kind == metric.Dot {
		top = float64(values[0])
		for _, v := range values {
			top = max(top, float64(v))
		}
	}
	for j, v := range values {
		d := float64(v)
		switch {
		case m.Similarity():
			d = max(top-d, 0)
		case !m.Squared():
			d *= d
		}
		dst[j] = d
		largest = max(largest, d)
	}
	return largest
}

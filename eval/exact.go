package eval

import (
	"math"

	"github.com/vernier-ml/vernier/internal/hash64"
	"github.com/vernier-ml/vernier/metric"
)

// exactKey is the key of two rows in float64. Sums are plain: squares of
// float32 numbers and of their differences neither overflow nor vanish in
// float64, and so distances that are equal on a grid stay exactly equal.
// na and nb are the rows' norms, used for cosine only.
func (o order) exactKey(a, b []float32, na, nb float64) float64 {
	switch o.metric.Kind {
	case metric.Euclidean, metric.SquaredEuclidean:
		return squaredDistance(a, b)
	case metric.BRM:
		return o.restricted(a, b)
	case metric.Manhattan:
		return o.metric.Value(a, b)
	case metric.Cosine:
		if na == 0 || nb == 0 {
			return 0
		}
		return -max(-1, min(1, dot(a, b)/(na*nb)))
	case metric.SignalToNoise, metric.Poincare, metric.Lorentz:
		return o.metric.Value(a, b) // the query is the anchor
	}
	return -dot(a, b)
}

// restricted is D^p of BRM Eq. 7.
func (o order) restricted(a, b []float32) float64 {
	r, omega := o.metric.Restriction, o.metric.Omega
	sum := 0.0
	for i, x := range a {
		v := r.Value(math.Abs(float64(x)-float64(b[i])), omega)
		if o.metric.P == 2 {
			v *= v
		}
		sum += v
	}
	return sum / float64(len(a))
}

func squaredDistance(a, b []float32) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, x := range a {
		d := float64(x) - float64(b[i])
		sum += d * d
	}
	return sum
}

func dot(a, b []float32) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

func norm(x []float32) float64 { return math.Sqrt(dot(x, x)) }

func norms(workers int, e *Embeddings) []float64 {
	n := make([]float64, e.N)
	_ = parallel(workers, e.N, func(_, i int) error {
		n[i] = norm(e.Row(i))
		return nil
	})
	return n
}

// Distance is the distance of two rows of equal length in float64: the metric's
// value, or 1 - s for cosine similarity and -s for a dot product.
func Distance(m metric.Metric, a, b []float32) (float64, error) {
	o, err := newOrder(m)
	if err != nil {
		return 0, err
	}
	return o.distance(o.exactKey(a, b, norm(a), norm(b))), nil
}

// firstIdentical gives every row the index of the first row with the same bits,
// so that a collapsed set costs one exact evaluation a query and not N.
func firstIdentical(e *Embeddings) []int32 {
	first := make([]int32, e.N)
	seen := make(map[uint64][]int32, e.N)
rows:
	for i := range first {
		row := e.Row(i)
		sum := hashRow(row)
		for _, j := range seen[sum] {
			if sameBits(row, e.Row(int(j))) {
				first[i] = j
				continue rows
			}
		}
		first[i] = int32(i)
		seen[sum] = append(seen[sum], int32(i))
	}
	return first
}

func hashRow(row []float32) uint64 {
	sum := uint64(len(row))
	for _, x := range row {
		sum = mix(sum ^ uint64(math.Float32bits(x)))
	}
	return sum
}

func sameBits(a, b []float32) bool {
	for i, x := range a {
		if math.Float32bits(x) != math.Float32bits(b[i]) {
			return false
		}
	}
	return true
}

// mix spreads z, and small ones too.
func mix(z uint64) uint64 { return hash64.Mix(z + hash64.Gamma) }

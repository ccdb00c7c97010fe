package eval

import (
	"context"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/vernier-ml/vernier/metric"
)

// candidates is how many rows k-means++ draws at once at most.
const candidates = 64

// plusPlus chooses starting centres by k-means++ (Arthur and Vassilvitskii
// 2007): each next one is a row drawn with probability proportional to the
// square of its distance to the nearest centre so far.
//
// Taken literally that is one pass over all rows for each centre. Here a batch
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
			break // every row lies on a centre
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
	centres := make([]float64, 0, len(chosen)*c.rows.H)
	for _, i := range chosen {
		for _, v := range c.rows.Row(i) {
			centres = append(centres, float64(v))
		}
	}
	return centres, nil
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

// lighten lowers every weight to what the new centres leave, or sets it if
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
// error: a copy of a centre is never chosen.
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

package pairs

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/vernier-ml/vernier/data"
	"github.com/vernier-ml/vernier/internal/hash64"
)

// Sampler makes batches that hold pairs: alone, or behind the items of another sampler's
// batches. The two images of a pair stand beside each other. Within an epoch every pair
// comes once before any comes twice. It has no state of its own.
type Sampler struct {
	pairs []Pair
	each  int
	seed  uint64
	base  data.Sampler
}

// NewSampler samples each pairs a batch. base is nil for pairs alone.
func NewSampler(list []Pair, each int, seed uint64, base data.Sampler) (*Sampler, error) {
	if len(list) == 0 {
		return nil, errors.New("there are no pairs to train on")
	}
	if each < 1 {
		return nil, fmt.Errorf("%d pairs a batch: at least 1 is needed", each)
	}
	return &Sampler{list, each, seed, base}, nil
}

// Batches is that of the other sampler, or alone the number that the pairs fill, the last of
// them with pairs that were there before.
func (s *Sampler) Batches() int {
	if s.base != nil {
		return s.base.Batches()
	}
	return (len(s.pairs) + s.each - 1) / s.each
}

// Epoch lists the items of every batch.
func (s *Sampler) Epoch(epoch int) [][]int {
	plan := make([][]int, s.Batches())
	if s.base != nil {
		plan = s.base.Epoch(epoch)
	}
	rng := rand.New(rand.NewPCG(hash64.Mix(s.seed+hash64.Gamma)^hash64.Text("pairs"), uint64(epoch)))
	var order []int
	for b := range plan {
		batch := make([]int, len(plan[b]), len(plan[b])+2*s.each)
		copy(batch, plan[b])
		for range s.each {
			if len(order) == 0 {
				order = rng.Perm(len(s.pairs))
			}
			p := s.pairs[order[0]]
			order = order[1:]
			batch = append(batch, p.A, p.B)
		}
		plan[b] = batch
	}
	return plan
}

package linear

import (
	"context"
	"fmt"
)

// pairs returns what fills a batch of BRM-C: similar and dissimilar pairs by
// turns.
func (s Stochastic) pairs(ctx context.Context, p *Problem) (func([]Pair), error) {
	if len(p.Similar) > 0 || len(p.Dissimilar) > 0 {
		similar, dissimilar, err := pairsOf(p, 0, s.Seed)
		if err != nil {
			return nil, err
		}
		rng := newRand(s.Seed, 6)
		return func(batch []Pair) {
			for k := 0; k < len(batch); k += 2 {
				batch[k] = similar[rng.IntN(len(similar))]
				batch[k+1] = dissimilar[rng.IntN(len(dissimilar))]
			}
		}, nil
	}
	n, err := s.neighborhoods(ctx, p)
	if err != nil {
		return nil, err
	}
	return func(batch []Pair) {
		for k := 0; k < len(batch); k += 2 {
			a := n.anchor()
			batch[k] = Pair{a, n.nearPositive(a)}
			a = n.anchor()
			batch[k+1] = Pair{a, n.hardNegative(a, k/2)}
		}
	}, nil
}

// triplets returns what fills a batch of BRM-R: (a, p) and (a, q) by turns.
func (s Stochastic) triplets(ctx context.Context, p *Problem) (func([]Pair), error) {
	if len(p.Triplets) > 0 {
		rng := newRand(s.Seed, 6)
		return func(batch []Pair) {
			for k := 0; k < len(batch); k += 2 {
				t := p.Triplets[rng.IntN(len(p.Triplets))]
				batch[k], batch[k+1] = Pair{t[0], t[1]}, Pair{t[0], t[2]}
			}
		}, nil
	}
	n, err := s.neighborhoods(ctx, p)
	if err != nil {
		return nil, err
	}
	return func(batch []Pair) {
		for k := 0; k < len(batch); k += 2 {
			a := n.anchor()
			batch[k], batch[k+1] = Pair{a, n.nearPositive(a)}, Pair{a, n.hardNegative(a, k/2)}
		}
	}, nil
}

// neighborhoods draws rows near an anchor. Nearness is Euclidean, among the
// rows as given.
type neighborhoods struct {
	*drawer
	positives [][]int
	impostors [][]int32
}

func (s Stochastic) neighborhoods(ctx context.Context, p *Problem) (*neighborhoods, error) {
	if p.Labels == nil {
		return nil, fmt.Errorf("constraints or labels are needed")
	}
	d, err := newDrawer(p.Labels, s.Seed, 6)
	if err != nil {
		return nil, err
	}
	near, hard := s.Positives, s.Impostors
	if near == 0 {
		near = 5
	}
	if hard == 0 {
		hard = 20
	}
	if near < 0 || hard < 0 {
		return nil, fmt.Errorf("positives %d and impostors %d: none may be negative", near, hard)
	}
	n := &neighborhoods{drawer: d}
	if n.positives, err = targetsOf(ctx, p.X, p.Labels, near); err != nil {
		return nil, err
	}
	n.impostors, err = impostorsOf(ctx, s.Engine, p, hard)
	return n, err
}

func (n *neighborhoods) nearPositive(a int) int {
	return n.positives[a][n.rng.IntN(len(n.positives[a]))]
}

// hardNegative draws from the impostors for every other k.
func (n *neighborhoods) hardNegative(a, k int) int {
	if k%2 == 0 {
		return int(n.impostors[a][n.rng.IntN(len(n.impostors[a]))])
	}
	return n.negative(a)
}

// impostorsOf returns for each row of known class its k nearest rows of other
// known classes.
func impostorsOf(ctx context.Context, eng Engine, p *Problem, k int) ([][]int32, error) {
	n := len(p.Labels)
	out := make([][]int32, n)
	err := squaredBlocks(ctx, eng, p.X, p.X, func(from, rows int, d2 []float64) error {
		inParts(rows, func(_, lo, hi int) {
			for r := lo; r < hi; r++ {
				i := from + r
				if p.Labels[i] == Unknown {
					continue
				}
				out[i] = nearestOther(d2[r*n:(r+1)*n], p.Labels, p.Labels[i], k)
			}
		})
		return nil
	})
	return out, err
}

// nearestOther returns the k nearest rows of known labels other than own.
func nearestOther(dist []float64, labels []int, own, k int) []int32 {
	best := make([]int32, 0, k+1)
	for j, v := range dist {
		if len(best) == k && !(v < dist[best[k-1]]) || labels[j] == own || labels[j] == Unknown {
			continue
		}
		at := len(best)
		best = append(best, 0)
		for at > 0 && dist[best[at-1]] > v {
			best[at] = best[at-1]
			at--
		}
		best[at] = int32(j)
		best = best[:min(len(best), k)]
	}
	return best
}

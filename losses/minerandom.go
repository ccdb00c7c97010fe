package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// randomOf returns a source of random numbers that depends on the seed and on
// the batch alone: a run that is resumed, or repeated with other numbers of
// processors, draws the same.
func randomOf(m *Matrix, seed uint64) *rand.Rand {
	hash := uint64(0xcbf29ce484222325) // FNV-1a over whole words
	for _, v := range m.V {
		hash = (hash ^ math.Float64bits(v)) * 0x100000001b3
	}
	for _, label := range m.RowLabels {
		hash = (hash ^ uint64(label)) * 0x100000001b3
	}
	return rand.New(rand.NewPCG(seed, hash))
}

// maxPerAnchor is the largest number of triplets that a miner draws for an anchor.
const maxPerAnchor = 1e6

// Uniform draws PerAnchor triplets for each row that has positives and
// negatives, positive and negative independently, each with equal chances.
//
// The zero value draws 1 an anchor.
type Uniform struct {
	PerAnchor int
	Seed      uint64
}

func (u Uniform) fields(f *fields) {
	f.whole("PerAnchor", u.PerAnchor, 1, maxPerAnchor)
	f.flag(u.Seed != 0)
}

func paperUniform() (Uniform, error) { return paperMiner[Uniform]("uniform", true) }

// Mine implements TripletMiner.
func (u Uniform) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("uniform miner", out == nil); err != nil {
		return err
	}
	u, err := settle("uniform miner", u, m.Similarity, paperUniform)
	if err != nil {
		return err
	}
	out.Reset()
	rng := randomOf(m, u.Seed)
	var pos, neg []int
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		if len(pos) == 0 || len(neg) == 0 {
			continue
		}
		for range u.PerAnchor {
			out.add(a, pos[rng.IntN(len(pos))], neg[rng.IntN(len(neg))])
		}
	}
	return nil
}

// DistanceWeighted draws one negative for every ordered positive pair, with
// chances that make all distances equally frequent: inversely to the density
// d^(Dim-2) (1 - d^2/4)^((Dim-3)/2) of distances on the unit sphere (Wu et al.
// 2017, Eq. 2 and 3). Distances below Nearest count as Nearest, so that noise
// near 0 is not preferred; negatives beyond Farthest are drawn only where an
// anchor has no other.
//
// Dim has to be set: the zero value is an error. In the authors' code Nearest is
// 0.5 and Farthest 1.4.
type DistanceWeighted struct {
	Dim               int // of the embedding, 2 or more
	Nearest, Farthest float64
	// Sphere maps the matrix to distances on the unit sphere, as View AsSphere
	// does; the zero View takes them as they are.
	Sphere View
	Seed   uint64
}

func (d DistanceWeighted) fields(f *fields) {
	f.whole("Dim", d.Dim, 2, math.MaxInt32)
	f.needed()
	f.in("Nearest", d.Nearest, interval{low: 0, high: 2, openLow: true, openHigh: true})
	f.in("Farthest", d.Farthest, interval{low: 0, high: 2, openLow: true, openHigh: true})
	if !(d.Nearest < d.Farthest) {
		f.refuse("Farthest", d.Farthest, fmt.Sprintf("more than Nearest, %v", d.Nearest))
	}
	f.distances("Sphere", d.Sphere, "AsSphere")
	f.flag(d.Seed != 0)
}

// Mine implements TripletMiner.
func (d DistanceWeighted) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("distance-weighted miner", out == nil); err != nil {
		return err
	}
	paper := func() (DistanceWeighted, error) {
		return paperMiner[DistanceWeighted]("distance-weighted", m.Similarity)
	}
	d, err := settle("distance-weighted miner", d, m.Similarity, paper)
	if err != nil {
		return err
	}
	out.Reset()
	rng := randomOf(m, d.Seed)
	var pos, neg []int
	var chance []float64
	for a := range m.Rows {
		pos, neg = m.split(a, pos[:0], neg[:0])
		if len(pos) == 0 || len(neg) == 0 {
			continue
		}
		chance = d.chances(m.row(m.V, a), neg, chance[:0])
		for _, p := range pos {
			x := rng.Float64() * chance[len(chance)-1]
			at := sort.Search(len(chance)-1, func(k int) bool { return chance[k] > x })
			out.add(a, p, neg[at])
		}
	}
	return nil
}

// chances appends the cumulative chances of an anchor's negatives.
func (d DistanceWeighted) chances(v []float64, neg []int, out []float64) []float64 {
	top := math.Inf(-1)
	for _, q := range neg {
		r := d.Sphere.Value(v[q])
		weight := math.Inf(-1)
		if r <= d.Farthest {
			r = math.Max(r, d.Nearest)
			n := float64(d.Dim)
			weight = -(n-2)*math.Log(r) - (n-3)/2*math.Log1p(-r*r/4)
		}
		out = append(out, weight)
		top = math.Max(top, weight)
	}
	sum := 0.0
	for k, weight := range out {
		switch {
		case math.IsInf(top, -1): // all beyond Farthest
			sum++
		default:
			sum += math.Exp(weight - top)
		}
		out[k] = sum
	}
	return out
}

// AtMost keeps at most PerAnchor of the triplets that another miner finds for
// an anchor, drawn with equal chances. Miner and PerAnchor have to be set: the zero
// value is an error.
type AtMost struct {
	Miner     TripletMiner
	PerAnchor int
	Seed      uint64
}

func (l AtMost) fields(f *fields) {
	f.miner("Miner", l.Miner)
	if l.Miner == nil {
		f.refuse("Miner", "nil", "a miner to limit")
	}
	f.whole("PerAnchor", l.PerAnchor, 1, math.MaxInt32)
	f.needed()
	f.flag(l.Seed != 0)
}

// Mine implements TripletMiner.
func (l AtMost) Mine(m *Matrix, out *Triplets) error {
	if err := m.checkMined("at-most miner", out == nil); err != nil {
		return err
	}
	if _, err := settle("at-most miner", l, m.Similarity, func() (AtMost, error) { return l, nil }); err != nil {
		return err
	}
	if err := l.Miner.Mine(m, out); err != nil {
		return err
	}
	if err := out.check(m); err != nil {
		return err
	}
	rng := randomOf(m, l.Seed)
	kept := 0
	for from := 0; from < out.Len(); {
		to := from
		for to < out.Len() && out.Anchor[to] == out.Anchor[from] {
			to++
		}
		left := l.PerAnchor
		for k := from; k < to; k++ { // selection sampling keeps the order
			if rng.IntN(to-k) < left {
				left--
				out.Anchor[kept], out.Positive[kept], out.Negative[kept] = out.Anchor[k], out.Positive[k], out.Negative[k]
				kept++
			}
		}
		from = to
	}
	out.Anchor, out.Positive, out.Negative = out.Anchor[:kept], out.Positive[:kept], out.Negative[:kept]
	return nil
}

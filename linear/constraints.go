package linear

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// distinctLabels returns the known labels in ascending order.
func distinctLabels(labels []int) []int {
	seen := map[int]bool{}
	var out []int
	for _, y := range labels {
		if y != Unknown && !seen[y] {
			seen[y] = true
			out = append(out, y)
		}
	}
	slices.Sort(out)
	return out
}

func newRand(seed uint64, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// drawer draws rows of a class and of other classes.
type drawer struct {
	labels  []int
	rows    []int // of known class
	classes [][]int
	of      map[int][]int // rows of a label
	anchors []int         // rows whose class has another row
	rng     *rand.Rand
}

func newDrawer(labels []int, seed, stream uint64) (*drawer, error) {
	d := &drawer{labels: labels, of: map[int][]int{}, rng: newRand(seed, stream)}
	d.rows, d.classes = byClass(labels)
	for _, c := range d.classes {
		d.of[labels[c[0]]] = c
	}
	for _, i := range d.rows {
		if len(d.of[labels[i]]) > 1 {
			d.anchors = append(d.anchors, i)
		}
	}
	switch {
	case len(d.classes) < 2:
		return nil, fmt.Errorf("constraints need at least 2 classes of known label, there is %d", len(d.classes))
	case len(d.anchors) == 0:
		return nil, fmt.Errorf("constraints need a class of two rows, all classes have one")
	}
	return d, nil
}

func (d *drawer) anchor() int { return d.anchors[d.rng.IntN(len(d.anchors))] }

// positive draws another row of a's class, which has one.
func (d *drawer) positive(a int) int {
	c := d.of[d.labels[a]]
	for {
		if p := c[d.rng.IntN(len(c))]; p != a {
			return p
		}
	}
}

// negative draws a row of another class.
func (d *drawer) negative(a int) int {
	for {
		if q := d.rows[d.rng.IntN(len(d.rows))]; d.labels[q] != d.labels[a] {
			return q
		}
	}
}

// SamplePairs draws n similar and n dissimilar pairs from labels, with
// repetition: the first row of a pair uniformly, the second uniformly among
// those that fit. Rows of unknown label are left out. The result is a function
// of the labels and the seed.
func SamplePairs(labels []int, n int, seed uint64) (similar, dissimilar []Pair, err error) {
	d, err := newDrawer(labels, seed, 1)
	if err != nil {
		return nil, nil, err
	}
	for range n {
		a := d.anchor()
		similar = append(similar, Pair{a, d.positive(a)})
	}
	for range n {
		a := d.rows[d.rng.IntN(len(d.rows))]
		dissimilar = append(dissimilar, Pair{a, d.negative(a)})
	}
	return similar, dissimilar, nil
}

// SampleTriplets draws n triplets from labels, see SamplePairs.
func SampleTriplets(labels []int, n int, seed uint64) ([]Triplet, error) {
	d, err := newDrawer(labels, seed, 2)
	if err != nil {
		return nil, err
	}
	out := make([]Triplet, n)
	for i := range out {
		a := d.anchor()
		out[i] = Triplet{a, d.positive(a), d.negative(a)}
	}
	return out, nil
}

// SampleQuadruplets draws n quadruplets from labels: a similar pair and a
// dissimilar one, see SamplePairs.
func SampleQuadruplets(labels []int, n int, seed uint64) ([]Quadruplet, error) {
	s, d, err := SamplePairs(labels, n, seed)
	if err != nil {
		return nil, err
	}
	out := make([]Quadruplet, n)
	for i := range out {
		out[i] = Quadruplet{s[i][0], s[i][1], d[i][0], d[i][1]}
	}
	return out, nil
}

// SampleChunks draws up to n chunks of size rows of one class each, without
// repetition, and returns the chunk of every row, -1 for none. It is an error
// if no class has size rows.
func SampleChunks(labels []int, n, size int, seed uint64) ([]int, error) {
	if size < 2 {
		return nil, fmt.Errorf("chunks of %d row say nothing, want 2 or more", size)
	}
	rng := newRand(seed, 3)
	chunks := make([]int, len(labels))
	for i := range chunks {
		chunks[i] = -1
	}
	_, classes := byClass(labels)
	var groups [][]int
	for _, c := range classes {
		c = slices.Clone(c)
		rng.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
		for ; len(c) >= size; c = c[size:] {
			groups = append(groups, c[:size])
		}
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("no class has %d rows for a chunk", size)
	}
	rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	for k, g := range groups[:min(n, len(groups))] {
		for _, i := range g {
			chunks[i] = k
		}
	}
	return chunks, nil
}

// pairsOf returns the pairs of p, or draws n of each kind from its labels.
func pairsOf(p *Problem, n int, seed uint64) (similar, dissimilar []Pair, err error) {
	switch {
	case len(p.Similar) > 0 && len(p.Dissimilar) > 0:
		return p.Similar, p.Dissimilar, nil
	case len(p.Similar) > 0 || len(p.Dissimilar) > 0:
		return nil, nil, fmt.Errorf("%d similar and %d dissimilar pairs: both kinds are needed", len(p.Similar), len(p.Dissimilar))
	case p.Labels == nil:
		return nil, nil, fmt.Errorf("pairs or labels are needed")
	}
	if n == 0 {
		c := len(distinctLabels(p.Labels))
		n = 20 * c * c // as metric-learn's supervised forms
	}
	return SamplePairs(p.Labels, n, seed)
}

// drawIndices draws n row indices without repetition, ascending, keeping two
// rows of each class that has them.
func drawIndices(labels []int, n int, seed uint64) []int {
	rng := newRand(seed, 4)
	order := rng.Perm(len(labels))
	kept := map[int]int{}
	var first, rest []int
	for _, i := range order {
		if kept[labels[i]] < 2 {
			kept[labels[i]]++
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	rows := append(first, rest...)
	rows = rows[:min(max(n, len(first)), len(rows))]
	slices.Sort(rows)
	return rows
}

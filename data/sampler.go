package data

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/registry"
)

// Sampler says which items form the batches of an epoch. It has no state of its
// own: an epoch is a function of the sampler and its number, so (epoch, batch)
// is all that it takes to continue a run.
type Sampler interface {
	// Epoch lists the items of every batch.
	Epoch(epoch int) [][]int
	// Batches is the number of batches in every epoch.
	Batches() int
}

// Position is a place in a run: the next batch to come.
type Position struct {
	Epoch int `json:"epoch"`
	Batch int `json:"batch"`
}

// Balanced makes batches of P classes with K images each. Within an epoch every
// class comes once before any comes twice, and within a class every image.
// No class comes twice in a batch. A class with fewer than K images repeats some.
type Balanced struct {
	P, K int
	// Short is the number of classes with fewer than K images.
	Short   int
	seed    uint64
	classes [][]int
	batches int
}

// NewBalanced samples p classes x k images. An epoch has as many batches as the
// images fill, and at least as many as it takes to see every class.
func NewBalanced(set *Set, p, k int, seed uint64) (*Balanced, error) {
	if err := set.check(); err != nil {
		return nil, fmt.Errorf("balanced batches: %w", err)
	}
	if p < 1 || k < 1 {
		return nil, fmt.Errorf("balanced batches: %d classes x %d images; both must be at least 1", p, k)
	}
	if c := len(set.Classes); p > c {
		return nil, fmt.Errorf("balanced batches: %d classes a batch, but %s has %d; take at most that many", p, set.Name, c)
	}
	s := &Balanced{P: p, K: k, seed: seed, classes: set.ByClass()}
	for _, items := range s.classes {
		if len(items) < k {
			s.Short++
		}
	}
	s.batches = max(len(set.Items)/(p*k), (len(s.classes)+p-1)/p)
	return s, nil
}

// Batches is max(images/(P*K), classes/P rounded up).
func (s *Balanced) Batches() int { return s.batches }

// Epoch lists batches of P*K items; the K of a class stand beside each other.
func (s *Balanced) Epoch(epoch int) [][]int {
	classes := newDeck(len(s.classes), newRand(s.seed, mixString("classes"), uint64(epoch)))
	images := make([]*deck, len(s.classes))
	plan := make([][]int, s.batches)
	for b := range plan {
		for _, class := range classes.take(s.P) {
			if images[class] == nil {
				images[class] = newDeck(len(s.classes[class]), newRand(s.seed, mixString("images"), uint64(epoch), uint64(class)))
			}
			for _, i := range images[class].take(s.K) {
				plan[b] = append(plan[b], s.classes[class][i])
			}
		}
	}
	return plan
}

// deck deals the numbers 0..n-1 in random order, again and again: each once
// before any twice.
type deck struct {
	n    int
	rand *rand.Rand
	left []int // still to be dealt in this round
}

func newDeck(n int, r *rand.Rand) *deck { return &deck{n: n, rand: r} }

// take deals m numbers, all different if m <= n.
func (d *deck) take(m int) []int {
	hand := make([]int, 0, m)
	for len(hand) < m {
		if len(d.left) == 0 {
			d.left = d.shuffle(hand)
		}
		n := min(m-len(hand), len(d.left))
		hand = append(hand, d.left[:n]...)
		d.left = d.left[n:]
	}
	return hand
}

// shuffle starts a round. Numbers already in the hand go behind the others, as
// long as there are others.
func (d *deck) shuffle(hand []int) []int {
	order := d.rand.Perm(d.n)
	if len(hand) == 0 || len(hand) >= d.n {
		return order
	}
	held := make(map[int]bool, len(hand))
	for _, v := range hand {
		held[v] = true
	}
	fresh := make([]int, 0, d.n)
	for _, v := range order {
		if !held[v] {
			fresh = append(fresh, v)
		}
	}
	for _, v := range order {
		if held[v] {
			fresh = append(fresh, v)
		}
	}
	return fresh
}

// Random makes batches of items drawn without regard to class, each item at most
// once an epoch.
type Random struct {
	// KeepLast keeps a last batch that is not full; by default it is dropped.
	KeepLast    bool
	items, size int
	seed        uint64
}

// NewRandom samples batches of the given size.
func NewRandom(set *Set, size int, seed uint64) (*Random, error) {
	if err := set.check(); err != nil {
		return nil, fmt.Errorf("random batches: %w", err)
	}
	if size < 1 || size > len(set.Items) {
		return nil, fmt.Errorf("random batches: size %d; it must be 1 to %d, the number of images of %s", size, len(set.Items), set.Name)
	}
	return &Random{items: len(set.Items), size: size, seed: seed}, nil
}

// Batches is the number of full batches, and of the last one if it is kept.
func (s *Random) Batches() int {
	if s.KeepLast {
		return (s.items + s.size - 1) / s.size
	}
	return s.items / s.size
}

// Epoch is a shuffle of all items.
func (s *Random) Epoch(epoch int) [][]int {
	order := newRand(s.seed, mixString("items"), uint64(epoch)).Perm(s.items)
	return chunks(order[:min(s.Batches()*s.size, s.items)], s.size)
}

// chunks cuts a list into pieces of the given size, the last may be shorter.
func chunks(items []int, size int) [][]int {
	var plan [][]int
	for len(items) > size {
		plan, items = append(plan, items[:size:size]), items[size:]
	}
	if len(items) > 0 {
		plan = append(plan, items)
	}
	return plan
}

// ownSamplers holds the samplers of a program's own.
var ownSamplers registry.Table[func(set *Set, o SamplerOptions) (Sampler, error)]

// SamplerOptions say which batches a run wants.
type SamplerOptions struct {
	// Batch is the number of images in each batch.
	Batch int
	// Classes times Images, of each class, is Batch where batches are to be balanced.
	// Both are 0 where the class is not to matter.
	Classes, Images int
	Seed            uint64
}

// RegisterSampler makes a sampler of a program's own known, as Register does a kind of
// data sets. All of its batches have o.Batch items, and Epoch is a function of the number
// alone: CheckSampler says where it is not.
func RegisterSampler(name string, make func(set *Set, o SamplerOptions) (Sampler, error)) {
	if make == nil {
		panic(fmt.Sprintf("data.RegisterSampler: the function that makes %q is nil", name))
	}
	ownSamplers.Add("data.RegisterSampler", name, make, builtInSamplers())
}

func builtInSamplers() []string { return []string{SamplerBalanced, SamplerRandom} }

// The samplers of this package that NewSampler knows.
const (
	SamplerBalanced = "balanced" // Balanced
	SamplerRandom   = "random"   // Random
)

// SamplerNames lists what NewSampler knows.
func SamplerNames() []string { return append(builtInSamplers(), ownSamplers.Names()...) }

// NewSampler makes the sampler of a name, one of SamplerNames, for a set.
func NewSampler(name string, set *Set, o SamplerOptions) (Sampler, error) {
	switch name {
	case SamplerBalanced:
		return NewBalanced(set, o.Classes, o.Images, o.Seed)
	case SamplerRandom:
		return NewRandom(set, o.Batch, o.Seed)
	}
	make, ok := ownSamplers.Get(name)
	if !ok {
		return nil, fmt.Errorf("unknown sampler %q (there is: %s)", name, strings.Join(SamplerNames(), ", "))
	}
	if err := set.check(); err != nil {
		return nil, fmt.Errorf("sampler %s: %w", name, err)
	}
	s, err := make(set, o)
	if err == nil && s == nil {
		err = errors.New("the function that was registered returned no sampler")
	}
	if err == nil {
		err = CheckSampler(s, set, o.Batch)
	}
	if err != nil {
		return nil, fmt.Errorf("sampler %s: %w", name, err)
	}
	return s, nil
}

// CheckSampler says what is wrong with the first two epochs of a sampler for a set in
// batches of the given size: numbers of batches or items that differ from what was
// said, items that the set does not have, and an epoch that is another one when it is
// asked for again.
func CheckSampler(s Sampler, set *Set, batch int) error {
	n := s.Batches()
	if n < 1 {
		return fmt.Errorf("an epoch has %d batches, want at least 1", n)
	}
	for epoch := range 2 {
		plan := s.Epoch(epoch)
		if len(plan) != n {
			return fmt.Errorf("epoch %d has %d batches, Batches says %d", epoch, len(plan), n)
		}
		for b, items := range plan {
			if len(items) != batch {
				return fmt.Errorf("batch %d of epoch %d has %d items, want %d", b, epoch, len(items), batch)
			}
			for _, i := range items {
				if i < 0 || i >= len(set.Items) {
					return fmt.Errorf("batch %d of epoch %d has item %d; items of %s run from 0 to %d", b, epoch, i, set.title(), len(set.Items)-1)
				}
			}
		}
		if !slices.EqualFunc(plan, s.Epoch(epoch), slices.Equal) {
			return fmt.Errorf("epoch %d is another one when it is asked for again: it has to be a function of its number, or a run that is resumed sees other batches", epoch)
		}
	}
	return nil
}

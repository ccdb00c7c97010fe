package data

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/registry"
)

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

package data

import "fmt"

// Hierarchical makes batches of a few super-classes with P/Supers classes of
// each and K images a class, so that a batch holds pairs of classes that are
// hard to tell apart. Super-classes, the classes of each and their images all
// come in rounds: each once before any twice. No class comes twice in a batch.
type Hierarchical struct {
	Supers, P, K int
	seed         uint64
	supers       [][]int // classes of each super-class
	classes      [][]int
	batches      int
}

// NewHierarchical samples supers super-classes, p classes in all, k images of
// each. An epoch has as many batches as the images fill, at least one.
func NewHierarchical(set *Set, supers, p, k int, seed uint64) (*Hierarchical, error) {
	if err := set.check(); err != nil {
		return nil, fmt.Errorf("hierarchical batches: %w", err)
	}
	if set.Super == nil {
		return nil, fmt.Errorf("hierarchical batches: %s has no super-classes", set.Name)
	}
	if supers < 1 || k < 1 || p < supers || p%supers != 0 {
		return nil, fmt.Errorf("hierarchical batches: %d classes of %d super-classes, %d images; all must be at least 1, and the classes a multiple of the super-classes", p, supers, k)
	}
	byName := make([][]int, len(set.SuperNames))
	for class, super := range set.Super {
		byName[super] = append(byName[super], class)
	}
	s := &Hierarchical{Supers: supers, P: p, K: k, seed: seed, classes: set.ByClass()}
	for super, classes := range byName {
		if len(classes) == 0 { // of another part of the set
			continue
		}
		if need := p / supers; len(classes) < need {
			return nil, fmt.Errorf("hierarchical batches: %d classes of each super-class, but %q has %d", need, set.SuperNames[super], len(classes))
		}
		s.supers = append(s.supers, classes)
	}
	if supers > len(s.supers) {
		return nil, fmt.Errorf("hierarchical batches: %d super-classes a batch, but %s has %d", supers, set.Name, len(s.supers))
	}
	s.batches = max(len(set.Items)/(p*k), 1)
	return s, nil
}

// Batches is images/(P*K).
func (s *Hierarchical) Batches() int { return s.batches }

// Epoch lists batches of P*K items; those of a class, and the classes of a
// super-class, stand beside each other.
func (s *Hierarchical) Epoch(epoch int) [][]int {
	dealer := func(level string, i, n int) *deck {
		return newDeck(n, newRand(s.seed, mixString(level), uint64(epoch), uint64(i)))
	}
	supers := dealer("supers", 0, len(s.supers))
	classes, images := make([]*deck, len(s.supers)), make([]*deck, len(s.classes))
	plan := make([][]int, s.batches)
	for b := range plan {
		for _, super := range supers.take(s.Supers) {
			if classes[super] == nil {
				classes[super] = dealer("classes", super, len(s.supers[super]))
			}
			for _, k := range classes[super].take(s.P / s.Supers) {
				class := s.supers[super][k]
				if images[class] == nil {
					images[class] = dealer("images", class, len(s.classes[class]))
				}
				for _, i := range images[class].take(s.K) {
					plan[b] = append(plan[b], s.classes[class][i])
				}
			}
		}
	}
	return plan
}

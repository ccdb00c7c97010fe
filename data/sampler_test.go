package data

import (
	"reflect"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/source"
)

// counted is a set without files: class i has counts[i] items.
func counted(counts ...int) *Set {
	set := &Set{Name: "counted", store: fileStore{files: source.Folder{Root: "."}}}
	for label, n := range counts {
		set.Classes = append(set.Classes, string(rune('a'+label)))
		for range n {
			set.Items = append(set.Items, Item{Label: label})
		}
	}
	return set
}

// Field case: balanced samplers that never visit some classes in an epoch, or
// draw a class twice into one batch.
func TestBalancedVisitsEveryClassOnceBeforeAnyTwice(t *testing.T) {
	r := newRand(5)
	for range 60 {
		counts := make([]int, 1+r.IntN(23))
		for i := range counts {
			counts[i] = 1 + r.IntN(9)
		}
		set := counted(counts...)
		p, k := 1+r.IntN(len(counts)), 1+r.IntN(5)
		s, err := NewBalanced(set, p, k, r.Uint64())
		if err != nil {
			t.Fatal(err)
		}
		plan := s.Epoch(r.IntN(5))
		if len(plan) != s.Batches() || len(plan) < (len(counts)+p-1)/p {
			t.Fatalf("%d batches, Batches() = %d", len(plan), s.Batches())
		}
		seen, uses := make([]int, len(counts)), make([]int, len(set.Items))
		round := func(v []int) (lo, hi int) {
			lo = v[0]
			for _, n := range v {
				lo, hi = min(lo, n), max(hi, n)
			}
			return lo, hi
		}
		for _, batch := range plan {
			if len(batch) != p*k {
				t.Fatalf("batch of %d, want %d x %d", len(batch), p, k)
			}
			inBatch := map[int]bool{}
			for c := range p {
				label := set.Items[batch[c*k]].Label
				if inBatch[label] {
					t.Fatal("a class comes twice in a batch")
				}
				inBatch[label] = true
				seen[label]++
				distinct := map[int]bool{}
				for _, i := range batch[c*k : (c+1)*k] {
					if set.Items[i].Label != label {
						t.Fatal("images of a class do not stand together")
					}
					distinct[i] = true
					uses[i]++
				}
				if len(distinct) != min(k, counts[label]) {
					t.Fatalf("%d different of %d images, the class has %d", len(distinct), k, counts[label])
				}
			}
			if lo, hi := round(seen); hi-lo > 1 {
				t.Fatalf("one class was seen %d times when another was seen %d times", hi, lo)
			}
		}
		if lo, _ := round(seen); lo == 0 {
			t.Fatal("a class was never seen")
		}
		for label, items := range set.ByClass() {
			lo, hi := uses[items[0]], 0
			for _, i := range items {
				lo, hi = min(lo, uses[i]), max(hi, uses[i])
			}
			if hi-lo > 1 {
				t.Fatalf("class %d: one image came %d times, another %d times", label, hi, lo)
			}
		}
	}
}

func TestBalancedCountsShortClassesAndRefusesTooManyClasses(t *testing.T) {
	set := counted(1, 4, 2, 5)
	s, err := NewBalanced(set, 2, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Short != 2 {
		t.Errorf("%d short classes, want 2", s.Short)
	}
	for _, pk := range [][2]int{{5, 2}, {0, 2}, {2, 0}} {
		if _, err := NewBalanced(set, pk[0], pk[1], 1); err == nil {
			t.Errorf("%v is accepted", pk)
		}
	}
}

func TestSamplersAreFunctionsOfSeedAndEpoch(t *testing.T) {
	set := counted(5, 6, 7, 8, 9)
	makers := map[string]func(seed uint64) (Sampler, error){
		"balanced": func(seed uint64) (Sampler, error) { return NewBalanced(set, 3, 2, seed) },
		"random":   func(seed uint64) (Sampler, error) { return NewRandom(set, 4, seed) },
	}
	for name, maker := range makers {
		a, err := maker(1)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := maker(1)
		c, _ := maker(2)
		b.Epoch(0) // what was asked before makes no difference
		if !reflect.DeepEqual(a.Epoch(3), b.Epoch(3)) {
			t.Errorf("%s: same seed and epoch, other batches", name)
		}
		if reflect.DeepEqual(a.Epoch(3), a.Epoch(4)) || reflect.DeepEqual(a.Epoch(3), c.Epoch(3)) {
			t.Errorf("%s: other epoch or seed, same batches", name)
		}
	}
}

func TestRandomUsesEachItemOnceAndDropsTheRest(t *testing.T) {
	set := counted(4, 3, 4)
	s, err := NewRandom(set, 4, 9)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, batch := range s.Epoch(0) {
		if len(batch) != 4 {
			t.Errorf("batch of %d", len(batch))
		}
		for _, i := range batch {
			if seen[i] {
				t.Errorf("item %d comes twice", i)
			}
			seen[i] = true
		}
	}
	if s.Batches() != 2 || len(seen) != 8 {
		t.Errorf("%d batches, %d items", s.Batches(), len(seen))
	}
	for _, n := range []int{0, 12} {
		if _, err := NewRandom(set, n, 9); err == nil {
			t.Errorf("batch size %d is accepted", n)
		}
	}
}

func TestRandomMayKeepItsLastBatch(t *testing.T) {
	s, err := NewRandom(counted(4, 3, 4), 4, 9)
	if err != nil {
		t.Fatal(err)
	}
	s.KeepLast = true
	plan := s.Epoch(0)
	if s.Batches() != 3 || len(plan) != 3 || len(plan[2]) != 3 {
		t.Errorf("%d batches: %v", s.Batches(), plan)
	}
}

func TestHierarchicalTakesClassesOfFewSuperClasses(t *testing.T) {
	set := counted(3, 4, 5, 2, 6, 4, 3, 4, 5, 7)
	set.Super, set.SuperNames = []int{0, 1, 2, 3, 0, 1, 2, 3, 0, 1}, []string{"w", "x", "y", "z"}
	s, err := NewHierarchical(set, 2, 4, 2, 5)
	if err != nil {
		t.Fatal(err)
	}
	seen := make([]int, 4)
	for _, batch := range s.Epoch(1) {
		if len(batch) != 8 {
			t.Fatalf("batch of %d", len(batch))
		}
		perSuper, perClass := map[int]int{}, map[int]int{}
		for _, i := range batch {
			label := set.Items[i].Label
			perSuper[set.Super[label]]++
			perClass[label]++
		}
		if len(perSuper) != 2 || len(perClass) != 4 {
			t.Errorf("%d super-classes, %d classes in a batch", len(perSuper), len(perClass))
		}
		for super, n := range perSuper {
			if n != 4 {
				t.Errorf("%d images of super-class %d", n, super)
			}
			seen[super]++
		}
	}
	for super, n := range seen {
		if d := n - seen[0]; d < -1 || d > 1 {
			t.Errorf("super-class %d came %d times, 0 came %d times", super, n, seen[0])
		}
	}
	if !reflect.DeepEqual(s.Epoch(2), s.Epoch(2)) || reflect.DeepEqual(s.Epoch(1), s.Epoch(2)) {
		t.Error("epochs are not functions of their number")
	}
	for name, args := range map[string][3]int{
		"too many super-classes": {5, 5, 1}, "not a multiple": {2, 3, 1}, "no images": {2, 4, 0}, "a super-class with few classes": {1, 3, 1},
	} {
		if _, err := NewHierarchical(set, args[0], args[1], args[2], 1); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewHierarchical(counted(1, 1), 1, 1, 1, 1); err == nil {
		t.Error("a set without super-classes is accepted")
	}
}

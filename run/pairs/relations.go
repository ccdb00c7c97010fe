package pairs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vernier-ml/vernier/internal/plural"
)

// Relation is what is known of two images.
type Relation uint8

// Of most pairs nothing is known.
const (
	Unknown Relation = iota
	Same
	Different
)

// Relations are what follows from pairs of the items of a set.
type Relations struct {
	Pairs []Pair // of items, as given
	root  map[int]int
	apart map[[2]int]bool // of roots, the smaller first
}

// New finds what follows from pairs. Contradictions are in the faults, of which each names
// the lines that connect the two images; the pairs that are part of one are left out of
// Different, and stay Same.
func New(list []Pair) (*Relations, []Fault) {
	r := &Relations{Pairs: slices.Clone(list), root: map[int]int{}, apart: map[[2]int]bool{}}
	next := map[int][]Pair{} // same pairs of an item
	for _, p := range list {
		for _, i := range []int{p.A, p.B} {
			if _, ok := r.root[i]; !ok {
				r.root[i] = i
			}
		}
		if p.Same {
			a, b := r.find(p.A), r.find(p.B)
			r.root[max(a, b)] = min(a, b)
			next[p.A], next[p.B] = append(next[p.A], p), append(next[p.B], p)
		}
	}
	for i := range r.root {
		r.find(i) // all roots are final now: every item points to its own
	}
	var faults []Fault
	for _, p := range list {
		if p.Same {
			continue
		}
		a, b := r.find(p.A), r.find(p.B)
		if a == b {
			faults = append(faults, Fault{p.Line, "the images are called different here, and the same by " + by(connection(next, p.A, p.B))})
			continue
		}
		r.apart[[2]int{min(a, b), max(a, b)}] = true
	}
	return r, faults
}

func (r *Relations) find(i int) int {
	top := i
	for r.root[top] != top {
		top = r.root[top]
	}
	for r.root[i] != top {
		r.root[i], i = top, r.root[i]
	}
	return top
}

// connection lists the lines of a shortest chain of same pairs from a to b.
func connection(next map[int][]Pair, a, b int) (lines []int) {
	from := map[int]Pair{a: {}}
	for queue := []int{a}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == b {
			break
		}
		for _, p := range next[at] {
			other := p.A + p.B - at
			if _, seen := from[other]; !seen {
				from[other] = p
				queue = append(queue, other)
			}
		}
	}
	for at := b; at != a; {
		p := from[at]
		lines = append(lines, p.Line)
		at = p.A + p.B - at
	}
	slices.Sort(lines)
	return lines
}

// by names lines of a file.
func by(lines []int) string {
	const named = 5
	if len(lines) == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	texts := make([]string, 0, named)
	for _, l := range lines[:min(named, len(lines))] {
		texts = append(texts, fmt.Sprint(l))
	}
	text := "lines " + strings.Join(texts, ", ")
	if n := len(lines) - named; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// Of says what is known of two items. An item is the same as itself.
func (r *Relations) Of(a, b int) Relation {
	if a == b {
		return Same
	}
	ra, oka := r.root[a]
	rb, okb := r.root[b]
	switch {
	case !oka || !okb:
		return Unknown
	case ra == rb:
		return Same
	case r.apart[[2]int{min(ra, rb), max(ra, rb)}]:
		return Different
	}
	return Unknown
}

// Root is the smallest item that is known to be the same as item i.
func (r *Relations) Root(i int) int {
	if root, ok := r.root[i]; ok {
		return root
	}
	return i
}

// Describe counts pairs and images.
func (r *Relations) Describe() string {
	same := 0
	for _, p := range r.Pairs {
		if p.Same {
			same++
		}
	}
	return fmt.Sprintf("%s of %s, %d the same and %d different", plural.Of(len(r.Pairs), "pair"), plural.Of(len(r.root), "image"), same, len(r.Pairs)-same)
}

// AgainstLabels says which pairs contradict the labels of the items.
func (r *Relations) AgainstLabels(labels []int, class func(label int) string) (faults []Fault) {
	for _, p := range r.Pairs {
		switch a, b := labels[p.A], labels[p.B]; {
		case a == b && !p.Same:
			faults = append(faults, Fault{p.Line, fmt.Sprintf("the images are called different, and both are of class %q", class(a))})
		case a != b && p.Same:
			faults = append(faults, Fault{p.Line, fmt.Sprintf("the images are called the same, and are of classes %q and %q", class(a), class(b))})
		}
	}
	return faults
}

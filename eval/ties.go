package eval

import "fmt"

// TieRule says who comes first among gallery rows at exactly the same distance
// (equal in float64, before the root of the metric).
type TieRule uint8

const (
	// Pessimistic puts rows of other classes first, so that a collapsed
	// embedding, where all distances are equal, gains nothing from it.
	Pessimistic TieRule = iota
	// Optimistic puts rows of the query's class first.
	Optimistic
	// IndexOrder puts the lower gallery index first.
	IndexOrder
	// RandomOrder draws an order for each query from a seed.
	RandomOrder
)

var tieNames = [...]string{Pessimistic: "pessimistic", Optimistic: "optimistic", IndexOrder: "index", RandomOrder: "random"}

// String returns pessimistic, optimistic, index or random.
func (t TieRule) String() string {
	if int(t) < len(tieNames) {
		return tieNames[t]
	}
	return fmt.Sprintf("TieRule(%d)", uint8(t))
}

// ParseTieRule is the inverse of String.
func ParseTieRule(name string) (TieRule, error) {
	for t, n := range tieNames {
		if n == name {
			return TieRule(t), nil
		}
	}
	return 0, fmt.Errorf("eval: unknown tie rule %q, want pessimistic, optimistic, index or random", name)
}

// place is what decides between gallery rows at one distance: lower is nearer.
func (t TieRule) place(seed uint64, query, row int, right bool) uint64 {
	switch t {
	case IndexOrder:
		return uint64(row)
	case RandomOrder:
		return mix(mix(seed^uint64(query)) ^ uint64(row))
	}
	if right == (t == Optimistic) {
		return 0
	}
	return 1
}

package eval

import (
	"math/rand/v2"
	"slices"
)

// PickQueries draws n queries to look at, of different classes as long as there are any,
// each with a right answer: the same for the same seed. They come in ascending order;
// fewer than n if there are no more.
func (r *Retrieval) PickQueries(n int, seed uint64) []int {
	class, distinct := Compact(r.labels)
	rng := rand.New(rand.NewPCG(seed, 3))
	var classes [][]int32
	for _, rows := range members(class, len(distinct)) {
		rows = slices.DeleteFunc(rows, func(q int32) bool { return r.FirstRank[q] < 1 })
		if len(rows) > 0 {
			rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			classes = append(classes, rows)
		}
	}
	rng.Shuffle(len(classes), func(i, j int) { classes[i], classes[j] = classes[j], classes[i] })
	var picked []int
	for round := 0; len(picked) < n; round++ {
		before := len(picked)
		for _, rows := range classes {
			if round < len(rows) && len(picked) < n {
				picked = append(picked, int(rows[round]))
			}
		}
		if len(picked) == before {
			break
		}
	}
	slices.Sort(picked)
	return picked
}

// Hardest returns up to n queries whose nearest right answer has the worst
// rank, worst first, the lower index among equals; lone queries have none.
func (r *Retrieval) Hardest(n int) []int {
	order := LeaveOneOut(r.Queries())
	slices.SortStableFunc(order, func(a, b int) int { return r.FirstRank[b] - r.FirstRank[a] })
	for i, q := range order {
		if i == n || r.FirstRank[q] <= 1 {
			return order[:i]
		}
	}
	return order
}

package data

import "math/rand/v2"

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

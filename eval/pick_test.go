package eval

import (
	"slices"
	"testing"
)

func TestPickedQueriesAreOfDifferentClasses(t *testing.T) {
	labels := []int{1, 1, 1, 2, 2, 9, 4, 4, 4, 4}
	r := &Retrieval{labels: labels, FirstRank: []int{1, 2, 3, 1, 1, -1, 1, 1, 1, 1}} // 9 is alone
	got := r.PickQueries(3, 5)
	seen := map[int]bool{}
	for _, q := range got {
		seen[labels[q]] = true
	}
	if len(got) != 3 || len(seen) != 3 || seen[9] || !slices.IsSorted(got) {
		t.Errorf("picked %v", got)
	}
	if again := r.PickQueries(3, 5); !slices.Equal(again, got) {
		t.Errorf("one seed picks %v and %v", got, again)
	}
	if all := r.PickQueries(50, 5); len(all) != 9 || slices.Contains(all, 5) {
		t.Errorf("all are %v", all)
	}
}

func TestHardestQueriesComeFirst(t *testing.T) {
	r := &Retrieval{FirstRank: []int{1, 7, -1, 2, 7, 1}}
	if got, want := r.Hardest(10), []int{1, 4, 3}; !slices.Equal(got, want) {
		t.Errorf("hardest %v, want %v", got, want)
	}
	if got, want := r.Hardest(2), []int{1, 4}; !slices.Equal(got, want) {
		t.Errorf("two hardest %v, want %v", got, want)
	}
}

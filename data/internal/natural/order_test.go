package natural

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestNaturalOrderIsTotal(t *testing.T) {
	want := []string{"", "01", "1", "2", "02b", "2b", "10", "a", "a1", "a1b", "a02", "a2", "a10", "a10b", "b", "ä"}
	got := slices.Clone(want)
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		r.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, Compare)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

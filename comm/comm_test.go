package comm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// ranks runs f as size ranks and fails on an error.
func ranks(t *testing.T, size int, f func(c Comm) error) {
	t.Helper()
	if err := Local(size, f); err != nil {
		t.Fatalf("%d ranks: %v", size, err)
	}
}

// numbers are drawn with many magnitudes, so that the order of a sum shows.
func numbers(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 5))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64()) * float32(int(1)<<r.IntN(20))
	}
	return x
}

var sizes = []int{1, 2, 3, 4, 5, 6, 7, 8}

func TestASumIsThatOfTheTreeOnEveryRank(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range sizes {
		for range 5 {
			n := r.IntN(2000)
			parts := make([][]float32, size)
			for k := range parts {
				parts[k] = numbers(n, uint64(k))
			}
			Tree(parts)
			ranks(t, size, func(c Comm) error {
				x := numbers(n, uint64(c.Rank()))
				if err := c.Sum(x); err != nil {
					return err
				}
				if !slices.Equal(x, parts[0]) {
					return errors.New("other sums than those of the tree")
				}
				return nil
			})
		}
	}
	if got := []float32{1, 2, 3}; (Single{}).Sum(got) != nil || !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("alone: %v", got)
	}
}

// Ranks that hold a power of two of the parts come to the sums of one rank, to the bit.
func TestSumsOfPartsDoNotDependOnTheNumberOfRanks(t *testing.T) {
	const n = 1001
	for _, parts := range []int{1, 2, 3, 4, 6, 8, 12, 16, 24} {
		var want []float32
		for _, size := range []int{1, 2, 3, 4, 6, 8} {
			if CheckParts(parts, size) != nil {
				continue
			}
			results := make([][]float32, size)
			ranks(t, size, func(c Comm) error {
				first, end := Share(parts, c.Rank(), c.Size())
				var own [][]float32
				for p := first; p < end; p++ {
					own = append(own, numbers(n, uint64(p)))
				}
				Tree(own)
				results[c.Rank()] = own[0]
				return c.Sum(own[0])
			})
			if want == nil {
				want = results[0]
			}
			for rank, got := range results {
				if !slices.Equal(got, want) {
					t.Errorf("%d parts: rank %d of %d has other sums than one rank", parts, rank, size)
				}
			}
		}
	}
}

func TestPartsThatRanksCannotHoldAreRefused(t *testing.T) {
	for _, c := range []struct {
		parts, size int
		want        string // "" for none
	}{
		{1, 1, ""}, {7, 1, ""}, {8, 8, ""}, {6, 3, ""}, {24, 6, ""}, {12, 3, ""},
		{2, 4, "2 parts cannot be divided evenly among 4 ranks"}, {9, 2, "cannot be divided evenly"},
		{6, 2, "each of 2 ranks would hold 3 of 6 parts, which is not a power of two"}, {24, 4, "hold 6 of 24"},
	} {
		if err := CheckParts(c.parts, c.size); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d parts, %d ranks: %v, want %q", c.parts, c.size, err, c.want)
		}
	}
}

// Adding parts as they come, with few partial sums, is adding them by the tree.
func TestMergesAddInTheOrderOfTheTree(t *testing.T) {
	for count := 1; count <= 70; count++ {
		names, parts := []string{}, []string{}
		deepest := 0
		for k := range count {
			names, parts = append(names, fmt.Sprint(k)), append(parts, fmt.Sprint(k))
			deepest = max(deepest, len(names))
			for range Merges(k, count) {
				top := len(names) - 1
				names[top-1] = "(" + names[top-1] + "+" + names[top] + ")"
				names = names[:top]
			}
		}
		for step := 1; step < count; step *= 2 {
			for i := 0; i+step < count; i += 2 * step {
				parts[i] = "(" + parts[i] + "+" + parts[i+step] + ")"
			}
		}
		if len(names) != 1 || names[0] != parts[0] {
			t.Errorf("%d parts: %v, want %s", count, names, parts[0])
		}
		if deepest != Depth(count) {
			t.Errorf("%d parts: %d sums at once, want %d", count, Depth(count), deepest)
		}
	}
	if Depth(1) != 1 || Depth(8) != 4 || Depth(9) != 4 {
		t.Errorf("depths %d, %d, %d, want 1, 4, 4", Depth(1), Depth(8), Depth(9))
	}
}

func TestSharesFollowEachOtherAndDifferByOne(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 8, 100, 1001} {
		for _, size := range sizes {
			at := 0
			for rank := range size {
				first, end := Share(n, rank, size)
				if first != at || end-first < n/size || end-first > (n+size-1)/size {
					t.Errorf("%d things, rank %d of %d: %d to %d after %d", n, rank, size, first, end, at)
				}
				at = end
			}
			if at != n {
				t.Errorf("%d of %d things are shared out among %d", at, n, size)
			}
		}
	}
}

// gathered runs every gathering on uneven parts of a list.
func TestWhatIsGatheredIsInTheOrderOfRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range sizes {
		for range 5 {
			lengths := make([]int, size) // some are 0
			total := 0
			for k := range lengths {
				lengths[k] = r.IntN(4) * r.IntN(50)
				total += lengths[k]
			}
			all := numbers(total, 9)
			ranks(t, size, func(c Comm) error {
				first := 0
				for _, n := range lengths[:c.Rank()] {
					first += n
				}
				own := all[first : first+lengths[c.Rank()]]
				got := make([]float32, total)
				if err := c.GatherRows(got, own); err != nil {
					return err
				}
				if !slices.Equal(got, all) {
					return errors.New("rows are in another order")
				}
				copy(got[first:], own)
				if err := c.GatherRows(got, got[first:first+len(own)]); err != nil || !slices.Equal(got, all) {
					return fmt.Errorf("rows that lie in the destination: %v", err)
				}
				ints, want := make([]int, len(own)), []int{}
				for k, n := range lengths {
					for i := range n {
						want = append(want, -1000*k+i)
					}
					if k == c.Rank() {
						copy(ints, want[first:])
					}
				}
				lists, err := GatherInts(c, ints)
				list := slices.Concat(lists...)
				if err != nil || len(lists) != size || !slices.Equal(list, want) {
					return fmt.Errorf("whole numbers: %v, %v; want %v", list, err, want)
				}
				texts, err := c.Gather([]byte(strings.Repeat("x", c.Rank())))
				for k, text := range texts {
					if len(text) != k {
						err = errors.Join(err, fmt.Errorf("text %d is %q", k, text))
					}
				}
				if len(texts) != size {
					err = fmt.Errorf("%d texts", len(texts))
				}
				texts[0] = append(texts[0], "own"...) // each rank has its own
				return err
			})
		}
	}
}

func TestABroadcastIsThatOfItsRoot(t *testing.T) {
	for _, size := range sizes {
		for root := range size {
			ranks(t, size, func(c Comm) error {
				x := []byte(fmt.Sprint("from ", c.Rank()))
				if err := c.Broadcast(x, root); err != nil {
					return err
				}
				if want := fmt.Sprint("from ", root); string(x) != want {
					return fmt.Errorf("%q, want %q", x, want)
				}
				return nil
			})
		}
	}
	if err := (Single{}).Broadcast(nil, 1); err == nil {
		t.Error("a broadcast from rank 1 of 1")
	}
}

func TestNobodyPassesABarrierBeforeTheLast(t *testing.T) {
	for _, size := range sizes {
		arrived := make([]bool, size)
		ranks(t, size, func(c Comm) error {
			arrived[c.Rank()] = true
			if err := c.Barrier(); err != nil {
				return err
			}
			for rank, ok := range arrived {
				if !ok {
					return fmt.Errorf("rank %d is not there", rank)
				}
			}
			return c.Close()
		})
	}
}

func TestWhatRanksAgreeOn(t *testing.T) {
	for _, size := range sizes {
		for who := range size + 1 { // size is nobody
			ranks(t, size, func(c Comm) error {
				any, err := Any(c, c.Rank() == who)
				if err != nil || any != (who < size) {
					return fmt.Errorf("rank %d of %d alone: %v, %v", who, size, any, err)
				}
				own := "the same"
				if c.Rank() == who {
					own = "other"
				}
				err = Same(c, "the images", []byte(own))
				differ := who < size && size > 1
				if (err != nil) != differ {
					return fmt.Errorf("rank %d of %d differs: %v", who, size, err)
				}
				if first := max(1, who); differ && !strings.HasPrefix(err.Error(), fmt.Sprintf("rank %d (%s): the images are not those of rank 0: ", first, host())) {
					return err
				}
				return nil
			})
		}
		type thing struct {
			Name string
			X    float64
		}
		ranks(t, size, func(c Comm) error {
			calls := 0
			got, err := FromLead(c, func() (thing, error) {
				calls++
				return thing{"a", 1. / 3}, nil
			})
			if err != nil || got != (thing{"a", 1. / 3}) || calls != map[bool]int{true: 1}[c.Rank() == 0] {
				return fmt.Errorf("%+v, %v, %d calls", got, err, calls)
			}
			if _, err = FromLead(c, func() (int, error) { return 0, errors.New("the disk is full") }); err == nil || !strings.Contains(err.Error(), "the disk is full") {
				return fmt.Errorf("a failure of rank 0 is %v", err)
			}
			return c.Barrier() // the group is as before
		})
	}
}

package layers

import "slices"

// span is a buffer as the planner sees it: it is written first by op number
// birth, read last by op number death, both inclusive; bytes is its size.
type span struct {
	birth, death int
	bytes        int64
}

// forever is the death of a value that stays readable after a run.
const forever = int(^uint(0) >> 1)

func (s span) meets(o span) bool { return s.birth <= o.death && o.birth <= s.death }

// pack gives each span an offset such that spans that live at the same time do
// not overlap, and returns the bytes that all of them take. To find the least is
// NP-hard (dynamic storage allocation); placing them one at a time in the lowest
// gap where they fit, large ones first, mostly reaches the bound of what lives at
// one time. A second order, by birth, wins where it does not.
func pack(spans []span) (offsets []int64, total int64) {
	bySize := order(spans, func(a, b span) int {
		switch {
		case a.bytes != b.bytes:
			return int(min(max(b.bytes-a.bytes, -1), 1))
		default:
			return a.birth - b.birth
		}
	})
	offsets, total = place(spans, bySize)
	if total > maxAlive(spans) {
		byBirth := order(spans, func(a, b span) int { return a.birth - b.birth })
		if other, less := place(spans, byBirth); less < total {
			return other, less
		}
	}
	return offsets, total
}

// order returns the indices of spans sorted by compare, equal ones by index.
func order(spans []span, compare func(a, b span) int) []int {
	index := make([]int, len(spans))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(i, j int) int { return compare(spans[i], spans[j]) })
	return index
}

// place puts spans, in the given order, where they leave the least room unused.
func place(spans []span, order []int) (offsets []int64, total int64) {
	offsets = make([]int64, len(spans))
	placed := make([]int, 0, len(spans)) // by offset
	for _, i := range order {
		s := spans[i]
		at, best, end := int64(-1), int64(0), int64(0)
		for _, j := range placed {
			if !s.meets(spans[j]) {
				continue
			}
			if gap := offsets[j] - end; gap >= s.bytes && (at < 0 || gap < best) {
				at, best = end, gap
			}
			end = max(end, offsets[j]+spans[j].bytes)
		}
		if at < 0 {
			at = end
		}
		offsets[i] = at
		total = max(total, at+s.bytes)
		k, _ := slices.BinarySearchFunc(placed, at, func(j int, at int64) int {
			return int(min(max(offsets[j]-at, -1), 1))
		})
		placed = slices.Insert(placed, k, i)
	}
	return offsets, total
}

// maxAlive returns the most bytes that live at one time: no plan takes less.
func maxAlive(spans []span) int64 {
	most := int64(0)
	for _, s := range spans { // the most is reached when one of them is born
		sum := int64(0)
		for _, o := range spans {
			if o.birth <= s.birth && s.birth <= o.death {
				sum += o.bytes
			}
		}
		most = max(most, sum)
	}
	return most
}

package eval

import (
	"cmp"
	"slices"
)

// questions is a finder that notes the windows it is asked about.
type questions struct{ *onDevice }

func (q questions) CountBelow([]float32, float32) int { return 0 }

func (q questions) Between(dst []int32, _ []float32, low, high float32) []int32 {
	q.window(low, high)
	return dst
}

// answers is a finder that knows what lies in the windows of a query, and nothing
// else.
type answers struct {
	low    []float32
	below  []int32
	inside []keyed // in the order of values
}

type keyed struct {
	column int32
	value  float32
}

func newAnswers(d *onDevice, i int) *answers {
	from, to := d.windows.First[i], d.windows.First[i+1]
	a := &answers{low: d.windows.Low[from:to], below: d.found.Below[from:to]}
	columns, values := d.found.Of(i)
	for j, c := range columns {
		a.inside = append(a.inside, keyed{c, values[j]})
	}
	slices.SortStableFunc(a.inside, func(x, y keyed) int { return cmp.Compare(x.value, y.value) })
	return a
}

func (a *answers) CountBelow(_ []float32, limit float32) int {
	i, _ := slices.BinarySearch(a.low, limit)
	return int(a.below[i])
}

func (a *answers) Between(dst []int32, _ []float32, low, high float32) []int32 {
	i, _ := slices.BinarySearchFunc(a.inside, low, func(k keyed, low float32) int { return cmp.Compare(k.value, low) })
	for ; i < len(a.inside) && a.inside[i].value <= high; i++ {
		dst = append(dst, a.inside[i].column)
	}
	return dst
}

package eval

import (
	"context"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/layers"
)

// Searches on an engine with memory of its own: keys stay there, and what may
// matter comes to the host, which settles it as ever.

// onDevice looks a block's keys up.
type onDevice struct {
	*scanner
	skip    []int32
	windows layers.RowWindows
	found   *layers.RowsFound
	// whole has all keys of those rows of which float32 cannot tell what matters.
	whole map[int][]float32
}

func (d *onDevice) begin(b *block) {
	d.skip = d.skip[:0]
	for i := range b.rows {
		d.skip = append(d.skip, int32(d.opt.self(b.from+i)))
	}
	d.windows.First = append(d.windows.First[:0], 0)
	d.windows.Low, d.windows.High = d.windows.Low[:0], d.windows.High[:0]
	d.whole = map[int][]float32{}
}

// window adds one to the present row, next goes on to the following row.
func (d *onDevice) window(low, high float32) {
	d.windows.Low, d.windows.High = append(d.windows.Low, low), append(d.windows.High, high)
}

func (d *onDevice) next() { d.windows.First = append(d.windows.First, int32(len(d.windows.Low))) }

// look asks the engine what lies in the windows, and for the rows in whole.
func (d *onDevice) look(b *block) (err error) {
	d.found, err = d.device.Between(b.keys, d.skip, d.windows)
	return err
}

// fetch brings the rows in whole to the host.
func (d *onDevice) fetch(b *block) error {
	n := d.gallery.N
	columns, row := make([]int32, n), make([]int32, n)
	for i := range columns {
		columns[i] = int32(i)
	}
	for r := range d.whole {
		for i := range row {
			row[i] = int32(r)
		}
		keys, err := d.device.Pick(b.keys, row, columns)
		if err != nil {
			return err
		}
		d.whole[r] = keys
	}
	return nil
}

// nearestOnDevice gives store the nearest rows of every query.
func (s *scanner) nearestOnDevice(ctx context.Context, selectors []*selector, store func(q int, nearest []ranked)) error {
	d := &onDevice{scanner: s}
	return s.blocks(ctx, func(b *block) error {
		d.begin(b)
		kth, err := s.device.KthSmallest(b.keys, selectors[0].k, d.skip)
		if err != nil {
			return err
		}
		bench := selectors[0].bench
		for i, key := range kth {
			bench.begin(b.from + i)
			if limit := roundUp(float64(key) + 2*bench.blockErr); limit <= math.MaxFloat32 {
				d.window(float32(math.Inf(-1)), limit)
			} else {
				d.whole[i] = nil
			}
			d.next()
		}
		if err := d.look(b); err != nil {
			return err
		}
		return d.fetch(b)
	}, func(b *block) error {
		return parallel(s.opt.workers(), b.rows, func(worker, i int) (err error) {
			q, sel := b.from+i, selectors[worker]
			var nearest []ranked
			if keys, ok := d.whole[i]; ok {
				nearest, err = sel.nearest(q, s.opt.self(q), keys)
			} else {
				rows, keys := d.found.Of(i)
				nearest, err = sel.among(q, rows, keys)
			}
			if err == nil {
				store(q, nearest)
			}
			return err
		})
	})
}

// ranksOnDevice calls visit for every query with a ranker that knows what the engine
// has found, and keys of which those rows are filled in that it looks at. right
// gives the rows of a query's class.
func (s *scanner) ranksOnDevice(ctx context.Context, rankers []*ranker, right func(q int) (class int, rows []int32), visit func(r *ranker, q int, keys []float32) error) error {
	d := &onDevice{scanner: s}
	sparse := make([][]float32, len(rankers)) // a worker's keys
	for w := range sparse {
		sparse[w] = make([]float32, s.gallery.N)
		rankers[w].windows = layers.MostRowWindows - 1 // see countable
	}
	var keys []float32 // of right rows
	var first []int    // of each query in them
	fill := func(to []float32, b *block, i int) []int32 {
		_, rows := right(b.from + i)
		for j, row := range rows {
			to[row] = keys[first[i]+j]
		}
		return rows
	}
	return s.blocks(ctx, func(b *block) (err error) {
		d.begin(b)
		if keys, first, err = d.pickRight(b, right); err != nil {
			return err
		}
		for i := range b.rows {
			if rows := fill(sparse[0], b, i); len(rows) > 0 {
				if err := d.ask(rankers[0], b, i, rows, sparse[0]); err != nil {
					return err
				}
			}
			d.next()
		}
		if err := d.look(b); err != nil {
			return err
		}
		d.uncountable(b)
		return d.fetch(b)
	}, func(b *block) error {
		return parallel(s.opt.workers(), b.rows, func(worker, i int) error {
			r, q := rankers[worker], b.from+i
			if all, ok := d.whole[i]; ok {
				r.find = plainFinder{}
				return visit(r, q, all)
			}
			columns, values := d.found.Of(i)
			for j, c := range columns {
				sparse[worker][c] = values[j]
			}
			fill(sparse[worker], b, i)
			r.find = d.answers(i)
			return visit(r, q, sparse[worker])
		})
	})
}

// pickRight asks for the keys of the rows of each query's class; first says where
// those of a query begin.
func (d *onDevice) pickRight(b *block, right func(q int) (int, []int32)) (keys []float32, first []int, err error) {
	var rows, columns []int32
	for i := range b.rows {
		first = append(first, len(columns))
		_, of := right(b.from + i)
		for range of {
			rows = append(rows, int32(i))
		}
		columns = append(columns, of...)
	}
	keys, err = d.device.Pick(b.keys, rows, columns)
	return keys, first, err
}

// ask notes the windows that a ranker will want to know of.
func (d *onDevice) ask(r *ranker, b *block, i int, right []int32, keys []float32) error {
	q := b.from + i
	if err := r.load(q, d.opt.self(q), right, keys); err != nil || len(r.right) == 0 {
		return err
	}
	if math.IsInf(r.blockErr, 1) {
		d.whole[i] = nil
		return nil
	}
	r.find = questions{d}
	r.scanWindows(-1, keys)
	d.window(float32(math.Inf(1)), float32(math.Inf(-1))) // countable, see scan
	return nil
}

// uncountable lists the rows that have keys which are no numbers.
func (d *onDevice) uncountable(b *block) {
	for i, skip := range d.skip {
		n := d.gallery.N
		if skip >= 0 {
			n--
		}
		from, to := d.windows.First[i], d.windows.First[i+1]
		if to > from && int(d.found.Below[to-1]) != n {
			d.whole[i] = nil
		}
	}
}

// questions is a finder that notes what it is asked.
type questions struct{ *onDevice }

func (q questions) CountBelow([]float32, float32) int { return 0 }

func (q questions) Between(dst []int32, _ []float32, low, high float32) []int32 {
	q.window(low, high)
	return dst
}

// answers is a finder that knows what questions noted of a query.
type answers struct {
	low     []float32
	below   []int32
	columns []int32 // in the order of values
	values  []float32
}

func (d *onDevice) answers(i int) *answers {
	from, to := d.windows.First[i], d.windows.First[i+1]
	a := &answers{low: d.windows.Low[from:to], below: d.found.Below[from:to]}
	columns, values := d.found.Of(i)
	order := make([]int32, len(columns))
	for j := range order {
		order[j] = int32(j)
	}
	slices.SortFunc(order, func(x, y int32) int {
		switch {
		case values[x] < values[y]:
			return -1
		case values[x] > values[y]:
			return 1
		}
		return int(x - y)
	})
	for _, j := range order {
		a.columns, a.values = append(a.columns, columns[j]), append(a.values, values[j])
	}
	return a
}

func (a *answers) CountBelow(_ []float32, limit float32) int {
	i, _ := slices.BinarySearch(a.low, limit)
	return int(a.below[i])
}

func (a *answers) Between(dst []int32, _ []float32, low, high float32) []int32 {
	i, _ := slices.BinarySearch(a.values, low)
	for ; i < len(a.values) && a.values[i] <= high; i++ {
		dst = append(dst, a.columns[i])
	}
	return dst
}

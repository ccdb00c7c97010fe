package eval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

// deviceRanks are the ranks of right answers on an engine with memory of its own. A
// ranker runs twice: first against questions, which note the windows that it asks
// about, then against answers, which know what lies in them.
type deviceRanks struct {
	onDevice
	rankers []*ranker
	right   func(q int) (class int, rows []int32)
	keys    []float32 // of right rows
	first   []int     // of each query in keys
	fine    fineKeys
	// What a worker's ranker sees, filled in for the rows that it looks at.
	sparse     [][]float32
	sparseFine [][]float64
}

// ranksOnDevice calls visit for every query with a ranker that knows what the engine
// has found. right gives the rows of a query's class.
func (s *scanner) ranksOnDevice(ctx context.Context, rankers []*ranker, right func(q int) (class int, rows []int32), visit func(r *ranker, q int, keys []float32) error) error {
	d := &deviceRanks{onDevice: onDevice{scanner: s}, rankers: rankers, right: right}
	for _, r := range rankers {
		r.windows = engine.MaxRowWindows - 1 // see ask
		d.sparse = append(d.sparse, make([]float32, s.gallery.N))
		d.sparseFine = append(d.sparseFine, make([]float64, s.gallery.N))
	}
	return s.blocks(ctx, d.examine, func(b *block) error {
		return parallel(s.opt.workers(), b.rows, func(worker, i int) error {
			keys, err := d.prepare(worker, b, i)
			if err != nil {
				return err
			}
			return visit(rankers[worker], b.from+i, keys)
		})
	})
}

// examine takes from the engine all that the ranks of a block depend on.
func (d *deviceRanks) examine(b *block) error {
	d.begin(b)
	if err := d.pickRight(b); err != nil {
		return err
	}
	for i := range b.rows {
		if rows := d.fillRight(d.sparse[0], b, i); len(rows) > 0 {
			if err := d.ask(b, i, rows); err != nil {
				return err
			}
		}
		d.next()
	}
	if err := d.look(b); err != nil {
		return err
	}
	d.uncountable()
	if err := d.fetch(b); err != nil || d.layout.kernel.Kind != metric.BRM {
		return err
	}
	return d.refine(b)
}

// pickRight asks for the keys of the rows of each query's class.
func (d *deviceRanks) pickRight(b *block) (err error) {
	var rows, columns []int32
	d.first = d.first[:0]
	for i := range b.rows {
		d.first = append(d.first, len(columns))
		_, of := d.right(b.from + i)
		for range of {
			rows = append(rows, int32(i))
		}
		columns = append(columns, of...)
	}
	d.keys, err = d.device.Pick(b.keys, rows, columns)
	return err
}

func (d *deviceRanks) fillRight(keys []float32, b *block, i int) []int32 {
	_, rows := d.right(b.from + i)
	for j, row := range rows {
		keys[row] = d.keys[d.first[i]+j]
	}
	return rows
}

// ask notes the windows that a ranker will want to know of.
func (d *deviceRanks) ask(b *block, i int, right []int32) error {
	r, q := d.rankers[0], b.from+i
	if err := r.load(q, d.opt.self(q), right, d.sparse[0]); err != nil || len(r.right) == 0 {
		return err
	}
	if math.IsInf(r.blockErr, 1) {
		d.whole[i] = nil
		return nil
	}
	r.find, r.fine = questions{&d.onDevice}, nil
	r.scanWindows(-1, d.sparse[0])
	d.window(float32(math.Inf(1)), float32(math.Inf(-1))) // below it is all that is a number
	return nil
}

// uncountable lists the rows that have keys which are no numbers.
func (d *deviceRanks) uncountable() {
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

// fineKeys are keys in float64 of the rows whose place among right answers float32
// leaves open, and of these.
type fineKeys struct {
	first []int // of each query
	rows  []int32
	keys  []float64
}

func (f *fineKeys) of(i int) (rows []int32, keys []float64) {
	return f.rows[f.first[i]:f.first[i+1]], f.keys[f.first[i]:f.first[i+1]]
}

// refine asks for the fine keys of a block.
func (d *deviceRanks) refine(b *block) (err error) {
	f := fineKeys{first: []int{0}}
	var queries []int32
	for i := range b.rows {
		class, right := d.right(b.from + i)
		open := 0
		if _, whole := d.whole[i]; !whole {
			columns, _ := d.found.Of(i)
			for _, c := range columns {
				if d.rankers[0].class[c] != class {
					f.rows = append(f.rows, c)
					open++
				}
			}
		}
		if open > 0 {
			f.rows = append(f.rows, right...)
		}
		for len(queries) < len(f.rows) {
			queries = append(queries, int32(i))
		}
		f.first = append(f.first, len(f.rows))
	}
	f.keys, err = d.device.PairValues(b.queries, b.gallery, queries, f.rows, d.layout.kernel)
	d.fine = f
	return err
}

// prepare gives a worker's ranker what is known of a query, and returns its keys.
func (d *deviceRanks) prepare(worker int, b *block, i int) ([]float32, error) {
	r, keys := d.rankers[worker], d.sparse[worker]
	r.fine = nil
	if all, ok := d.whole[i]; ok {
		r.find = plainFinder{}
		return all, nil
	}
	columns, values := d.found.Of(i)
	for j, c := range columns {
		keys[c] = values[j]
	}
	d.fillRight(keys, b, i)
	r.find = newAnswers(&d.onDevice, i)
	if len(d.fine.first) == 0 {
		return keys, nil
	}
	rows, fine := d.fine.of(i)
	if len(rows) == 0 {
		return keys, nil
	}
	r.fine = d.sparseFine[worker]
	r.begin(b.from + i)
	for j, row := range rows {
		if miss := math.Abs(float64(keys[row]) - fine[j]); !(miss <= r.err32) {
			return nil, fmt.Errorf("eval: the engine's %v between query %d and gallery row %d is %v in float32 and %v in float64", d.layout.kernel, b.from+i, row, keys[row], fine[j])
		}
		r.fine[row] = fine[j]
	}
	return keys, nil
}

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

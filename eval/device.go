package eval

import (
	"context"
	"math"

	"github.com/vernier-ml/vernier/engine"
)

// Searches on an engine with memory of its own: keys stay there, and what may
// matter comes to the host, which settles it as ever.

// onDevice looks a block's keys up.
type onDevice struct {
	*scanner
	skip    []int32
	windows engine.RowWindows
	found   *engine.RowsFound
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

// window adds one to the present row, next continues to the following row.
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
				nearest, err = sel.nearest(q, s.opt.self(q), nil, keys)
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

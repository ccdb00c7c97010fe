package cuda

import (
	"slices"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/internal/device"
	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/metric"
)

var _ engine.RowSearcher = (*Engine)(nil)

const _ uint = kernels.MaxWindows - engine.MaxRowWindows

// matrix checks a matrix to look through.
func (a *args) matrix(x engine.Tensor) (m named, rows, n int) {
	m = a.of("x", x, -1, -1)
	if a.err != nil {
		return m, 0, 0
	}
	a.failed(a.eng.attend())
	return m, m.shape[0], m.shape[1]
}

func (a *args) skips(skip []int32, rows int) {
	a.check(len(skip) == rows, "columns to skip for %d rows of %d", len(skip), rows)
}

// words sends lists of four-byte numbers and returns where each of them arrives;
// they hold until consumed is called.
func (a *args) words(lists ...[]int32) (at []device.Ptr, p *place) {
	all := slices.Concat(lists...)
	p = a.staged(unsafe.Pointer(unsafe.SliceData(all)), 4*int64(len(all)))
	next := p.dev
	for _, l := range lists {
		at = append(at, next)
		next += device.Ptr(4 * len(l))
	}
	return at, p
}

// downInts and downFloats bring scratch to the host.
func (a *args) downInts(p device.Ptr, n int) []int32 {
	v := make([]int32, n)
	if n > 0 {
		a.download(unsafe.Pointer(&v[0]), p, 4*int64(n))
	}
	return v
}

func (a *args) downFloats(p device.Ptr, n int) []float32 {
	v := make([]float32, n)
	if n > 0 {
		a.download(unsafe.Pointer(&v[0]), p, 4*int64(n))
	}
	return v
}

// pairs checks a list of pairs of indices, below n and k.
func (a *args) pairs(rows, columns []int32, n, k int, of string) {
	a.check(len(rows) == len(columns), "%d rows and %d columns", len(rows), len(columns))
	for i, r := range rows {
		if a.err != nil {
			return
		}
		c := columns[i]
		a.check(r >= 0 && int(r) < n && c >= 0 && int(c) < k, "there is no %s [%d][%d], of %d x %d", of, r, c, n, k)
	}
}

// Pick returns single elements of a matrix.
func (e *Engine) Pick(x engine.Tensor, rows, columns []int32) ([]float32, error) {
	a := e.args("pick")
	m, count, n := a.matrix(x)
	a.pairs(rows, columns, count, n, "element")
	if a.err != nil || len(rows) == 0 {
		return nil, a.err
	}
	in := a.in(m, device.F32)
	at, p := a.words(rows, columns)
	out := a.floats(len(rows))
	a.launch(kernels.Pick(int64(len(rows)), n, out, in, at[0], at[1]))
	a.consumed(p)
	return a.downFloats(out, len(rows)), a.err
}

// Least finds the smallest number of every row.
func (e *Engine) Least(x engine.Tensor) (columns []int32, values []float32, err error) {
	a := e.args("least")
	m, rows, n := a.matrix(x)
	if a.err != nil {
		return nil, nil, a.err
	}
	in, at, least := a.in(m, device.F32), a.scratch(4*int64(rows)), a.floats(rows)
	a.launch(kernels.RowLeast(rows, n, at, least, in))
	return a.downInts(at, rows), a.downFloats(least, rows), a.err
}

// PairValues computes BRM of single pairs in float64.
func (e *Engine) PairValues(x, y engine.Tensor, rows, columns []int32, m metric.Metric) ([]float64, error) {
	a := e.args("values of pairs")
	p := a.pairing(x, y, m)
	if a.err != nil {
		return nil, a.err
	}
	a.check(m.Kind == metric.BRM, "%v is no BRM", m)
	a.pairs(rows, columns, p.n, p.k, "pair of rows")
	if a.failed(e.attend()); a.err != nil || len(rows) == 0 {
		return nil, a.err
	}
	in, other := a.in(p.a, device.F32), a.in(p.b, device.F32)
	at, place := a.words(rows, columns)
	out := a.doubles(len(rows))
	a.launch(kernels.PairValues(len(rows), p.h, out, in, other, at[0], at[1], int(m.Restriction), m.P, m.P == 2 && !m.Power, m.Omega))
	a.consumed(place)
	v := make([]float64, len(rows))
	a.download(unsafe.Pointer(&v[0]), out, 8*int64(len(v)))
	return v, a.err
}

// KthSmallest selects in every row, by radix.
func (e *Engine) KthSmallest(x engine.Tensor, k int, skip []int32) ([]float32, error) {
	a := e.args("k-th smallest")
	m, rows, n := a.matrix(x)
	a.skips(skip, rows)
	for r := range skip {
		if has := n - present(skip[r], n); a.err == nil {
			a.check(k <= has, "number %d of row %d, which has %d", k, r, has)
		}
	}
	a.check(k >= 1, "number %d, the first is 1", k)
	if a.err != nil {
		return nil, a.err
	}
	in := a.in(m, device.F32)
	at, p := a.words(skip)
	out := a.floats(rows)
	a.launch(kernels.KthSmallest(rows, n, k, out, in, at[0]))
	a.consumed(p)
	return a.downFloats(out, rows), a.err
}

// present is 1 if a row of n numbers has the column.
func present(column int32, n int) int {
	if column >= 0 && int(column) < n {
		return 1
	}
	return 0
}

// Between looks for numbers in windows. The device counts them before it hands them
// out; if there are more than usual it is asked again, with room for all.
func (e *Engine) Between(x engine.Tensor, skip []int32, w engine.RowWindows) (*engine.RowsFound, error) {
	a := e.args("between")
	m, rows, n := a.matrix(x)
	a.skips(skip, rows)
	a.windows(w, rows)
	if a.err != nil {
		return nil, a.err
	}
	in := a.in(m, device.F32)
	bounds := make([]float32, 0, 2*len(w.Low))
	for i, low := range w.Low {
		bounds = append(bounds, low, w.High[i])
	}
	if len(bounds) == 0 {
		bounds = make([]float32, 2) // of nobody
	}
	at, p := a.words(skip, w.First, unsafe.Slice((*int32)(unsafe.Pointer(&bounds[0])), len(bounds)))
	f := kernels.Found{Below: a.scratch(4 * int64(len(w.Low)+2*rows+1))}
	f.At = f.Below + device.Ptr(4*len(w.Low))
	f.Count = f.At + device.Ptr(4*rows)
	f.Total = f.Count + device.Ptr(4*rows)
	for f.Capacity = 16 * rows; ; {
		f.Columns, f.Values = a.scratch(4*int64(f.Capacity)), a.floats(f.Capacity)
		if a.err == nil {
			a.failed(e.driver.Clear(f.Total, 4, e.compute))
		}
		a.launch(kernels.Between(rows, n, f, in, at[0], kernels.Windows{First: at[1], Bounds: at[2]}))
		told := a.downInts(f.Below, len(w.Low)+2*rows+1)
		if a.err != nil {
			return nil, a.err
		}
		total := int(told[len(told)-1])
		if total > f.Capacity {
			f.Capacity = total
			continue
		}
		a.consumed(p)
		columns, values := a.downInts(f.Columns, total), a.downFloats(f.Values, total)
		return found(told, len(w.Low), rows, columns, values), a.err
	}
}

// windows checks what the kernel relies on.
func (a *args) windows(w engine.RowWindows, rows int) {
	if a.err != nil {
		return
	}
	a.check(len(w.First) == rows+1 && len(w.Low) == len(w.High), "%d windows of %d rows, %d low and %d high ends", len(w.First)-1, rows, len(w.Low), len(w.High))
	for r := 0; r < rows && a.err == nil; r++ {
		from, to := int(w.First[r]), int(w.First[r+1])
		a.check(from >= 0 && from <= to && to <= len(w.Low), "row %d has windows %d to %d of %d", r, from, to, len(w.Low))
		a.check(to-from <= kernels.MaxWindows, "row %d has %d windows, at most %d are looked at", r, to-from, kernels.MaxWindows)
		for i := from + 1; i < to && a.err == nil; i++ {
			a.check(w.Low[i-1] <= w.Low[i] && w.High[i-1] < w.Low[i], "windows %d and %d of row %d are out of order", i-1-from, i-from, r)
		}
	}
}

// found puts what came in the order of blocks in that of rows and columns.
func found(told []int32, windows, rows int, columns []int32, values []float32) *engine.RowsFound {
	f := &engine.RowsFound{
		Below: told[:windows:windows], First: make([]int32, rows+1),
		Columns: make([]int32, len(columns)), Values: make([]float32, len(values)),
	}
	at, count := told[windows:windows+rows], told[windows+rows:windows+2*rows]
	type entry struct {
		column int32
		value  float32
	}
	var list []entry
	for r := range rows {
		list = list[:0]
		for i := at[r]; i < at[r]+count[r]; i++ {
			list = append(list, entry{columns[i], values[i]})
		}
		slices.SortFunc(list, func(x, y entry) int { return int(x.column - y.column) })
		to := f.First[r]
		for i, e := range list {
			f.Columns[int(to)+i], f.Values[int(to)+i] = e.column, e.value
		}
		f.First[r+1] = to + count[r]
	}
	return f
}

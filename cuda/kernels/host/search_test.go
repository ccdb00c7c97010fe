//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/metric"
)

func (a array) ints() []int32 { return unsafe.Slice((*int32)(unsafe.Pointer(&a.Bytes()[0])), a.n) }

func (b *bench) zeros(n int) array {
	a := b.empty(kernels.F32, n)
	clear(a.Bytes())
	return a
}

// keys draws numbers with duplicates, both zeros, and both infinities.
func (b *bench) keys(n int) []float32 {
	x := b.normal(n)
	for i := range x {
		switch b.rng.IntN(8) {
		case 0:
			x[i] = float32(b.rng.IntN(3) - 1)
		case 1:
			x[i] = float32(math.Copysign(0, -1))
		case 2:
			x[i] *= 1e-42
		case 3:
			x[i] = float32(math.Inf(b.rng.IntN(2)*2 - 1))
		}
	}
	return x
}

func TestKthSmallestKernel(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {3, 7}, {4, 300}, {2, 2000}} {
		b := newBench(t)
		rows, n := shape[0], shape[1]
		x := b.keys(rows * n)
		skip := make([]int, rows)
		for r := range skip {
			skip[r] = -1
			if n > 1 && r%2 == 0 {
				skip[r] = b.rng.IntN(n)
			}
		}
		in, without, out := b.up(kernels.F32, x), b.int32s(skip), b.empty(kernels.F32, rows)
		for _, k := range []int{1, (n + 1) / 2, max(1, n-1)} {
			b.run(kernels.KthSmallest(rows, n, k, out.Ptr(), in.Ptr(), without.Ptr()))
			for r, got := range out.down() {
				row := slices.Clone(x[r*n : (r+1)*n])
				if skip[r] >= 0 {
					row = slices.Delete(row, skip[r], skip[r]+1)
				}
				slices.Sort(row)
				if got != row[k-1] {
					t.Errorf("%v: number %d of row %d is %v, want %v", shape, k, r, got, row[k-1])
				}
			}
		}
		if n > 1 {
			x[1] = float32(math.NaN())
			skip[0] = 0
			b.run(kernels.KthSmallest(rows, n, 1, out.Ptr(), b.up(kernels.F32, x).Ptr(), b.int32s(skip).Ptr()))
			if got := out.down()[0]; got == got {
				t.Errorf("%v: a row with NaN has %v as its smallest", shape, got)
			}
			skip[0] = 1
			b.run(kernels.KthSmallest(rows, n, 1, out.Ptr(), b.up(kernels.F32, x).Ptr(), b.int32s(skip).Ptr()))
			if got := out.down()[0]; got != got {
				t.Errorf("%v: NaN that is left out counts", shape)
			}
		}
	}
}

func TestRowLeastKernel(t *testing.T) {
	for _, n := range []int{1, 2, 200, 256, 257, 900} {
		b := newBench(t)
		const rows = 6
		x := b.normal(rows * n)
		for i := range x { // few values, so that many are equal
			x[i] = float32(math.Round(float64(x[i]) * 2))
		}
		for i := range n {
			x[3*n+i] = -7
			x[4*n+i] = float32(math.NaN())
		}
		x[5*n] = float32(math.NaN())
		at, least := b.empty(kernels.F32, rows), b.empty(kernels.F32, rows)
		b.run(kernels.RowLeast(rows, n, at.Ptr(), least.Ptr(), b.up(kernels.F32, x).Ptr()))
		for r := range rows {
			row := x[r*n : (r+1)*n]
			want := 0
			for i, v := range row {
				if v < row[want] || row[want] != row[want] && v == v {
					want = i
				}
			}
			got, v := int(at.ints()[r]), least.down()[r]
			if r == 4 || r == 5 && n == 1 {
				if v == v {
					t.Errorf("n %d: the least of nothing but NaN is %v", n, v)
				}
				continue
			}
			if got != want || v != row[want] {
				t.Errorf("n %d, row %d: %v at %d, want %v at %d", n, r, v, got, row[want], want)
			}
		}
	}
}

func TestBetweenKernel(t *testing.T) {
	inf := float32(math.Inf(1))
	windows := [][][2]float32{{{-inf, .3}}, {}, {{-1, -1}, {-.5, .1}, {.2, .7}, {inf, -inf}}, {{0, 0}}, {{-inf, inf}}}
	for _, n := range []int{1, 50, 700} {
		b := newBench(t)
		rows := len(windows)
		x := b.keys(rows * n)
		x[0] = float32(math.NaN())
		skip, first := []int{-1, 0, n - 1, n / 2, -1}, []int{0}
		var bounds []float32
		for _, w := range windows {
			for _, e := range w {
				bounds = append(bounds, e[0], e[1])
			}
			first = append(first, len(bounds)/2)
		}
		for _, capacity := range []int{rows * n, n / 2} {
			f := kernels.Found{Capacity: capacity}
			below, at, count, total := b.zeros(len(bounds)/2), b.zeros(rows), b.zeros(rows), b.zeros(1)
			columns, values := b.zeros(max(1, capacity)), b.zeros(max(1, capacity))
			f.Below, f.At, f.Count, f.Total, f.Columns, f.Values = below.Ptr(), at.Ptr(), count.Ptr(), total.Ptr(), columns.Ptr(), values.Ptr()
			b.run(kernels.Between(rows, n, f, b.up(kernels.F32, x).Ptr(), b.int32s(skip).Ptr(), kernels.Windows{First: b.int32s(first).Ptr(), Bounds: b.up(kernels.F32, bounds).Ptr()}))
			sum := 0
			for r, w := range windows {
				var want []int32
				less := make([]int32, len(w))
				for c, v := range x[r*n : (r+1)*n] {
					if c == skip[r] {
						continue
					}
					inside := false
					for i, e := range w {
						if v < e[0] {
							less[i]++
						}
						inside = inside || e[0] <= v && v <= e[1]
					}
					if inside {
						want = append(want, int32(c))
					}
				}
				sum += len(want)
				if got := below.ints()[first[r]:first[r+1]]; !slices.Equal(got, less) {
					t.Errorf("n %d, row %d: %v are below, want %v", n, r, got, less)
				}
				from, found := int(at.ints()[r]), int(count.ints()[r])
				if found != len(want) {
					t.Errorf("n %d, row %d: %d found, want %d", n, r, found, len(want))
				}
				if from+found > capacity {
					continue
				}
				got := slices.Clone(columns.ints()[from : from+found])
				for i, c := range got {
					if v := values.down()[from+i]; v != x[r*n+int(c)] {
						t.Errorf("n %d, row %d: column %d is said to hold %v", n, r, c, v)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("n %d, row %d: found %v, want %v", n, r, got, want)
				}
			}
			if got := int(total.ints()[0]); got != sum {
				t.Errorf("n %d: %d found in all, want %d", n, got, sum)
			}
		}
	}
}

func TestPickKernel(t *testing.T) {
	b := newBench(t)
	x := b.normal(5 * 7)
	rows, columns := []int{4, 0, 4, 2}, []int{6, 0, 1, 3}
	out := b.empty(kernels.F32, 4)
	b.run(kernels.Pick(4, 7, out.Ptr(), b.up(kernels.F32, x).Ptr(), b.int32s(rows).Ptr(), b.int32s(columns).Ptr()))
	for i, got := range out.down() {
		if want := x[rows[i]*7+columns[i]]; got != want {
			t.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
}

// Differences from 1e-38 to 1e38 pass every branch of every restriction.
func TestPairValuesAreExactToAFewUnits(t *testing.T) {
	const n, h = 40, 3
	b := newBench(t)
	x, y := b.normal(n*h), b.normal(n*h)
	for i := range x {
		size := float32(math.Pow(10, float64(i/h)-20))
		x[i], y[i] = x[i]*size, y[i]*size
	}
	copy(y[:h], x[:h])
	a, c := b.up(kernels.F32, x), b.up(kernels.F32, y)
	var rows, columns []int
	for i := range n {
		rows, columns = append(rows, i, i), append(columns, i, (i+7)%n)
	}
	at, to := b.int32s(rows), b.int32s(columns)
	for r := metric.Sigmoid; r <= metric.ISRU; r++ {
		for _, m := range []metric.Metric{{P: 1}, {P: 2}, {P: 2, Power: true}, {P: 2, Power: true, Omega: 30}, {P: 1, Omega: .01}} {
			if m.Restriction = r; r != metric.ISRU && m.Omega != 0 {
				continue
			}
			m = m.Canonical()
			d := b.doubles(make([]float64, len(rows)))
			b.run(kernels.PairValues(len(rows), h, d.Ptr(), a.Ptr(), c.Ptr(), at.Ptr(), to.Ptr(), int(r), m.P, m.P == 2 && !m.Power, m.Omega))
			for i, row := range rows {
				want := m.Value(x[row*h:(row+1)*h], y[columns[i]*h:(columns[i]+1)*h])
				if got := d.wide()[i]; math.Abs(got-want) > 64*0x1p-53*want {
					t.Errorf("%v of rows %d and %d is %v, want %v", m, row, columns[i], got, want)
				}
			}
		}
	}
}

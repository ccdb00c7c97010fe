//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/vernier-ml/vernier/cuda/kernels"
	"github.com/vernier-ml/vernier/metric"
)

// doubles are float64 numbers on the device.
func (b *bench) doubles(x []float64) array {
	a := b.empty(kernels.F32, 2*len(x))
	copy(a.wide(), x)
	return a
}

func (a array) wide() []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(&a.Bytes()[0])), a.n/2)
}

func chordMetrics() []metric.Metric {
	return []metric.Metric{{Kind: metric.SignalToNoise}, {Kind: metric.Poincare, Curvature: .1, Clip: 2.3}, {Kind: metric.Poincare, Curvature: 2},
		{Kind: metric.Lorentz, Curvature: 1}, {Kind: metric.Lorentz, Curvature: .3, Clip: 4}}
}

func chordKernel(m metric.Metric, n, k, h int) kernels.Chords {
	c := kernels.Chords{N: n, K: k, H: h}
	if m.Kind != metric.SignalToNoise {
		c.Root = math.Sqrt(m.Curvature)
		c.Most, c.Grow = m.Radii()
	}
	return c
}

func TestChordRowsPrepareAsTheMetricDoes(t *testing.T) {
	for _, m := range chordMetrics()[:2] {
		for _, size := range []float32{1, 1e-30, 1e30} {
			const rows, h = 4, 300
			b := newBench(t)
			x := b.normal(rows * h)
			for i := range x {
				x[i] *= size
			}
			clear(x[:h])
			for i := range h {
				x[h+i] = x[h] // equal coordinates have no variance at all
			}
			y, sizes := b.doubles(make([]float64, rows*h)), b.doubles(make([]float64, rows))
			b.run(kernels.ChordRows(rows, h, y.Ptr(), sizes.Ptr(), b.up(kernels.F32, x).Ptr(), m.Kind != metric.SignalToNoise))
			row := make([]float64, h)
			for i := range rows {
				want := m.ChordRow(row, x[i*h:(i+1)*h])
				if got := sizes.wide()[i]; math.Abs(got-want) > 1e-14*want {
					t.Errorf("%v: size of row %d is %v, want %v", m, i, got, want)
				}
				for j, v := range row {
					if got := y.wide()[i*h+j]; math.Abs(got-v) > 1e-14*(math.Abs(v)+float64(size)) {
						t.Fatalf("%v: row %d has %v at %d, want %v", m, i, got, j, v)
					}
				}
			}
		}
	}
}

// Values and slopes are those of the metric to nearly all of float64, from points
// that are all but equal to points at any distance of the origin.
func TestChordKernelsAgreeWithTheMetric(t *testing.T) {
	chords := []float64{0, 1e-60, 1e-17, 1e-9, 1e-3, .3, 1, 1.9, 2}
	sizes := []float64{0, 1e-40, 1e-12, 1e-3, .5, 2.3, 2.4, 30, 149, 301, 1e4, 3e38}
	for _, m := range chordMetrics() {
		b := newBench(t)
		n, k := len(chords), len(sizes)
		// Row 0 at the origin, others a chord from it along one axis.
		points := b.doubles(chords)
		for i, a := range sizes {
			for _, other := range []float64{a, a * (1 + 1e-9), sizes[(i+3)%k], sizes[(i+5)%k]} {
				c := chordKernel(m, n, 1, 1)
				d, along, apart := b.empty(kernels.F32, n), b.doubles(make([]float64, n)), b.doubles(make([]float64, n))
				all := make([]float64, n)
				for j := range all {
					all[j] = a
				}
				x, y := b.doubles(all), b.doubles([]float64{other})
				origin, up := b.doubles([]float64{0}), make([]float32, n)
				for j := range up {
					up[j] = 1.5
				}
				dd := b.up(kernels.F32, up)
				b.run(c.Value(d.Ptr(), points.Ptr(), origin.Ptr(), x.Ptr(), y.Ptr()),
					c.Slopes(along.Ptr(), apart.Ptr(), points.Ptr(), origin.Ptr(), x.Ptr(), y.Ptr(), dd.Ptr(), kernels.SideA))
				for j, chord := range chords {
					want := m.ChordValue(math.Abs(chord), a, other)
					if got := float64(d.down()[j]); !near(got, want, 1e-7) {
						t.Errorf("%v: value at chord %v of %v and %v is %v, want %v", m, chord, a, other, got, want)
					}
					s := m.ChordSlopes(math.Abs(chord), a, other, 1.5)
					if got := along.wide()[j]; !near(got, s.AlongA, 1e-10) && math.Abs(got-s.AlongA) > 1e-10*math.Abs(s.ApartA)*chord*chord {
						t.Errorf("%v: slope along at chord %v of %v and %v is %v, want %v", m, chord, a, other, got, s.AlongA)
					}
					if got := apart.wide()[j]; !near(got, s.ApartA, 1e-10) {
						t.Errorf("%v: slope apart at chord %v of %v and %v is %v, want %v", m, chord, a, other, got, s.ApartA)
					}
				}
			}
		}
	}
}

// near compares relatively; float32 has a largest and a smallest number.
func near(got, want, rel float64) bool {
	if math.IsNaN(want) {
		return math.IsNaN(got)
	}
	return got == want || math.Abs(got-want) <= rel*math.Abs(want)+1e-44 || math.Abs(want) > math.MaxFloat32 && got == math.Copysign(math.MaxFloat32, want)
}

//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
)

// partsInOrder are the parts of the sums of x (rows, c) in float32, added in the order that
// results have had since kernels read one number at a time: eight chains of every eighth
// row, each with four sums of every fourth of its rows, and what is left to the first.
func partsInOrder(x []float32, rows, c int) []float32 {
	count, per := kernels.Parts(int64(rows), c)
	out := make([]float32, count*c)
	for p := range count {
		for k := range c {
			var total float32
			for chain := range 8 {
				var sum [4]float32
				r, to := p*per+chain, min((p+1)*per, rows)
				for r+24 < to {
					for i := range sum {
						sum[i] += x[r*c+k]
						r += 8
					}
				}
				for ; r < to; r += 8 {
					sum[0] += x[r*c+k]
				}
				s := (sum[0] + sum[1]) + (sum[2] + sum[3])
				if chain == 0 {
					total = s
				} else {
					total += s
				}
			}
			out[p*c+k] = total
		}
	}
	return out
}

var sumShapes = [][2]int{{1, 1}, {7, 8}, {31, 64}, {64, 5}, {65, 72}, {100, 65}, {150, 130}, {1000, 24}, {333, 3}, {2100, 1100}}

func TestSumsKeepTheirOrder(t *testing.T) {
	for _, typ := range bothTypes {
		for _, s := range sumShapes {
			rows, c := s[0], s[1]
			b := newBench(t)
			x := b.normal(rows * c)
			in := b.up(typ, x)
			part := b.parts(int64(rows), c)
			b.run(kernels.ChannelSums(typ, int64(rows), c, part.Ptr(), in.Ptr()))
			if !slices.Equal(part.down(), partsInOrder(x, rows, c)) {
				t.Errorf("%v, %d rows of %d: the parts differ", typ, rows, c)
			}
		}
	}
}

// A gradient that leaves its sums has the bits of the one that does not, and the sums
// those of a pass of their own.
func TestGradientsLeaveTheirSums(t *testing.T) {
	for _, typ := range bothTypes {
		for _, s := range sumShapes {
			rows, c := s[0], s[1]
			n := int64(rows * c)
			b := newBench(t)
			dy, x := b.up(typ, b.normal(int(n))), b.up(typ, b.normal(int(n)))
			for name, f := range map[string]struct {
				alone  func(dx kernels.Ptr) kernels.Launch
				summed func(dx, part kernels.Ptr) kernels.Launch
			}{
				"relu": {
					func(dx kernels.Ptr) kernels.Launch { return kernels.ReLUGrad(typ, n, dx, dy.Ptr(), x.Ptr()) },
					func(dx, part kernels.Ptr) kernels.Launch {
						return kernels.BoundGradSums(typ, int64(rows), c, dx, part, dy.Ptr(), x.Ptr(), 0)
					},
				},
				"bound": {
					func(dx kernels.Ptr) kernels.Launch { return kernels.BoundGrad(typ, n, dx, dy.Ptr(), x.Ptr(), .75) },
					func(dx, part kernels.Ptr) kernels.Launch {
						return kernels.BoundGradSums(typ, int64(rows), c, dx, part, dy.Ptr(), x.Ptr(), .75)
					},
				},
				"gelu": {
					func(dx kernels.Ptr) kernels.Launch { return kernels.GELUGrad(typ, n, dx, dy.Ptr(), x.Ptr(), 0) },
					func(dx, part kernels.Ptr) kernels.Launch {
						return kernels.GELUGradSums(typ, int64(rows), c, dx, part, dy.Ptr(), x.Ptr(), 0)
					},
				},
			} {
				want, got, part := b.empty(typ, int(n)), b.empty(typ, int(n)), b.parts(int64(rows), c)
				b.run(f.alone(want.Ptr()), f.summed(got.Ptr(), part.Ptr()))
				if !slices.Equal(got.down(), want.down()) {
					t.Errorf("%s, %v, %d rows of %d: the gradient differs", name, typ, rows, c)
				}
				if !slices.Equal(part.down(), partsInOrder(want.down(), rows, c)) {
					t.Errorf("%s, %v, %d rows of %d: the sums differ", name, typ, rows, c)
				}
			}
		}
	}
}

// One launch for the inputs of a concatenation has the bits of one for each.
func TestAConcatenationIsTakenApart(t *testing.T) {
	for _, typ := range bothTypes {
		for _, widths := range [][]int{{8}, {64, 96, 16, 40}, {5, 70, 8}, {3, 130}, {64, 8, 65, 1}} {
			for missing := -1; missing < len(widths); missing++ {
				t.Run(fmt.Sprint(typ, widths, missing), func(t *testing.T) {
					const rows = 150
					width := 0
					for _, c := range widths {
						width += c
					}
					b := newBench(t)
					dy, y := b.up(typ, b.normal(rows*width)), b.up(typ, b.normal(rows*width))
					var list []kernels.ConcatPart
					var grads, parts []array
					for i, c := range widths {
						grads, parts = append(grads, b.empty(typ, rows*c)), append(parts, b.parts(rows, c))
						p := kernels.ConcatPart{DX: grads[i].Ptr(), Sums: parts[i].Ptr(), C: c, Rectified: i != 1}
						if i == missing {
							p.DX, p.Sums = 0, 0
						}
						if i == missing+1 {
							p.Sums = 0
						}
						list = append(list, p)
					}
					b.run(kernels.ConcatGrad(typ, rows, width, dy.Ptr(), y.Ptr(), list))
					from := int64(0)
					for i, c := range widths {
						want := b.empty(typ, rows*c)
						if list[i].Rectified {
							b.run(kernels.SliceReLUGrad(typ, rows, int64(c), want.Ptr(), dy.Ptr(), y.Ptr(), int64(width), from))
						} else {
							b.run(kernels.CopyRows(typ, rows, int64(c), want.Ptr(), int64(c), 0, dy.Ptr(), int64(width), from))
						}
						from += int64(c)
						if list[i].DX != 0 && !slices.Equal(grads[i].down(), want.down()) {
							t.Errorf("the gradient of input %d differs", i)
						}
						if list[i].Sums != 0 && !slices.Equal(parts[i].down(), partsInOrder(want.down(), rows, c)) {
							t.Errorf("the sums of input %d differ", i)
						}
					}
				})
			}
		}
	}
}

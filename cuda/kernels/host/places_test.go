//go:build cgo && linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/cuda/kernels"
)

// groups is a kernel that works in groups of 16 bytes where it can: its arrays by their
// numbers of elements, those that it writes last.
type groups struct {
	name   string
	maps   []int // stored as the type
	floats []int // float32 always
	bytes  int
	out    int           // of maps, behind them
	to     *kernels.Type // of out, nil for that of maps
	launch func(t kernels.Type, p []kernels.Ptr) kernels.Launch
}

// A row of 24 numbers is a whole number of groups of either type.
const placeRows, placeWidth = 15, 24

// Statistics that a kernel leaves go to left.
func inGroups(left array) []groups {
	const rows, c, n = placeRows, placeWidth, placeRows * placeWidth
	flat := func(name string, inputs int, l func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch) groups {
		odd := n + 3 // the last do not fill a group
		g := groups{name: name, out: odd, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch { return l(t, int64(odd), p) }}
		for range inputs {
			g.maps = append(g.maps, odd)
		}
		return g
	}
	narrow := flat("narrow", 0, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch { return kernels.Narrow(t, n, p[1], p[0]) })
	narrow.floats = []int{n + 3}
	widen := flat("widen", 1, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch { return kernels.Widen(t, n, p[1], p[0]) })
	widen.to = &bothTypes[0]
	win := kernels.Window{N: 1, H: 5, W: 3, C: c, HO: 5, WO: 3, KH: 3, KW: 3, SH: 1, SW: 1, PH: 1, PW: 1}
	image := groups{name: "image", floats: []int{3 * 256}, bytes: n, out: n}
	image.launch = func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
		return kernels.Image(t, n, 3, p[2], p[1], p[0], true)
	}
	return []groups{
		narrow, widen, image,
		flat("add", 2, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch {
			return kernels.Add(t, n, p[2], p[0], p[1])
		}),
		flat("scale", 1, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch {
			return kernels.Scale(t, n, p[1], p[0], 1.7)
		}),
		flat("relu", 1, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch { return kernels.ReLU(t, n, p[1], p[0]) }),
		flat("relu gradient", 2, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch {
			return kernels.ReLUGrad(t, n, p[2], p[0], p[1])
		}),
		flat("bound", 1, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch {
			return kernels.Bound(t, n, p[1], p[0], 1.5)
		}),
		flat("bound gradient", 2, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch {
			return kernels.BoundGrad(t, n, p[2], p[0], p[1], 1.5)
		}),
		flat("gelu", 1, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch {
			return kernels.GELU(t, n, p[1], p[0], 0)
		}),
		flat("gelu gradient", 2, func(t kernels.Type, n int64, p []kernels.Ptr) kernels.Launch {
			return kernels.GELUGrad(t, n, p[2], p[0], p[1], 1)
		}),
		{name: "affine", maps: []int{n, n}, floats: []int{c, c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.ChannelAffine(t, n, c, p[4], p[0], p[2], p[3], p[1], 1.5)
		}},
		{name: "norm", maps: []int{n}, floats: []int{c, c, c, c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.ChannelNorm(t, n, c, p[5], p[0], p[1], p[2], p[3], p[4])
		}},
		{name: "batch norm gradient", maps: []int{n, n}, floats: []int{c, c, c, c, c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.BatchNormDX(t, n, c, p[7], p[0], p[1], p[2], p[3], p[4], p[5], p[6], 1./rows)
		}},
		{name: "copy", maps: []int{rows * 2 * c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.CopyRows(t, rows, c, p[1], c, 0, p[0], 2*c, 8)
		}},
		{name: "slice relu gradient", maps: []int{rows * 2 * c, rows * 2 * c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.SliceReLUGrad(t, rows, c, p[2], p[0], p[1], 2*c, 8)
		}},
		{name: "tokens", maps: []int{3 * 4 * c}, floats: []int{c, 5 * c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.Tokens(t, 3, 1, 4, c, p[3], p[0], p[1], p[2])
		}},
		{name: "layer norm", maps: []int{n}, floats: []int{c, c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.LayerNorm(t, rows, c, p[3], left.Ptr(), left.Ptr()+4*rows, p[0], p[1], p[2], 1e-5)
		}},
		{name: "layer norm gradient", maps: []int{n, n, n}, floats: []int{c, rows, rows}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.LayerNormGrad(t, rows, c, kernels.NormGrads{DX: p[6]}, p[2], p[0], p[1], p[3], p[4], p[5])
		}},
		{name: "relu gradient with sums", maps: []int{n, n}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.BoundGradSums(t, rows, c, p[2], left.Ptr(), p[0], p[1], 0)
		}},
		{name: "gelu gradient with sums", maps: []int{n, n}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.GELUGradSums(t, rows, c, p[2], left.Ptr(), p[0], p[1], 1)
		}},
		{name: "concat gradient", maps: []int{rows * 2 * c, rows * 2 * c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.ConcatGrad(t, rows, 2*c, p[0], p[1], []kernels.ConcatPart{{C: 8}, {C: c, DX: p[2], Rectified: true}})
		}},
		{name: "channel sums", maps: []int{n}, out: c, to: &bothTypes[0], launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.ChannelSums(t, rows, c, p[1], p[0])
		}},
		{name: "channel products", maps: []int{n, n}, floats: []int{c, c}, out: c, to: &bothTypes[0], launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.ChannelProducts(t, rows, c, p[4], 0, p[0], p[1], p[2], p[3])
		}},
		{name: "max pool", maps: []int{n}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.MaxPool(t, win, p[1], p[0])
		}},
		{name: "max places", maps: []int{n}, out: n, to: &bothTypes[1], launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.MaxPlaces(t, win, p[1], p[0])
		}},
		{name: "average pool", maps: []int{n}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.AvgPool(t, win, false, p[1], p[0])
		}},
		{name: "average pool gradient", maps: []int{n}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.AvgPoolGrad(t, win, true, p[1], p[0])
		}},
		{name: "global average gradient", floats: []int{3 * c}, out: n, launch: func(t kernels.Type, p []kernels.Ptr) kernels.Launch {
			return kernels.GlobalAvgGrad(t, 3, 5, c, p[1], p[0])
		}},
	}
}

// result runs the kernel with array number moved (none is -1) one number on.
func (g groups) result(t *testing.T, typ kernels.Type, moved int) []byte {
	t.Helper()
	b := newBench(t)
	var list []kernels.Ptr
	place := func(typ kernels.Type, n int, zero bool) array {
		shift := 0
		if len(list) == moved {
			shift = 1
		}
		x := b.normal(n)
		if zero {
			clear(x)
		}
		a := b.up(typ, append(make([]float32, shift), x...))
		list = append(list, a.Ptr()+kernels.Ptr(shift*typ.Size()))
		return a
	}
	for _, n := range g.maps {
		place(typ, n, false)
	}
	for _, n := range g.floats {
		place(kernels.F32, n, false)
	}
	if g.bytes > 0 {
		place(kernels.F32, (g.bytes+3)/4, false)
	}
	to := typ
	if g.to != nil {
		to = *g.to
	}
	out := place(to, g.out, true)
	b.run(g.launch(typ, list))
	return out.Bytes()[len(out.Bytes())-g.out*to.Size():]
}

// A group's address is a multiple of 16 bytes. Where an array begins elsewhere its
// numbers are read one by one, and the result has the same bits.
func TestArraysMayBeginAnywhere(t *testing.T) {
	statistics := newBench(t).empty(kernels.F32, 2*placeRows)
	for _, g := range inGroups(statistics) {
		t.Run(g.name, func(t *testing.T) {
			for _, typ := range bothTypes {
				want := g.result(t, typ, -1)
				if !slices.ContainsFunc(want, func(b byte) bool { return b != 0 }) {
					t.Fatalf("%v: the result is 0", typ)
				}
				for moved := range len(g.maps) + len(g.floats) + min(g.bytes, 1) + 1 {
					if !bytes.Equal(g.result(t, typ, moved), want) {
						t.Errorf("%v: with array %d at an odd place the result differs", typ, moved)
					}
				}
			}
		})
	}
}

// Rows whose length, or whose place in longer rows, is no whole number of groups.
func TestCopiedRowsMayBeginAnywhere(t *testing.T) {
	for _, typ := range bothTypes {
		for _, s := range [][5]int{{8, 24, 8, 16, 0}, {8, 24, 3, 16, 0}, {8, 24, 8, 16, 5}, {8, 21, 8, 16, 0}, {8, 24, 8, 19, 8}, {5, 24, 8, 16, 0}} {
			const rows = 9
			c, to, toFrom, from, first := s[0], s[1], s[2], s[3], s[4]
			b := newBench(t)
			x, y := b.normal(rows*from), b.normal(rows*from)
			src, mask, dst, dx := b.up(typ, x), b.up(typ, y), b.up(typ, make([]float32, rows*to)), b.empty(typ, rows*c)
			want, grad := make([]float32, rows*to), make([]float32, rows*c)
			for r := range rows {
				copy(want[r*to+toFrom:][:c], x[r*from+first:])
				for k := range c {
					if y[r*from+first+k] > 0 {
						grad[r*c+k] = x[r*from+first+k]
					}
				}
			}
			b.run(kernels.CopyRows(typ, rows, int64(c), dst.Ptr(), int64(to), int64(toFrom), src.Ptr(), int64(from), int64(first)),
				kernels.SliceReLUGrad(typ, rows, int64(c), dx.Ptr(), src.Ptr(), mask.Ptr(), int64(from), int64(first)))
			b.same("copy", typ, dst.down(), want, 0)
			b.same("slice", typ, dx.down(), grad, 0)
		}
	}
}

// The gradients of maxima read places that other kernels have found.
func TestPlacesOfMaximaMayBeginAnywhere(t *testing.T) {
	const n, h, w, c = 2, 5, 4, 16
	win := kernels.Window{N: n, H: h, W: w, C: c, HO: 3, WO: 2, KH: 3, KW: 3, SH: 2, SW: 2, PH: 1, PW: 1}
	for _, typ := range bothTypes {
		var windows, global []float32
		for moved := -1; moved < 4; moved++ {
			b := newBench(t)
			at := func(i int, a array) kernels.Ptr {
				if i == moved {
					return a.Ptr() + kernels.Ptr(a.t.Size())
				}
				return a.Ptr()
			}
			behind := func(i int, a array) []float32 {
				if i == moved {
					return a.down()[1:]
				}
				return a.down()[:a.n-1]
			}
			// room adds a number, before or behind.
			room := func(i int, x []float32) []float32 {
				if i == moved {
					return append([]float32{0}, x...)
				}
				return append(x, 0)
			}
			x, dy, up := b.normal(n*h*w*c), b.normal(n*3*2*c), b.normal(n*c)
			dX, dDy, places := b.up(typ, room(0, x)), b.up(typ, room(1, dy)), b.empty(kernels.BF16, len(dy)+1)
			dx := b.up(typ, make([]float32, len(x)+1))
			b.run(kernels.MaxPlaces(typ, win, at(2, places), at(0, dX)), kernels.MaxPoolGrad(typ, win, at(3, dx), at(1, dDy), at(2, places)))
			got := behind(3, dx)
			where, dUp, all := b.empty(kernels.F32, n*c+1), b.up(kernels.F32, room(1, up)), b.up(typ, make([]float32, len(x)+1))
			b.run(kernels.GlobalMax(typ, n, h*w, c, 0, at(2, where), at(0, dX)), kernels.GlobalMaxGrad(typ, n, h*w, c, at(3, all), at(1, dUp), at(2, where)))
			gotAll := behind(3, all)
			if moved < 0 {
				windows, global = got, gotAll
				continue
			}
			b.same("windows", kernels.F32, got, windows, 0)
			b.same("global", kernels.F32, gotAll, global, 0)
		}
	}
}

package pixels

import "math"

// Filter is a resampling filter. The zero value is Bilinear.
type Filter uint8

const (
	Bilinear Filter = iota // triangle, support 1
	Bicubic                // Keys' cubic with a = -0.5, support 2
)

func (f Filter) String() string {
	if f == Bicubic {
		return "bicubic"
	}
	return "bilinear"
}

func (f Filter) support() float64 {
	if f == Bicubic {
		return 2
	}
	return 1
}

func (f Filter) at(x float64) float64 {
	x = math.Abs(x)
	if f == Bilinear {
		return max(1-x, 0)
	}
	const a = -0.5
	switch {
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return (((x-5)*x+8)*x - 4) * a
	}
	return 0
}

// weightBits is the precision of the fixed-point weights: as Pillow's, so that
// results agree to the bit.
const weightBits = 32 - 8 - 2

// taps holds, for a run of outputs along one axis, which inputs count how much.
type taps struct {
	first   []int // first input of each output
	count   []int
	weights []int32 // width a output, in 1<<weightBits
	width   int
}

// newTaps describes outputs from..from+n of an axis scaled from in to out. The
// filter is stretched when the axis shrinks (antialiasing).
func newTaps(in, out, from, n int, f Filter) taps {
	scale := float64(in) / float64(out)
	stretch := max(scale, 1)
	support := f.support() * stretch
	width := int(math.Ceil(support))*2 + 1
	t := taps{make([]int, n), make([]int, n), make([]int32, n*width), width}
	exact := make([]float64, width)
	for i := range n {
		center := (float64(from+i) + 0.5) * scale
		lo := max(int(center-support+0.5), 0)
		hi := min(int(center+support+0.5), in)
		sum := 0.0
		for k := lo; k < hi; k++ {
			w := f.at((float64(k) - center + 0.5) / stretch)
			exact[k-lo] = w
			sum += w
		}
		t.first[i], t.count[i] = lo, hi-lo
		for k := range hi - lo {
			w := exact[k]
			if sum != 0 {
				w /= sum
			}
			t.weights[i*width+k] = int32(math.Floor(w*(1<<weightBits) + 0.5))
			if w < 0 {
				t.weights[i*width+k] = int32(math.Ceil(w*(1<<weightBits) - 0.5))
			}
		}
	}
	return t
}

// span is the run of inputs that any of the outputs needs.
func (t taps) span() (lo, hi int) {
	last := len(t.first) - 1
	return t.first[0], t.first[last] + t.count[last]
}

// Resample scales src to w x h pixels and returns the part of the result that
// starts at (x, y) and is cw x ch pixels large. It equals Pillow's resize, then
// crop: horizontal pass, then vertical, each rounded to 8 bits; an axis that
// keeps its size is left alone.
func Resample(src *RGB, w, h, x, y, cw, ch int, f Filter) *RGB {
	if src.W == w && src.H == h {
		return src.Crop(x, y, cw, ch)
	}
	if src.H == h {
		return horizontal(src.Crop(0, y, src.W, ch), newTaps(src.W, w, x, cw, f))
	}
	down := newTaps(src.H, h, y, ch, f)
	if src.W == w {
		return vertical(src.Crop(x, 0, cw, src.H), down, 0)
	}
	lo, hi := down.span()
	wide := horizontal(src.Crop(0, lo, src.W, hi-lo), newTaps(src.W, w, x, cw, f))
	return vertical(wide, down, lo)
}

// horizontal applies taps to every row.
func horizontal(src *RGB, t taps) *RGB {
	dst := NewRGB(len(t.first), src.H)
	n := t.before(src.W - 1)
	if !vectorized() || src.H < 4 || n < 4 {
		horizontalRows(dst, src, 0, src.H, t, 0, dst.W)
		return dst
	}
	for y := 0; ; y = min(y+4, src.H-4) { // the last four may overlap those before
		vectorRows(dst, src, y, t, n)
		horizontalRows(dst, src, y, y+4, t, n, dst.W)
		if y == src.H-4 {
			return dst
		}
	}
}

// before is the number of leading outputs, but not all, that need no input from
// number limit on.
func (t taps) before(limit int) int {
	n := len(t.first) - 1
	for n > 0 && t.first[n-1]+t.count[n-1] > limit {
		n--
	}
	return n
}

// horizontalRows makes the pixels x0..x1 of the rows y0..y1.
func horizontalRows(dst, src *RGB, y0, y1 int, t taps, x0, x1 int) {
	const half = int32(1) << (weightBits - 1)
	for y := y0; y < y1; y++ {
		in, out := src.Row(y), dst.Row(y)
		for i := x0; i < x1; i++ {
			first, n := t.first[i], t.count[i]
			weights := t.weights[i*t.width : i*t.width+n]
			px := in[3*first : 3*(first+n)]
			r, g, b := half, half, half
			for k, w := range weights {
				p := px[3*k : 3*k+3 : 3*k+3]
				r += w * int32(p[0])
				g += w * int32(p[1])
				b += w * int32(p[2])
			}
			p := out[3*i : 3*i+3 : 3*i+3]
			p[0], p[1], p[2] = clip8(r>>weightBits), clip8(g>>weightBits), clip8(b>>weightBits)
		}
	}
}

// vertical applies taps to every column; row 0 of src is input number skip.
func vertical(src *RGB, t taps, skip int) *RGB {
	dst := NewRGB(src.W, len(t.first))
	run := columnsOf
	if vectorized() && 3*src.W >= leastColumns {
		run = vectorColumns
	}
	offsets := make([]int, t.width)
	for i, first := range t.first {
		n := t.count[i]
		for k := range n {
			offsets[k] = (first - skip + k) * src.Stride
		}
		run(dst.Row(i), src.Pix, offsets[:n], t.weights[i*t.width:i*t.width+n])
	}
	return dst
}

// columnsOf makes a row of the bytes that lie at each of offsets, weighted.
func columnsOf(dst, src []uint8, offsets []int, weights []int32) {
	for x := range dst {
		sum := int32(1) << (weightBits - 1)
		for k, at := range offsets {
			sum += weights[k] * int32(src[at+x])
		}
		dst[x] = clip8(sum >> weightBits)
	}
}

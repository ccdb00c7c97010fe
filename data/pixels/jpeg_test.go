package pixels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

// jpegForm is a kind of baseline JPEG that encodeCoefficients writes.
type jpegForm struct {
	w, h       int
	across     int // luma blocks an MCU
	down       int
	gray       bool
	restart    int
	wide       bool // 16-bit step sizes
	trailing   bool // bytes behind the end
	components string
	adobe      int // transform of an Adobe segment, -1 for none
}

// encodeCoefficients writes a JPEG of random coefficients, with codes of 4, 8 and
// 12 bits.
func encodeCoefficients(f jpegForm, r *rand.Rand) []byte {
	var b bytes.Buffer
	segment := func(marker byte, body []byte) {
		b.Write([]byte{0xff, marker})
		b.Write(binary.BigEndian.AppendUint16(nil, uint16(len(body)+2)))
		b.Write(body)
	}
	b.Write([]byte{0xff, 0xd8})
	if f.adobe >= 0 {
		segment(0xee, append([]byte("Adobe\x00\x64\x00\x00\x00\x00"), byte(f.adobe)))
	}
	quant := []byte{0}
	if f.wide {
		quant[0] = 0x10
	}
	for i := range 64 {
		if f.wide {
			quant = append(quant, 0)
		}
		quant = append(quant, byte(3+i/4))
	}
	segment(0xdb, quant)
	n := 3
	if f.gray {
		n = 1
	}
	frame := binary.BigEndian.AppendUint16([]byte{8}, uint16(f.h))
	frame = append(binary.BigEndian.AppendUint16(frame, uint16(f.w)), byte(n))
	scan := []byte{byte(n)}
	for i := range n {
		sampling := byte(0x11)
		if i == 0 {
			sampling = byte(f.across<<4 | f.down)
		}
		frame = append(frame, f.components[i], sampling, 0)
		scan = append(scan, f.components[i], 0)
	}
	segment(0xc0, frame)
	var acSymbols []byte
	for run := range 16 {
		for size := range 11 {
			if size > 0 || run == 0 || run == 15 {
				acSymbols = append(acSymbols, byte(run<<4|size))
			}
		}
	}
	segment(0xc4, append([]byte{0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11))
	segment(0xc4, append([]byte{0x10, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 62, 0, 0, 0, 0}, acSymbols...))
	if f.restart > 0 {
		segment(0xdd, binary.BigEndian.AppendUint16(nil, uint16(f.restart)))
	}
	segment(0xda, append(scan, 0, 63, 0))

	var acc uint64
	bits := 0
	put := func(v, n int) {
		acc, bits = acc<<n|uint64(v), bits+n
		for ; bits >= 8; bits -= 8 {
			c := byte(acc >> (bits - 8))
			b.WriteByte(c)
			if c == 0xff {
				b.WriteByte(0)
			}
		}
	}
	number := func(v, size int) {
		if v < 0 {
			v += 1<<size - 1
		}
		put(v, size)
	}
	sizeOf := func(v int) (size int) {
		for v = max(v, -v); v > 0; v >>= 1 {
			size++
		}
		return size
	}
	acCode := func(symbol byte) {
		if k := slices.Index(acSymbols, symbol); k < 100 {
			put(k, 8)
		} else {
			put(100<<4+k-100, 12)
		}
	}
	flush := func() {
		if bits > 0 {
			put(1<<(8-bits)-1, 8-bits)
		}
	}
	var dc [3]int
	blocks := []int{f.across * f.down, 1, 1}
	mcuW, mcuH := 8*f.across, 8*f.down
	if f.gray {
		blocks, mcuW, mcuH = []int{1}, 8, 8
	}
	total := ((f.w + mcuW - 1) / mcuW) * ((f.h + mcuH - 1) / mcuH)
	for m := range total {
		if f.restart > 0 && m > 0 && m%f.restart == 0 {
			flush()
			b.Write([]byte{0xff, 0xd0 + byte((m/f.restart-1)%8)})
			dc = [3]int{}
		}
		for c, count := range blocks {
			for range count {
				now := r.IntN(400) - 200
				size := sizeOf(now - dc[c])
				put(size, 4)
				number(now-dc[c], size)
				dc[c] = now
				k := 1
				for k < 64 && r.IntN(6) > 0 {
					run := r.IntN(6) * r.IntN(5)
					for ; run > 15 && k+16 < 64; run, k = run-16, k+16 {
						acCode(0xf0)
					}
					if k+run > 63 || run > 15 {
						break
					}
					v := (1 + r.IntN(1+60/k)) * (1 - 2*r.IntN(2))
					size := sizeOf(v)
					acCode(byte(run<<4 | size))
					number(v, size)
					k += run + 1
				}
				if k < 64 {
					acCode(0)
				}
			}
		}
	}
	flush()
	b.Write([]byte{0xff, 0xd9})
	if f.trailing {
		b.WriteString("what a camera appends")
	}
	return b.Bytes()
}

func TestBaselineJPEGOfEverySampling(t *testing.T) {
	// image/jpeg transforms with other roundings; chroma is spread alike, so that
	// two levels of it can become this many.
	const tolerance = 6
	r := rand.New(rand.NewPCG(12, 42))
	for i := range 120 {
		f := jpegForm{w: 1 + r.IntN(70), h: 1 + r.IntN(50), across: 1 + r.IntN(2), down: 1 + r.IntN(2), gray: i%5 == 0, restart: max(r.IntN(6)-1, 0),
			wide: i%3 == 0, trailing: i%4 == 0, components: "\x01\x02\x03", adobe: r.IntN(2)*2 - 1}
		file := encodeCoefficients(f, r)
		want, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		plain := toRGB(want, want.Bounds(), AlphaDrop, false)
		got, err := decodeBaseline(t.Context(), file, plain.Bounds())
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		for y := range f.h {
			for x, v := range plain.Row(y) {
				if d := int(v) - int(got.Row(y)[x]); d < -tolerance || d > tolerance {
					t.Fatalf("%+v: (%d, %d) is %d, image/jpeg has %d", f, x/3, y, got.Row(y)[x], v)
				}
			}
		}
		for range 8 {
			x, y := r.IntN(f.w), r.IntN(f.h)
			area := image.Rect(x, y, x+1+r.IntN(f.w-x), y+1+r.IntN(f.h-y))
			part, err := decodeBaseline(t.Context(), file, area)
			if err != nil || !bytes.Equal(part.Compact().Pix, got.Crop(x, y, area.Dx(), area.Dy()).Compact().Pix) {
				t.Fatalf("%+v: the part %v differs from the whole, %v", f, area, err)
			}
		}
	}
}

// Other kinds, and damaged files, go to image/jpeg.
func TestWhatIsNoPlainJPEGIsLeftToImageJPEG(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 42))
	usual := jpegForm{w: 40, h: 30, across: 2, down: 2, components: "\x01\x02\x03", adobe: -1}
	rgb, named := usual, usual
	rgb.adobe, named.components = 0, "RGB"
	whole := encodeCoefficients(usual, r)
	changed := func(change func(b []byte) []byte) []byte { return change(bytes.Clone(whole)) }
	sof := bytes.Index(whole, []byte{0xff, 0xc0})
	scan := bytes.Index(whole, []byte{0xff, 0xda})
	for name, file := range map[string][]byte{
		"RGB by Adobe":     encodeCoefficients(rgb, r),
		"RGB by name":      encodeCoefficients(named, r),
		"cut in the scan":  whole[:scan+60],
		"without its end":  whole[:len(whole)-2],
		"12 bits":          changed(func(b []byte) []byte { b[sof+4] = 12; return b }),
		"progressive":      changed(func(b []byte) []byte { b[sof+1] = 0xc2; return b }),
		"no table":         changed(func(b []byte) []byte { b[scan+6] = 0x33; return b }),
		"no codes":         append(bytes.Clone(whole[:2]), whole[sof:]...),
		"segment too long": changed(func(b []byte) []byte { b[sof+2] = 0xff; return b }),
		"only a head":      whole[:scan],
		"empty":            whole[:2],
	} {
		if m, err := decodeBaseline(t.Context(), file, image.Rect(0, 0, 40, 30)); !errors.Is(err, errOther) || m != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decodeBaseline(t.Context(), whole, image.Rect(0, 0, 41, 30)); !errors.Is(err, errOther) {
		t.Errorf("an area outside: %v", err)
	}
}

// What is cut off behind the part that is asked for is an error all the same:
// which images are bad must not depend on what is drawn.
func TestACutFileIsBadWhateverPartIsAskedFor(t *testing.T) {
	file := imagetest.EncodeJPEG(t, smoothed(200, 150, 1))
	top := func(int, int) image.Rectangle { return image.Rect(0, 0, 20, 10) }
	if m, err := NewDecoder(Options{}).part(t.Context(), file, top); err != nil || m.W != 20 || m.H != 10 {
		t.Fatalf("%v", err)
	}
	for _, n := range []int{len(file) - 30, len(file) / 2} {
		if _, err := NewDecoder(Options{}).part(t.Context(), file[:n], top); !errors.Is(err, ErrTruncated) {
			t.Errorf("%d of %d bytes: %v", n, len(file), err)
		}
	}
}

func TestDamagedJPEGNeverPanics(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 42))
	for i := range 400 {
		f := jpegForm{w: 1 + r.IntN(40), h: 1 + r.IntN(40), across: 1 + r.IntN(2), down: 1 + r.IntN(2), gray: i%5 == 0, restart: r.IntN(4), components: "\x01\x02\x03", adobe: -1}
		file := encodeCoefficients(f, r)
		for range 1 + r.IntN(4) {
			file[r.IntN(len(file))] ^= byte(1 + r.IntN(255))
		}
		m, err := decodeBaseline(t.Context(), file, image.Rect(0, 0, f.w, f.h))
		if (m == nil) == (err == nil) {
			t.Fatalf("image %v, error %v", m, err)
		}
	}
}

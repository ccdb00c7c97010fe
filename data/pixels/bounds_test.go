package pixels

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"io"
	"math/bits"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

// manyScans is a gray picture of one level, 128 + dc/8, whose scans after
// the first say in a few bytes that nothing is to be added.
func manyScans(w, h, dc, scans int) []byte {
	b := []byte{0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}
	for range 64 {
		b = append(b, 1)
	}
	b = append(b, 0xff, 0xc2, 0, 11, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)
	size := bits.Len(uint(dc))
	// DC: code 0 is a difference of 0, 10 one of size bits. AC: code 0 is a run of
	// 16,384 blocks and what 14 bits add.
	b = append(b, 0xff, 0xc4, 0, 21, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(size))
	b = append(b, 0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe0)
	blocks := (w + 7) / 8 * ((h + 7) / 8)
	b = append(b, 0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0)
	first := 2 + size
	codes := make([]byte, (first+blocks-1+7)/8)
	put(codes, uint32(2)<<size|uint32(dc), first)
	b = append(b, codes...)
	for range scans {
		b = append(b, 0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0)
		b = append(b, make([]byte, ((blocks+16383)/16384*15+7)/8)...)
	}
	return append(b, 0xff, 0xd9)
}

// put writes the lower n bits of v at the beginning.
func put(to []byte, v uint32, n int) {
	for i := range n {
		to[i/8] |= byte(v>>(n-1-i)&1) << (7 - i%8)
	}
}

func TestAProgressiveJPEGIsDecodedWhenItsScansAreFewForItsPixels(t *testing.T) {
	for _, c := range []struct{ w, h, scans int }{{9, 17, 1}, {1000, 900, 10}, {16, 16, 3000}} {
		m, err := Decode(manyScans(c.w, c.h, 400, c.scans), Options{})
		if err != nil || m.W != c.w || m.H != c.h {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		for _, p := range []image.Point{{0, 0}, {c.w - 1, c.h - 1}} {
			if got := m.At(p.X, p.Y); got != (color.RGBA{178, 178, 178, 255}) {
				t.Errorf("%+v: %v at %v, want 178", c, got, p)
			}
		}
	}
}

func TestAJPEGOfThousandsOfScansIsTooMuchWork(t *testing.T) {
	_, err := Decode(manyScans(2000, 2000, 400, 10_000), Options{})
	if !errors.Is(err, ErrTooMuchWork) || !strings.Contains(err.Error(), "too much work for its size: 10001 scans of 2000 x 2000 pixels go over 40004000000 samples") {
		t.Errorf("%v", err)
	}
}

// endsAfter is a context that ends when it was asked n times.
type endsAfter struct {
	context.Context
	cancel func()
	n      int
}

func newEndsAfter(t *testing.T, n int) *endsAfter {
	ctx, cancel := context.WithCancel(t.Context())
	return &endsAfter{ctx, cancel, n}
}

func (c *endsAfter) Err() error {
	if c.n--; c.n == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

func TestTheContextIsLookedAtBetweenScans(t *testing.T) {
	file := manyScans(1000, 1000, 400, 60)
	ctx := newEndsAfter(t, 5)
	if m, err := decodeJPEG(ctx, file); !errors.Is(err, context.Canceled) || m != nil || ctx.n < -3 {
		t.Errorf("%v, asked %d times after the end", err, -ctx.n)
	}
	asked := newEndsAfter(t, 1<<30)
	if _, err := decodeJPEG(asked, file); err != nil || 1<<30-asked.n < 60 {
		t.Errorf("asked %d times in 61 scans, %v", 1<<30-asked.n, err)
	}
}

func TestImagesWaitForTheMemoryOfOthers(t *testing.T) {
	d := NewDecoder(Options{Memory: 1000})
	file := imagetest.EncodePNG(t, noisy(20, 20, 1)) // takes more than there is: all of it
	release, err := d.claim(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := d.Decode(t.Context(), file)
		done <- err
	}()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Decode(ended, file); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting without end: %v", err)
	}
	select {
	case err := <-done:
		t.Fatalf("decoded without memory: %v", err)
	default:
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// zeros is a reader of n of them that counts what is taken.
type zeros struct{ left, taken int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left, z.taken = z.left-n, z.taken+n
	return int(n), nil
}

func TestTheHeadOfAFileSaysWhetherTheRestIsRead(t *testing.T) {
	head := imagetest.EncodePNG(t, noisy(20, 20, 1))
	wide := imagetest.PNGOfZeros(t, 9000, 9000)
	for name, c := range map[string]struct {
		head []byte
		size int64
		want error
	}{
		"zeros":           {nil, 1 << 30, ErrNotImage},
		"many pixels":     {wide[:100], 1 << 28, ErrTooLarge},
		"too many bytes":  {head, 1 << 30, ErrTooLarge},
		"a lie of size":   {head[:60], 1 << 62, ErrTooLarge},
		"nothing":         {nil, 0, ErrEmptyFile},
		"less than it is": {head[:60], 61, io.ErrUnexpectedEOF},
	} {
		rest := &zeros{left: c.size - int64(len(c.head))}
		if c.want == io.ErrUnexpectedEOF {
			rest.left = 0
		}
		_, _, _, err := examineHead(io.MultiReader(bytes.NewReader(c.head), rest), c.size, Options{})
		if !errors.Is(err, c.want) || rest.taken > headBytes {
			t.Errorf("%s: %v after %d bytes", name, err, rest.taken)
		}
	}
}

// thinStrips is a compressed TIFF of one pixel a row and a strip a row, all of
// them the same bytes.
func thinStrips(t *testing.T, rows int) []byte {
	b := []byte("II*\x00\x08\x00\x00\x00\x08\x00")
	entry := func(tag, kind, count, value int) {
		b = binary.LittleEndian.AppendUint16(b, uint16(tag))
		b = binary.LittleEndian.AppendUint16(b, uint16(kind))
		b = binary.LittleEndian.AppendUint32(b, uint32(count))
		b = binary.LittleEndian.AppendUint32(b, uint32(value))
	}
	const short, long, list = 3, 4, 8 + 2 + 8*12
	entry(tagWidth, short, 1, 1)
	entry(tagHeight, long, 1, rows)
	entry(258, short, 1, 8)
	entry(tagCompression, short, 1, 8)
	entry(262, short, 1, 1)
	entry(273, 1, rows, list)
	entry(tagRowsPerStrip, short, 1, 1)
	entry(279, 1, rows, list)
	return append(b, bytes.Repeat([]byte{9}, rows)...)
}

func TestATIFFOfThinStripsIsTooMuchWork(t *testing.T) {
	_, err := Decode(thinStrips(t, 1_000_000), Options{})
	if !errors.Is(err, ErrTooMuchWork) || !strings.Contains(err.Error(), "1000000 strips") {
		t.Errorf("%v", err)
	}
	if _, err := Decode(thinStrips(t, 100), Options{}); err == nil || errors.Is(err, ErrTooMuchWork) {
		t.Errorf("a few strips: %v", err)
	}
}

func TestTheMemoryOfADecodeIsKnownFromItsHeader(t *testing.T) {
	gray := image.NewGray(image.Rect(0, 0, 10, 20))
	for name, c := range map[string]struct {
		file []byte
		want int64 // a pixel
	}{
		"gray PNG":         {imagetest.EncodePNG(t, gray), 1},
		"PNG":              {imagetest.EncodePNG(t, noisy(10, 20, 1)), 4},
		"PNG of 16 bits":   {imagetest.EncodePNG(t, image.NewNRGBA64(gray.Rect)), 8},
		"JPEG":             {imagetest.EncodeJPEG(t, noisy(10, 20, 1)), 3},
		"gray JPEG":        {imagetest.EncodeJPEG(t, gray), 1},
		"progressive JPEG": {manyScans(10, 20, 100, 1), 5},
	} {
		_, h, err := examine(c.file, Options{})
		if err != nil || h.memory != 200*c.want {
			t.Errorf("%s: %d bytes, want %d a pixel: %v", name, h.memory, c.want, err)
		}
	}
}

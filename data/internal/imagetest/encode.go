// Package imagetest makes images and their files for tests.
package imagetest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// EncodePNG is the PNG file of an image.
func EncodePNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// EncodeJPEG is the JPEG file of an image.
func EncodeJPEG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// EncodeGIF is the GIF file of an image.
func EncodeGIF(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// EncodeBMP is the BMP file of an image.
func EncodeBMP(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := bmp.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// EncodeTIFF is the TIFF file of an image.
func EncodeTIFF(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tiff.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// EncodeWebP writes a lossless WebP of one color: every code has one symbol, so
// that no bits are spent on pixels.
func EncodeWebP(w, h int, c color.NRGBA) []byte {
	var bits []byte
	n := 0
	put := func(v, count int) {
		for i := range count {
			if n%8 == 0 {
				bits = append(bits, 0)
			}
			bits[n/8] |= byte(v>>i&1) << (n % 8)
			n++
		}
	}
	put(0x2f, 8)
	put(w-1, 14)
	put(h-1, 14)
	put(1, 1) // alpha is used
	put(0, 3) // version
	put(0, 1) // no transform
	put(0, 1) // no color cache
	put(0, 1) // one group of codes
	for _, symbol := range []int{int(c.G), int(c.R), int(c.B), int(c.A), 0} {
		put(1, 1) // simple code
		put(0, 1) // of one symbol
		put(1, 1) // of 8 bits
		put(symbol, 8)
	}
	if len(bits)%2 == 1 {
		bits = append(bits, 0)
	}
	chunk := append([]byte("VP8L"), Le32(len(bits))...)
	chunk = append(chunk, bits...)
	file := append([]byte("RIFF"), Le32(4+len(chunk))...)
	return append(append(file, "WEBP"...), chunk...)
}

// Le32 is n as four bytes, the lowest first.
func Le32(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }

// Noise is the pixels of a w x h image, three bytes each, that depend on seed.
func Noise(w, h int, seed uint64) []uint8 {
	r := rand.New(rand.NewPCG(seed, 42))
	pix := make([]uint8, 3*w*h)
	for i := range pix {
		pix[i] = uint8(r.IntN(256))
	}
	return pix
}

// Gradient is the pixels of a w x h image, three bytes each, that depend on seed: JPEG
// keeps it well.
func Gradient(w, h int, seed uint64) []uint8 {
	r := rand.New(rand.NewPCG(seed, 42))
	base, slope := [3]int{r.IntN(100), r.IntN(100), r.IntN(100)}, r.IntN(100)+20
	pix := make([]uint8, 0, 3*w*h)
	for y := range h {
		for x := range w {
			for c := range 3 {
				pix = append(pix, uint8(base[c]+slope*(x+y*c)/(w+h*2)))
			}
		}
	}
	return pix
}

// PNGOfZeros is a valid gray PNG of any size that compresses to next to nothing.
func PNGOfZeros(t testing.TB, w, h int) []byte {
	t.Helper()
	b := bytes.NewBufferString("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		body := append([]byte(kind), data...)
		binary.Write(b, binary.BigEndian, uint32(len(data)))
		b.Write(body)
		binary.Write(b, binary.BigEndian, crc32.ChecksumIEEE(body))
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	chunk("IHDR", append(head, 8, 0, 0, 0, 0))
	var z bytes.Buffer
	w0, err := zlib.NewWriterLevel(&z, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]byte, w+1)
	for range h {
		if _, err := w0.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w0.Close(); err != nil {
		t.Fatal(err)
	}
	chunk("IDAT", z.Bytes())
	chunk("IEND", nil)
	return b.Bytes()
}

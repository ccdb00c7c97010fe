package pixels

import (
	"image/color"
	"math/rand/v2"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

// fuzzDecode feeds seeds, and what becomes of them, to a decoder with little
// memory and few pixels.
func fuzzDecode(f *testing.F, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	d := NewDecoder(Options{MaxPixels: 1 << 16, EXIF: true})
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 1<<16 {
			t.Skip()
		}
		m, err := d.Decode(t.Context(), file)
		if (m == nil) == (err == nil) {
			t.Fatalf("image %v and error %v", m, err)
		}
		if m != nil && (m.W < 1 || m.H < 1 || len(m.Row(m.H-1)) != 3*m.W) {
			t.Fatalf("%d x %d with %d bytes", m.W, m.H, len(m.Pix))
		}
	})
}

func FuzzDecodeJPEG(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 42))
	fuzzDecode(f, imagetest.EncodeJPEG(f, smoothed(20, 14, 3)), manyScans(20, 14, 100, 3),
		encodeCoefficients(jpegForm{w: 20, h: 9, across: 2, down: 2, restart: 2, components: "\x01\x02\x03", adobe: -1}, r),
		encodeCoefficients(jpegForm{w: 9, h: 9, across: 1, down: 1, gray: true, components: "\x01\x02\x03", adobe: -1}, r))
}

func FuzzDecodePNG(f *testing.F) {
	fuzzDecode(f, imagetest.EncodePNG(f, smoothed(20, 14, 3)), imagetest.PNGOfZeros(f, 30, 20))
}

func FuzzDecodeGIF(f *testing.F) {
	fuzzDecode(f, imagetest.EncodeGIF(f, smoothed(20, 14, 3)),
		gifOf(2, 2, true, "!\xf9\x04\x01\x00\x00\x02\x00", gifImage(1, 1, 2, 2, 0x40, "\x00\x01\x02\x03"), ";"))
}

func FuzzDecodeBMP(f *testing.F) {
	palette := []uint32{0, 0xff0000, 0xff00, 0xff}
	fuzzDecode(f, imagetest.EncodeBMP(f, smoothed(20, 14, 3)), bmpFile(12, 1, 1, 24, 0, 0, nil, "\x00\x00\xff\x00"),
		bmpFile(40, 4, 2, 8, 1, 4, palette, "\x03\x01\x01\x02\x00\x00\x00\x03\x01\x02\x03\x00\x00\x01"),
		bmpFile(40, 5, 2, 4, 2, 4, palette, "\x05\x12\x00\x00\x00\x05\x12\x31\x20\x00\x00\x01"),
		bmpFile(40, 4, -1, 16, 3, 0, []uint32{0xf800, 0x7e0, 0x1f}, "\x00\xf8\xe0\x07\x1f\x00\xff\xff"))
}

func FuzzDecodeWebP(f *testing.F) {
	red := color.NRGBA{255, 0, 0, 255}
	fuzzDecode(f, imagetest.EncodeWebP(4, 4, red), webpFile(webpHead(2, 4, 3), webpFrame(2, 2, 2, 1, red)),
		webpFile(webpHead(16, 2, 1), webpChunk("ALPH", []byte{0, 9, 9}), imagetest.EncodeWebP(2, 1, red)[12:]))
}

func FuzzDecodeTIFF(f *testing.F) {
	fuzzDecode(f, imagetest.EncodeTIFF(f, smoothed(20, 14, 3)))
}

func FuzzDecodePNM(f *testing.F) {
	fuzzDecode(f, []byte("P1\n# c\n3 2\n101010"), []byte("P2 2 1 9 0 9"), []byte("P6 1 1 65535\n\x00\x00\xff\xff\x00\x00"),
		[]byte("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n\xff\x00\x00\x00"))
}

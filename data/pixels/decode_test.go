package pixels

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
)

func TestEveryFormatDecodesToTheSamePixels(t *testing.T) {
	want := NewRGB(6, 4)
	for i := range 24 {
		copy(want.Pix[3*i:], []uint8{200, 40, 90})
	}
	for name, file := range map[string][]byte{
		"PNG":  imagetest.EncodePNG(t, want),
		"BMP":  imagetest.EncodeBMP(t, want),
		"TIFF": imagetest.EncodeTIFF(t, want),
		"WebP": imagetest.EncodeWebP(6, 4, color.NRGBA{200, 40, 90, 255}),
	} {
		got, err := Decode(file, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got.W != 6 || got.H != 4 || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("%s: %d x %d, first pixel %v", name, got.W, got.H, got.Pix[:3])
		}
	}
	for name, file := range map[string][]byte{"JPEG": imagetest.EncodeJPEG(t, want), "GIF": imagetest.EncodeGIF(t, want)} {
		got, err := Decode(file, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for c, v := range []int{200, 40, 90} {
			if d := int(got.Pix[c]) - v; got.W != 6 || got.H != 4 || d < -30 || d > 30 {
				t.Errorf("%s: %d x %d, first pixel %v", name, got.W, got.H, got.Pix[:3])
			}
		}
	}
}

func TestTransparencyIsDroppedOrBlendedOverWhite(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	m.SetNRGBA(0, 0, color.NRGBA{100, 0, 200, 51}) // a fifth
	deep := image.NewNRGBA64(image.Rect(0, 0, 1, 1))
	deep.SetNRGBA64(0, 0, color.NRGBA64{100 << 8, 0, 200 << 8, 51 << 8})
	palette := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.NRGBA{100, 0, 200, 51}})
	for name, file := range map[string][]byte{
		"8 bits":  imagetest.EncodePNG(t, m),
		"16 bits": imagetest.EncodePNG(t, deep),
		"palette": imagetest.EncodePNG(t, palette),
		"WebP":    imagetest.EncodeWebP(1, 1, color.NRGBA{100, 0, 200, 51}),
	} {
		for rule, want := range map[AlphaRule][]uint8{AlphaDrop: {100, 0, 200}, AlphaWhite: {224, 204, 244}} {
			got, err := Decode(file, Options{Alpha: rule})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Pix, want) {
				t.Errorf("%s, rule %d: %v, want %v", name, rule, got.Pix, want)
			}
		}
	}
}

func TestPremultipliedAlphaGivesTheStoredColorBack(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 1, 1))
	m.SetRGBA(0, 0, color.RGBA{50, 0, 100, 128})
	got := toRGB(m, m.Bounds(), AlphaDrop, false)
	if want := []uint8{99, 0, 199}; !bytes.Equal(got.Pix, want) {
		t.Errorf("%v, want %v", got.Pix, want)
	}
}

func TestSmallFirstFrameOfAGIFStandsOnItsCanvas(t *testing.T) {
	for _, corner := range []image.Point{{0, 0}, {1, 1}, {2, 2}} {
		area := image.Rect(0, 0, 2, 1).Add(corner)
		frame := image.NewPaletted(area, color.Palette{color.RGBA{9, 8, 7, 255}})
		var b bytes.Buffer
		err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0}, Config: image.Config{Width: 4, Height: 3}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b.Bytes(), Options{})
		if err != nil || got.W != 4 || got.H != 3 {
			t.Fatalf("frame at %v: %v", corner, err)
		}
		for y := range 3 {
			for x := range 4 {
				want := color.RGBA{0, 0, 0, 255}
				if (image.Point{x, y}).In(area) {
					want = color.RGBA{9, 8, 7, 255}
				}
				if got.At(x, y) != want {
					t.Errorf("frame at %v: (%d, %d) is %v, want %v", corner, x, y, got.At(x, y), want)
				}
			}
		}
	}
}

func TestWebPLumaIsStretchedToFullRange(t *testing.T) {
	m := image.NewYCbCr(image.Rect(0, 0, 2, 1), image.YCbCrSubsampleRatio420)
	m.Y[0], m.Y[1], m.Cb[0], m.Cr[0] = 16, 235, 128, 128
	got := toRGB(m, m.Bounds(), AlphaDrop, true)
	if want := []uint8{0, 0, 0, 255, 255, 255}; !bytes.Equal(got.Pix, want) {
		t.Errorf("%v, want %v", got.Pix, want)
	}
}

// Every subsampling ratio of a gray picture with one color of chroma must give
// that color everywhere, whatever the size's remainder.
func TestChromaOfAnySubsamplingCoversOddSizes(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		for w := 1; w <= 9; w++ {
			for h := 1; h <= 5; h++ {
				m := image.NewYCbCr(image.Rect(0, 0, w, h), ratio)
				for i := range m.Y {
					m.Y[i] = 100
				}
				for i := range m.Cb {
					m.Cb[i], m.Cr[i] = 90, 170
				}
				got := toRGB(m, m.Bounds(), AlphaDrop, false)
				for i, v := range got.Pix {
					// 100 + 1.402*42, 100 + 0.344*38 - 0.714*42, 100 - 1.772*38
					if want := []uint8{159, 83, 33}[i%3]; v != want {
						t.Fatalf("%v %d x %d: byte %d is %d, want %d", ratio, w, h, i, v, want)
					}
				}
			}
		}
	}
}

func TestHugeImageIsRefusedBeforeDecoding(t *testing.T) {
	file := imagetest.PNGOfZeros(t, 20000, 20000)
	_, err := Decode(file, Options{})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "20000 x 20000") {
		t.Errorf("%v, want ErrTooLarge with the size", err)
	}
	if _, err := Decode(imagetest.PNGOfZeros(t, 20000, 3), Options{}); err != nil {
		t.Errorf("20,000 x 3 pixels are few: %v", err)
	}
	if _, err := Decode(imagetest.PNGOfZeros(t, 100, 100), Options{MaxPixels: 9999}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("limit of 9,999 pixels: %v", err)
	}
}

func TestBadFilesGiveErrorsThatSayWhy(t *testing.T) {
	jpg, pg := imagetest.EncodeJPEG(t, noisy(40, 40, 1)), imagetest.EncodePNG(t, noisy(40, 40, 1))
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"nothing":        {nil, ErrEmptyFile},
		"text":           {[]byte("this is a text"), ErrNotImage},
		"SVG":            {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), ErrNotImage},
		"cut JPEG":       {jpg[:len(jpg)/2], ErrTruncated},
		"cut PNG":        {pg[:len(pg)/2], ErrTruncated},
		"cut in header":  {jpg[:30], ErrTruncated},
		"cut WebP":       {imagetest.EncodeWebP(4, 4, color.NRGBA{1, 2, 3, 255})[:22], nil},
		"without pixels": {gifOf(0, 0, true, gifImage(0, 0, 0, 0, 0, "\x00")), ErrNoPixels},
	} {
		m, err := Decode(c.file, Options{})
		if err == nil || m != nil {
			t.Errorf("%s: no error", name)
		} else if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %q, want %q", name, err, c.want)
		}
	}
}

// No cut or changed byte of any file may panic.
func TestDamagedBytesNeverPanic(t *testing.T) {
	src := smoothed(20, 14, 3)
	for name, file := range map[string][]byte{
		"JPEG": imagetest.EncodeJPEG(t, src), "PNG": imagetest.EncodePNG(t, src), "GIF": imagetest.EncodeGIF(t, src), "BMP": imagetest.EncodeBMP(t, src),
		"TIFF": imagetest.EncodeTIFF(t, src), "WebP": imagetest.EncodeWebP(9, 9, color.NRGBA{1, 2, 3, 255}),
	} {
		r := rand.New(rand.NewPCG(uint64(len(name)), 42))
		for range 300 {
			bad := bytes.Clone(file)
			bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
			bad = bad[:len(bad)-r.IntN(2)*r.IntN(len(bad))]
			m, err := Decode(bad, Options{EXIF: true, MaxPixels: 1 << 20})
			if (m == nil) == (err == nil) {
				t.Fatalf("%s: image %v and error %v", name, m, err)
			}
		}
	}
}

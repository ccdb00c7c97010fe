package data

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/vernier-ml/vernier/data/internal/imagetest"
	"github.com/vernier-ml/vernier/data/pixels"
)

func TestFilesAndReadersDecodeAsTheirBytesDo(t *testing.T) {
	large := imagetest.EncodePNG(t, picture(300, 200, 4)) // more than is read at first
	if len(large) <= (1 << 16) {
		t.Fatalf("a PNG of %d bytes", len(large))
	}
	d := pixels.NewDecoder(pixels.Options{})
	for name, file := range map[string][]byte{"small.png": imagetest.EncodePNG(t, picture(9, 7, 1)), "photo.jpg": imagetest.EncodeJPEG(t, smooth(40, 30, 2)), "large.png": large} {
		want, err := pixels.Decode(file, pixels.Options{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := DecodeFile(t.Context(), d, path)
		if err != nil || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("%s as a file: %v", name, err)
		}
		got, err = d.DecodeReader(t.Context(), iotest.HalfReader(bytes.NewReader(file)))
		if err != nil || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("%s as a reader: %v", name, err)
		}
	}
}

// metered counts the bytes that were read.
type metered struct {
	r io.Reader
	n int
}

func (c *metered) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestReadersOfNoImageAreNotReadToTheirEnd(t *testing.T) {
	endless := func(head string) *metered {
		return &metered{r: io.MultiReader(bytes.NewReader([]byte(head)), bytes.NewReader(make([]byte, 100<<20)))}
	}
	broken := errors.New("the line is cut")
	d := pixels.NewDecoder(pixels.Options{MaxPixels: 1000})
	for name, c := range map[string]struct {
		r    *metered
		want error
		max  int
	}{
		"text":           {endless("this is a text"), pixels.ErrNotImage, (1 << 16)},
		"too large":      {endless(string(imagetest.PNGOfZeros(t, 100, 100))), pixels.ErrTooLarge, (1 << 16)},
		"without an end": {endless(string(imagetest.PNGOfZeros(t, 10, 10))), pixels.ErrTooLarge, (64 << 20) + 8*1000 + 1},
		"empty":          {&metered{r: bytes.NewReader(nil)}, pixels.ErrEmptyFile, 0},
		"cut":            {&metered{r: bytes.NewReader(imagetest.EncodePNG(t, picture(20, 20, 1))[:600])}, pixels.ErrTruncated, 600},
		"broken":         {&metered{r: iotest.ErrReader(broken)}, broken, 0},
	} {
		m, err := d.DecodeReader(t.Context(), c.r)
		if m != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.r.n > c.max {
			t.Errorf("%s: %d bytes were read, want at most %d", name, c.r.n, c.max)
		}
	}
}

func TestDecodeFileSaysWhyAndEndsWithItsContext(t *testing.T) {
	d := pixels.NewDecoder(pixels.Options{})
	if _, err := DecodeFile(t.Context(), d, filepath.Join(t.TempDir(), "missing.png")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	path := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(path, imagetest.EncodePNG(t, picture(9, 7, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := DecodeFile(ctx, d, path); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestFromImageTakesTheStoredColors(t *testing.T) {
	at := image.Rect(-3, 5, 0, 7) // bounds need not begin at (0, 0)
	gray, deep := image.NewGray(at), image.NewGray16(at)
	plain, pale := image.NewNRGBA(at), image.NewRGBA(at)
	palette := image.NewPaletted(at, color.Palette{color.RGBA{9, 8, 7, 255}, color.RGBA{1, 2, 3, 255}})
	gray.SetGray(-1, 6, color.Gray{200})
	deep.SetGray16(-1, 6, color.Gray16{200<<8 | 99})
	plain.SetNRGBA(-1, 6, color.NRGBA{100, 0, 200, 51})
	pale.SetRGBA(-1, 6, color.RGBA{50, 0, 100, 128})
	palette.SetColorIndex(-1, 6, 1)
	for name, c := range map[string]struct {
		img         image.Image
		alpha       pixels.AlphaRule
		first, last color.RGBA // of pixels (0, 0) and (2, 1)
	}{
		"gray":       {gray, pixels.AlphaDrop, color.RGBA{0, 0, 0, 255}, color.RGBA{200, 200, 200, 255}},
		"16 bits":    {deep, pixels.AlphaDrop, color.RGBA{0, 0, 0, 255}, color.RGBA{200, 200, 200, 255}},
		"dropped":    {plain, pixels.AlphaDrop, color.RGBA{0, 0, 0, 255}, color.RGBA{100, 0, 200, 255}},
		"over white": {plain, pixels.AlphaWhite, color.RGBA{255, 255, 255, 255}, color.RGBA{224, 204, 244, 255}},
		"multiplied": {pale, pixels.AlphaDrop, color.RGBA{0, 0, 0, 255}, color.RGBA{99, 0, 199, 255}},
		"palette":    {palette, pixels.AlphaDrop, color.RGBA{9, 8, 7, 255}, color.RGBA{1, 2, 3, 255}},
	} {
		m, err := pixels.FromImage(c.img, pixels.Options{Alpha: c.alpha})
		if err != nil || m.W != 3 || m.H != 2 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.At(0, 0) != c.first || m.At(2, 1) != c.last {
			t.Errorf("%s: %v and %v, want %v and %v", name, m.At(0, 0), m.At(2, 1), c.first, c.last)
		}
	}
	own := picture(4, 3, 1)
	if m, err := pixels.FromImage(own, pixels.Options{}); m != own || err != nil {
		t.Errorf("an *RGB became %v, %v", m, err)
	}
	if _, err := pixels.FromImage(image.NewGray(image.Rect(0, 0, 0, 5)), pixels.Options{}); !errors.Is(err, pixels.ErrNoPixels) {
		t.Errorf("no pixels: %v", err)
	}
	if _, err := pixels.FromImage(image.NewUniform(color.White), pixels.Options{}); !errors.Is(err, pixels.ErrTooLarge) {
		t.Errorf("without an end: %v", err)
	}
}

// A part cut out of a picture has the colors of the whole there. Where chroma is halved
// it is interpolated, but for its edge, and from an odd pixel on taken as package image
// takes it.
func TestFromImageOfAPartHasTheColorsOfTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 42))
	for ratio, halved := range map[image.YCbCrSubsampleRatio]bool{
		image.YCbCrSubsampleRatio444: false, image.YCbCrSubsampleRatio422: true, image.YCbCrSubsampleRatio420: true,
		image.YCbCrSubsampleRatio440: true, image.YCbCrSubsampleRatio411: false, image.YCbCrSubsampleRatio410: false,
	} {
		m := image.NewYCbCr(image.Rect(0, 0, 24, 24), ratio)
		for _, plane := range [][]uint8{m.Y, m.Cb, m.Cr} {
			for i := range plane {
				plane[i] = uint8(100 + r.IntN(50))
			}
		}
		whole, err := pixels.FromImage(m, pixels.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, corner := range []image.Point{{0, 0}, {4, 2}, {5, 2}, {4, 3}, {7, 7}} {
			at := image.Rectangle{corner, corner.Add(image.Pt(11, 9))}
			got, err := pixels.FromImage(m.SubImage(at), pixels.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var from image.Image = whole
			edge := 0
			switch {
			case halved && (corner.X%2 == 1 || corner.Y%2 == 1):
				from = m
			case halved:
				edge = 2
			}
			for y := edge; y < got.H-edge; y++ {
				for x := edge; x < got.W-edge; x++ {
					want := color.RGBAModel.Convert(from.At(corner.X+x, corner.Y+y))
					if got.At(x, y) != want {
						t.Errorf("%v from %v: pixel (%d, %d) is %v, want %v", ratio, corner, x, y, got.At(x, y), want)
					}
				}
			}
		}
	}
}

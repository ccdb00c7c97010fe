package data

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
)

func TestFilesAndReadersDecodeAsTheirBytesDo(t *testing.T) {
	large := encodePNG(t, picture(300, 200, 4)) // more than is read at first
	if len(large) <= headBytes {
		t.Fatalf("a PNG of %d bytes", len(large))
	}
	d := NewDecoder(DecodeOptions{})
	for name, file := range map[string][]byte{"small.png": encodePNG(t, picture(9, 7, 1)), "photo.jpg": encodeJPEG(t, smooth(40, 30, 2)), "large.png": large} {
		want, err := Decode(file, DecodeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := d.DecodeFile(t.Context(), path)
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
	d := NewDecoder(DecodeOptions{MaxPixels: 1000})
	for name, c := range map[string]struct {
		r    *metered
		want error
		max  int
	}{
		"text":           {endless("this is a text"), ErrNotImage, headBytes},
		"too large":      {endless(string(pngOfZeros(t, 100, 100))), ErrTooLarge, headBytes},
		"without an end": {endless(string(pngOfZeros(t, 10, 10))), ErrTooLarge, plainBytes + 8*1000 + 1},
		"empty":          {&metered{r: bytes.NewReader(nil)}, ErrEmptyFile, 0},
		"cut":            {&metered{r: bytes.NewReader(encodePNG(t, picture(20, 20, 1))[:600])}, ErrTruncated, 600},
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
	d := NewDecoder(DecodeOptions{})
	if _, err := d.DecodeFile(t.Context(), filepath.Join(t.TempDir(), "missing.png")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	path := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(path, encodePNG(t, picture(9, 7, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.DecodeFile(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
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
		alpha       AlphaRule
		first, last color.RGBA // of pixels (0, 0) and (2, 1)
	}{
		"gray":       {gray, AlphaDrop, color.RGBA{0, 0, 0, 255}, color.RGBA{200, 200, 200, 255}},
		"16 bits":    {deep, AlphaDrop, color.RGBA{0, 0, 0, 255}, color.RGBA{200, 200, 200, 255}},
		"dropped":    {plain, AlphaDrop, color.RGBA{0, 0, 0, 255}, color.RGBA{100, 0, 200, 255}},
		"over white": {plain, AlphaWhite, color.RGBA{255, 255, 255, 255}, color.RGBA{224, 204, 244, 255}},
		"multiplied": {pale, AlphaDrop, color.RGBA{0, 0, 0, 255}, color.RGBA{99, 0, 199, 255}},
		"palette":    {palette, AlphaDrop, color.RGBA{9, 8, 7, 255}, color.RGBA{1, 2, 3, 255}},
	} {
		m, err := FromImage(c.img, DecodeOptions{Alpha: c.alpha})
		if err != nil || m.W != 3 || m.H != 2 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.At(0, 0) != c.first || m.At(2, 1) != c.last {
			t.Errorf("%s: %v and %v, want %v and %v", name, m.At(0, 0), m.At(2, 1), c.first, c.last)
		}
	}
	own := picture(4, 3, 1)
	if m, err := FromImage(own, DecodeOptions{}); m != own || err != nil {
		t.Errorf("an *RGB became %v, %v", m, err)
	}
	if _, err := FromImage(image.NewGray(image.Rect(0, 0, 0, 5)), DecodeOptions{}); !errors.Is(err, ErrNoPixels) {
		t.Errorf("no pixels: %v", err)
	}
	if _, err := FromImage(image.NewUniform(color.White), DecodeOptions{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("without an end: %v", err)
	}
}

// A part cut out of a picture of halved chroma has the colors of the whole there; at
// the cut, where chroma would be interpolated, they may differ.
func TestFromImageOfAPartHasTheColorsOfTheWhole(t *testing.T) {
	for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410} {
		m := image.NewYCbCr(image.Rect(0, 0, 24, 24), ratio)
		for y := range 24 {
			for x := range 24 {
				m.Y[m.YOffset(x, y)] = uint8(10 * x)
				m.Cb[m.COffset(x, y)], m.Cr[m.COffset(x, y)] = uint8(90+y/8*40), uint8(200-x/8*40)
			}
		}
		for _, corner := range []image.Point{{0, 0}, {4, 2}, {5, 2}, {4, 3}, {7, 7}} {
			part := m.SubImage(image.Rectangle{corner, corner.Add(image.Pt(11, 9))})
			got, err := FromImage(part, DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for y := range 9 {
				for x := range 11 {
					in := corner.Add(image.Pt(x, y))
					if in.X%8 < 3 || in.X%8 > 4 || in.Y%8 < 3 || in.Y%8 > 4 { // chroma differs around there
						continue
					}
					r, g, b, _ := m.At(in.X, in.Y).RGBA()
					for c, want := range []uint32{r >> 8, g >> 8, b >> 8} {
						if have := int(got.Row(y)[3*x+c]); have-int(want) > 1 || int(want)-have > 1 {
							t.Errorf("%v from %v: pixel %v, channel %d is %d, want %d", ratio, corner, in, c, have, want)
						}
					}
				}
			}
		}
	}
}

package data

import (
	"archive/zip"
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// picture is a w x h image whose pixels depend on seed.
func picture(w, h int, seed uint64) *RGB {
	m := NewRGB(w, h)
	r := newRand(seed)
	for i := range m.Pix {
		m.Pix[i] = uint8(r.IntN(256))
	}
	return m
}

// smooth is a w x h gradient that depends on seed: JPEG keeps it well.
func smooth(w, h int, seed uint64) *RGB {
	m := NewRGB(w, h)
	r := newRand(seed)
	base, slope := [3]int{r.IntN(100), r.IntN(100), r.IntN(100)}, r.IntN(100)+20
	for y := range h {
		row := m.Row(y)
		for x := range w {
			for c := range 3 {
				row[3*x+c] = uint8(base[c] + slope*(x+y*c)/(w+h*2))
			}
		}
	}
	return m
}

func encodePNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeJPEG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeGIF(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeBMP(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := bmp.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeTIFF(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tiff.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// encodeWebP writes a lossless WebP of one colour: every code has one symbol, so
// that no bits are spent on pixels.
func encodeWebP(w, h int, c color.NRGBA) []byte {
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
	put(0, 1) // no colour cache
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
	chunk := append([]byte("VP8L"), le32(len(bits))...)
	chunk = append(chunk, bits...)
	file := append([]byte("RIFF"), le32(4+len(chunk))...)
	return append(append(file, "WEBP"...), chunk...)
}

func le32(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }

// files maps paths to contents.
type files map[string][]byte

// folder writes the files below a new folder.
func (f files) folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// zip writes the files into an archive.
func (f files) zip(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range f {
		e, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "set.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// classes returns a folder set: count[i] PNG images in class names[i], all
// different.
func classes(t testing.TB, names []string, count ...int) files {
	t.Helper()
	f := files{}
	for i, class := range names {
		for k := range count[i%len(count)] {
			f[class+"/"+string(rune('a'+k/26))+string(rune('a'+k%26))+".png"] = encodePNG(t, picture(8, 8, uint64(1000*i+k)))
		}
	}
	return f
}

// mustOpen opens a set and closes it with the test.
func mustOpen(t testing.TB, spec string) *Set {
	t.Helper()
	set, err := Open(t.Context(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

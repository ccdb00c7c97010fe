package pixels

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// pngOf makes a file of a header for w x h pixels of a kind, chunks in front of the
// pixels, packed pixels and what follows them.
func pngOf(w, h int, bits, kind, interlace byte, before []byte, packed []byte, after ...byte) []byte {
	ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	file := appendChunk([]byte(pngMagic), "IHDR", append(ihdr, bits, kind, 0, 0, interlace))
	return append(appendChunk(append(file, before...), "IDAT", packed), after...)
}

func deflated(t testing.TB, raw ...byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPNGsWithAllTheirPixelsAreRead(t *testing.T) {
	end := appendChunk(nil, "IEND", nil)
	rows := []byte{0, 10, 20, 30, 0, 40, 50, 60} // 3 x 2 gray pixels behind the filter of each row
	packed := deflated(t, rows...)
	want := []uint8{10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40, 50, 50, 50, 60, 60, 60}
	wrong := bytes.Clone(packed)
	wrong[len(wrong)-1]++ // the checksum of the stream
	damaged := pngOf(3, 2, 8, 0, 0, nil, packed, end...)
	damaged[bytes.Index(damaged, []byte("IDAT"))+4+len(packed)]++ // the checksum of the chunk
	plain := pngOf(3, 2, 8, 0, 0, nil, packed)
	two := pngOf(3, 2, 8, 0, 0, nil, packed[:5], append(appendChunk(nil, "IDAT", packed[5:]), end...)...)
	for name, file := range map[string][]byte{
		"whole":                         pngOf(3, 2, 8, 0, 0, nil, packed, end...),
		"pixels in two chunks":          two,
		"no end":                        plain,
		"part of the end":               append(bytes.Clone(plain), end[:7]...),
		"a damaged end":                 append(bytes.Clone(plain), "\x00\x00\x00\x00IENDxxxx"...),
		"a cut text behind the pixels":  append(bytes.Clone(plain), "\x00\x00\x00\x09tEXtab"...),
		"bytes behind the end":          pngOf(3, 2, 8, 0, 0, nil, packed, append(bytes.Clone(end), "surplus"...)...),
		"bytes behind the pixels":       pngOf(3, 2, 8, 0, 0, nil, append(bytes.Clone(packed), "surplus"...), end...),
		"more rows than there are":      pngOf(3, 2, 8, 0, 0, nil, deflated(t, append(bytes.Clone(rows), 0, 1, 2, 3)...), end...),
		"more rows, and no end":         pngOf(3, 2, 8, 0, 0, nil, deflated(t, append(bytes.Clone(rows), 0, 1, 2, 3)...)),
		"more rows than there are, all": pngOf(3, 2, 8, 0, 0, nil, deflated(t, append(bytes.Clone(rows), make([]byte, 1<<20)...)...), end...),
	} {
		m, err := Decode(file, Options{})
		if err != nil || m.W != 3 || m.H != 2 || !bytes.Equal(m.Pix, want) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	for name, file := range map[string][]byte{
		"too few pixels":          pngOf(3, 2, 8, 0, 0, nil, deflated(t, rows[:5]...), end...),
		"cut pixels":              pngOf(3, 2, 8, 0, 0, nil, packed[:len(packed)-6], end...),
		"a cut checksum":          pngOf(3, 2, 8, 0, 0, nil, packed[:len(packed)-2], end...),
		"another checksum":        pngOf(3, 2, 8, 0, 0, nil, wrong, end...),
		"another checksum, more":  pngOf(3, 2, 8, 0, 0, nil, append(wrong, 0), end...),
		"chunk of other checksum": damaged,
		"a cut chunk":             plain[:len(plain)-2],
		"one chunk of two":        two[:len(two)-len(end)-5],
		"far more than pixels":    pngOf(3, 2, 8, 0, 0, nil, deflated(t, append(bytes.Clone(rows), make([]byte, freeVisits+1<<20)...)...), end...),
	} {
		if m, err := Decode(file, Options{}); err == nil {
			t.Errorf("%s: %v", name, m.Pix)
		}
	}
	if _, err := Decode(plain[:len(plain)-8], Options{}); !errors.Is(err, ErrTruncated) {
		t.Errorf("cut: %v", err)
	}
}

// The pixels are 0, 10, 20 and so on by rows.
func TestInterlacedPNGsWithAllTheirPixelsAreRead(t *testing.T) {
	// Adam7: pass 1 has pixel (0, 0), 2 has (4, 0), 3 none, 4 has (2, 0), 5 has (0, 2),
	// (2, 2), (4, 2), 6 has (1, 0), (3, 0), (1, 2), (3, 2), 7 has row 1.
	raw := []byte{0, 0, 0, 40, 0, 20, 0, 100, 120, 140, 0, 10, 30, 0, 110, 130, 0, 50, 60, 70, 80, 90}
	end := appendChunk(nil, "IEND", nil)
	for name, file := range map[string][]byte{
		"whole":   pngOf(5, 3, 8, 0, 1, nil, deflated(t, raw...), end...),
		"no end":  pngOf(5, 3, 8, 0, 1, nil, deflated(t, raw...)),
		"surplus": pngOf(5, 3, 8, 0, 1, nil, deflated(t, append(bytes.Clone(raw), 7, 7)...), end...),
	} {
		m, err := Decode(file, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range 15 {
			if m.Pix[3*i] != uint8(10*i) {
				t.Errorf("%s: pixel %d is %d", name, i, m.Pix[3*i])
			}
		}
	}
	if _, err := Decode(pngOf(5, 3, 8, 0, 1, nil, deflated(t, raw[:len(raw)-1]...), end...), Options{}); err == nil {
		t.Error("one byte too few: no error")
	}
}

func TestSizeOfPixelsIsThatOfTheEncoder(t *testing.T) {
	for _, m := range []image.Image{
		image.NewGray(image.Rect(0, 0, 7, 3)), image.NewNRGBA(image.Rect(0, 0, 5, 4)), image.NewNRGBA64(image.Rect(0, 0, 2, 3)), image.NewGray16(image.Rect(0, 0, 3, 3)),
		image.NewPaletted(image.Rect(0, 0, 9, 2), color.Palette{color.Black, color.White}), image.NewPaletted(image.Rect(0, 0, 9, 2), color.Palette{color.Black, color.White, color.Gray{7}}),
	} {
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		head, packed := pngChunks(b.Bytes())
		if trimmed, err := trimPixels(t.Context(), packed, pngRawSize(head[16:29])); err != nil || !bytes.Equal(trimmed, packed) {
			t.Errorf("%T: %v", m, err)
		}
	}
}

// What the palette does not have is opaque black, as libpng 1.5.13 and later, browsers and
// Pillow (whose palettes begin black) show it in PNG, GIF and BMP. The palette of a TIFF has as
// many colors as there are indices, or libtiff refuses the file, and so does its decoder here.
func TestAnIndexBeyondThePaletteIsBlack(t *testing.T) {
	plte := appendChunk(nil, "PLTE", []byte{255, 0, 0, 0, 255, 0}) // red and green
	end := appendChunk(nil, "IEND", nil)
	palette := []uint32{0xff0000, 0x00ff00}
	gif := gifOf(3, 1, true, gifImage(0, 0, 3, 1, 0, "\x01\x02\x03"), ";")
	short := append(bytes.Clone(gif[:13]), append([]byte{0, 0, 0, 255, 0, 0}, gif[25:]...)...) // black and red
	short[10] = 0x80
	for name, c := range map[string]struct {
		file []byte
		rows string
	}{
		"PNG of 8 bits":                  {pngOf(3, 1, 8, 3, 0, plte, deflated(t, 0, 0, 200, 1), end...), "r.g"},
		"PNG of 4 bits":                  {pngOf(3, 1, 4, 3, 0, plte, deflated(t, 0, 0x0f, 0x10), end...), "r.g"},
		"PNG of 2 bits, no end":          {pngOf(3, 1, 2, 3, 0, plte, deflated(t, 0, 0x34)), "r.g"},
		"PNG with transparent colors":    {pngOf(3, 1, 8, 3, 0, appendChunk(bytes.Clone(plte), "tRNS", []byte{255}), deflated(t, 0, 0, 200, 1), end...), "r.g"},
		"GIF":                            {short, "r.."},
		"BMP of 8 bits":                  {bmpFile(40, 3, 1, 8, 0, 2, palette, "\x00\xc8\x01\x00"), "r.g"},
		"BMP of 4 bits":                  {bmpFile(40, 3, 1, 4, 0, 2, palette, "\x0f\x10\x00\x00"), "r.g"},
		"BMP of run lengths":             {bmpFile(40, 3, 1, 8, 1, 2, palette, "\x01\x00\x01\xc8\x01\x01\x00\x01"), "r.g"},
		"BMP whose pixels begin earlier": {withPlace(bmpFile(40, 3, 1, 8, 0, 0, palette, "\x00\xc8\x01\x00"), 14+40+8), "r.g"},
	} {
		samePixels(t, name, c.file, c.rows)
		opaque, err := Decode(c.file, Options{Alpha: AlphaWhite})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if dropped, _ := Decode(c.file, Options{}); !bytes.Equal(opaque.Pix, dropped.Pix) {
			t.Errorf("%s: not opaque, %v", name, opaque.Pix)
		}
	}
}

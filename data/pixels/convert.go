package pixels

import (
	"image"
	"image/color"
)

// FromImage converts an image to RGB as Decode converts what is in a file: samples of
// 16 bits by their high byte, gray on all three channels, CMYK and palettes
// converted, transparency by o.Alpha. Pixel (0, 0) is the corner of the image's
// bounds. An *RGB is returned as it is. The error is ErrNoPixels or ErrTooLarge.
//
// A JPEG file that package image/jpeg decoded differs by a few levels from what
// Decode makes of it: they transform blocks with another rounding.
func FromImage(img image.Image, o Options) (*RGB, error) {
	b := img.Bounds()
	if err := (header{w: b.Dx(), h: b.Dy()}).check(o); err != nil {
		return nil, err
	}
	if m, ok := img.(*RGB); ok {
		return m, nil
	}
	return toRGB(img, b, o.Alpha, false), nil
}

// toRGB converts a decoded image. canvas is the whole picture, whose corner becomes
// (0, 0); a GIF's first frame may cover less of it, the rest is black. studio says
// that YCbCr values are WebP's.
func toRGB(src image.Image, canvas image.Rectangle, alpha AlphaRule, studio bool) *RGB {
	b := src.Bounds()
	dst := NewRGB(canvas.Dx(), canvas.Dy())
	area := b.Intersect(canvas)
	if area.Empty() {
		return dst
	}
	at := func(y int) []uint8 { // the part of row y that src covers
		return dst.Row(y - canvas.Min.Y)[3*(area.Min.X-canvas.Min.X) : 3*(area.Max.X-canvas.Min.X)]
	}
	switch m := src.(type) {
	case *image.YCbCr:
		if b == canvas && chromaStarts(m) {
			fromYCbCr(dst, m, studio)
			return dst
		}
	case *image.NYCbCrA:
		if b == canvas && chromaStarts(&m.YCbCr) {
			fromYCbCr(dst, &m.YCbCr, studio)
			if alpha == AlphaWhite {
				for y := range dst.H {
					row := dst.Row(y)
					for x := range dst.W {
						overWhite(row[3*x:3*x+3], m.A[y*m.AStride+x])
					}
				}
			}
			return dst
		}
	case *image.Gray:
		for y := area.Min.Y; y < area.Max.Y; y++ {
			replicate(at(y), m.Pix[m.PixOffset(area.Min.X, y):], 1)
		}
		return dst
	case *image.Gray16:
		for y := area.Min.Y; y < area.Max.Y; y++ {
			replicate(at(y), m.Pix[m.PixOffset(area.Min.X, y):], 2)
		}
		return dst
	case *image.NRGBA:
		for y := area.Min.Y; y < area.Max.Y; y++ {
			pick(at(y), m.Pix[m.PixOffset(area.Min.X, y):], 1, alpha)
		}
		return dst
	case *image.NRGBA64:
		for y := area.Min.Y; y < area.Max.Y; y++ {
			pick(at(y), m.Pix[m.PixOffset(area.Min.X, y):], 2, alpha)
		}
		return dst
	case *image.RGBA:
		if m.Opaque() {
			for y := area.Min.Y; y < area.Max.Y; y++ {
				pick(at(y), m.Pix[m.PixOffset(area.Min.X, y):], 1, AlphaDrop)
			}
			return dst
		}
	case *image.RGBA64:
		if m.Opaque() {
			for y := area.Min.Y; y < area.Max.Y; y++ {
				pick(at(y), m.Pix[m.PixOffset(area.Min.X, y):], 2, AlphaDrop)
			}
			return dst
		}
	case *image.CMYK:
		for y := area.Min.Y; y < area.Max.Y; y++ {
			fromCMYK(at(y), m.Pix[m.PixOffset(area.Min.X, y):])
		}
		return dst
	case *image.Paletted:
		var table [256][3]uint8
		for i, c := range m.Palette {
			table[i] = straight(c, alpha)
		}
		for y := area.Min.Y; y < area.Max.Y; y++ {
			row, indices := at(y), m.Pix[m.PixOffset(area.Min.X, y):]
			for x := range area.Dx() {
				copy(row[3*x:3*x+3], table[indices[x]][:])
			}
		}
		return dst
	}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		row := at(y)
		for x := range area.Dx() {
			c := straight(src.At(area.Min.X+x, y), alpha)
			copy(row[3*x:3*x+3], c[:])
		}
	}
	return dst
}

// chromaStarts reports whether a sample of chroma begins at the image's corner, and
// does not cover pixels before it: a part cut out of another image may begin anywhere.
func chromaStarts(m *image.YCbCr) bool {
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio420, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio440:
		return m.Rect.Min.X%2 == 0 && m.Rect.Min.Y%2 == 0
	}
	return true
}

// replicate sets three channels to the high byte of gray samples of size bytes.
func replicate(dst, src []uint8, size int) {
	for i := 0; i+3 <= len(dst); i += 3 {
		v := src[i/3*size]
		dst[i], dst[i+1], dst[i+2] = v, v, v
	}
}

// pick takes the high bytes of R, G, B, A samples of size bytes.
func pick(dst, src []uint8, size int, alpha AlphaRule) {
	for i := 0; i+3 <= len(dst); i += 3 {
		p := src[i/3*4*size:]
		dst[i], dst[i+1], dst[i+2] = p[0], p[size], p[2*size]
		if alpha == AlphaWhite {
			overWhite(dst[i:i+3], p[3*size])
		}
	}
}

// straight is a color without its alpha, or blended over white.
func straight(c color.Color, alpha AlphaRule) [3]uint8 {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	p := [3]uint8{n.R, n.G, n.B}
	if alpha == AlphaWhite {
		overWhite(p[:], n.A)
	}
	return p
}

// overWhite blends one pixel over white.
func overWhite(p []uint8, a uint8) {
	for i := range p[:3] {
		p[i] = uint8(255 - (uint32(255-p[i])*uint32(a)+127)/255)
	}
}

// fromCMYK converts inks (255 = full) as Pillow does:
// R = (255-K) - C*(255-K)/255, the product rounded.
func fromCMYK(dst, src []uint8) {
	for i := 0; i+3 <= len(dst); i += 3 {
		p := src[i/3*4:]
		k := 255 - uint32(p[3])
		for c := range 3 {
			t := uint32(p[c])*k + 128
			t = (t>>8 + t) >> 8
			dst[i+c] = uint8(k - min(t, k))
		}
	}
}
